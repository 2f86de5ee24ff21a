#pragma once
// What the host sides of both directions of chunk_sm90 share: tensor maps, and the states that the
// forward of training keeps for the backward.

#include <cstdint>
#include <string>

#include "core/variant.hpp"
#include "kernels/token_strides.h"

namespace gla_bench::linear_recurrence {

/// A [B,T,H,columns] tensor in boxes of a chunk's tokens of one head, in rows of 128 bytes.
/// `place`: number of the map among the parameters.
TensorMap token_map(const Problem& problem, std::size_t place, std::string buffer, DType dtype,
                    std::int64_t columns, const TokenStrides& strides);

/// Bytes of the states before all chunks, as kept.h has them.
double kept_state_bytes(const Problem& problem);

}  // namespace gla_bench::linear_recurrence
