#pragma once
// What the host side of every linear-recurrence variant shares: parameters, constants, byte counts.

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "harness/variant.hpp"
#include "kernels/linear_recurrence/params.h"

namespace gla_bench::linear_recurrence {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Independent sequences: batch * heads.
std::int64_t sequences(const Problem& problem);

/// Params with the tensors' addresses, strides of the problem's layout, sizes and scale.
/// `regions`: the workspace regions' names, in the order of Params::work.
LinearRecurrenceParams params(const Problem& problem, const Address& address,
                              const std::vector<Region>& regions);

/// params() as the bytes that a launch takes.
ParamBytes bind(const Problem& problem, const Address& address, const std::vector<Region>& regions);

/// dim::key_dim, dim::value_dim and every axis of the tile as tile::<axis>.
std::vector<Constant> constants(const Problem& problem, const Tile& tile);

/// One pass over q, k, g: bytes of a [B,T,H,K] tensor in the problem's dtype.
double key_bytes(const Problem& problem);
/// Bytes of a [B,T,H,V] tensor in the problem's dtype.
double value_bytes(const Problem& problem);
/// Bytes of one float32 [B,H,K,V] state.
double state_bytes(const Problem& problem);

/// The variants of this family, CUDA and host, for the operators it covers.
std::vector<Variant> variants();

}  // namespace gla_bench::linear_recurrence
