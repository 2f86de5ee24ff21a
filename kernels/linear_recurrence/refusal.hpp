#pragma once
// Reasons for refusing a tile that several CUDA variants of this family share, in addition to those
// of kernels/refusal.hpp. All of them are total: they never throw.

#include <optional>
#include <string>
#include <string_view>

#include "core/variant.hpp"
#include "kernels/refusal.hpp"

namespace gla_bench::linear_recurrence {

/// A reason if sizes lie outside what the kernels are written for (B, T, H >= 1; K, V in 1..512),
/// or nothing.
std::optional<std::string> refuse_sizes(const Problem& problem);

/// A reason if the state is bfloat16, or nothing.
std::optional<std::string> refuse_bfloat16_state(const Problem& problem);

/// A reason if sequences are ragged, or nothing.
std::optional<std::string> refuse_ragged(const Problem& problem);

/// A reason if the final state overwrites the initial one, or nothing.
std::optional<std::string> refuse_in_place(const Problem& problem);

/// A reason if sequences have more than 8 tokens (ragged ones on average), which decoding is not
/// for; or nothing.
std::optional<std::string> refuse_long_sequences(const Problem& problem);

/// Bytes of an element that the tensor cores are fed with (device/products.cuh, Products). bfloat16
/// keeps its own format unless there are fewer than 16 keys. Everything else is float32.
int operand_bytes(const Problem& problem);

/// Where the variant has no state at hand between the first token and the last (states_every).
std::optional<std::string> refuse_states(const Problem& problem);

/// Where the variant has states only after every `apart` tokens, those of its axis `axis`.
std::optional<std::string> refuse_states_apart(const Problem& problem, int apart,
                                               std::string_view axis);

}  // namespace gla_bench::linear_recurrence
