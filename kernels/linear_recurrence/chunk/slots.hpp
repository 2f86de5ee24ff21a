#pragma once
// The host side of ChunkSlots in ranges.cuh.

#include <cstdint>

#include "kernels/linear_recurrence/family.hpp"

namespace gla_bench::linear_recurrence {

/// Slots in the workspace for chunks of `chunk` tokens. There are as many as there are chunks. With
/// ragged sequences, there are as many as there can be whatever the lengths are.
inline std::int64_t chunk_slots(const Problem& problem, std::int64_t chunk) {
  const Shape& s = problem.shape;
  return ragged(problem) ? s.heads * (s.seq / chunk + s.sequences)
                         : sequences(problem) * ceil_div(s.seq, chunk);
}

}  // namespace gla_bench::linear_recurrence
