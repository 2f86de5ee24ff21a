#pragma once
// What people read for a candidate of a problem that is named already.

#include <string>

#include "core/tile.hpp"

namespace gla_bench {

/// "chunk_fused block_v=32,chunk=64"; the variant alone where its tile is empty.
inline std::string candidate_name(const std::string& variant, const Tile& tile) {
  return tile.empty() ? variant : variant + " " + describe(tile);
}

}  // namespace gla_bench
