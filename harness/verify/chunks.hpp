#pragma once
// How a tensor is divided into chunks, the unit in which errors are followed along T.

#include <cstdint>

#include "core/tensor.hpp"
#include "harness/backends/comparison.hpp"

namespace gla_bench {

/// The chunks of tensor_errors() (verify.hpp).
Chunks chunks_of(const TensorSpec& spec);

/// Calls act(first element) for the rows of a chunk.
template <class Act>
void for_rows(const Chunks& chunks, std::int64_t index, Act act) {
  const std::int64_t piece = index % chunks.pieces(), pair = index / chunks.pieces();
  const std::int64_t groups = chunks.inner / chunks.heads;
  const std::int64_t outer = pair / groups, first = pair % groups * chunks.heads;
  for (std::int64_t t = piece * chunks.length; t < chunks.end(piece); ++t)
    for (std::int64_t inner = first; inner < first + chunks.heads; ++inner)
      act(((outer * chunks.tokens + t) * chunks.inner + inner) * chunks.row);
}

}  // namespace gla_bench
