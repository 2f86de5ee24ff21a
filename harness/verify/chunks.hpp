#pragma once
// How a tensor is divided into chunks, the unit in which errors are followed along T.

#include <algorithm>
#include <cstdint>

#include "core/tensor.hpp"

namespace gla_bench {

/// The chunks of a tensor: each leading pair has pieces() of them along the second axis.
struct Chunks {
  std::int64_t outer = 1;   ///< B
  std::int64_t tokens = 1;  ///< T
  std::int64_t inner = 1;   ///< H
  std::int64_t row = 1;     ///< contiguous elements of one token and head
  std::int64_t length = 1;  ///< tokens of a chunk; the last one takes the ragged rest as well
  bool rows = false;        ///< a row is one token's of one head, with a size of its own
  /// Heads of a chunk: all of them where there are so few tokens that one head's rows could all be
  /// near zero (a query that is nearly orthogonal to the only key), and 1 otherwise.
  std::int64_t heads = 1;

  std::int64_t pieces() const { return std::max<std::int64_t>(tokens / length, 1); }
  std::int64_t end(std::int64_t piece) const {
    return piece + 1 == pieces() ? tokens : (piece + 1) * length;
  }
  std::int64_t count() const { return outer * (inner / heads) * pieces(); }
};

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
