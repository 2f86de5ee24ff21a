#pragma once
// Reasons for refusing a tile that several CUDA variants of this family share, beside those of
// kernels/refusal.hpp. All are total: they never throw.

#include <optional>
#include <string>

#include "core/variant.hpp"
#include "kernels/refusal.hpp"

namespace gla_bench::linear_recurrence {

/// Sizes outside what the kernels are written for (B, T, H >= 1; K, V in 1..512), or nothing.
std::optional<std::string> refuse_sizes(const Problem& problem);

/// A state in bfloat16, or nothing.
std::optional<std::string> refuse_bfloat16_state(const Problem& problem);

/// Ragged sequences, or nothing.
std::optional<std::string> refuse_ragged(const Problem& problem);

/// A final state that overwrites the initial one, or nothing.
std::optional<std::string> refuse_in_place(const Problem& problem);

/// Sequences of more than 8 tokens, ragged ones on average, which decoding is not for; or nothing.
std::optional<std::string> refuse_long_sequences(const Problem& problem);

/// Bytes of what the tensor cores are fed with (device/products.cuh, Products): bfloat16 in its own
/// format unless there are fewer than 16 keys, all else as float32.
int operand_bytes(const Problem& problem);

}  // namespace gla_bench::linear_recurrence
