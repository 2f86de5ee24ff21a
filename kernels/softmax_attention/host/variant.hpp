#pragma once
// What the descriptions of this family's host variants have in common.

#include <functional>
#include <string>
#include <vector>

#include "kernels/softmax_attention/family.hpp"

namespace gla_bench::softmax_attention::host {

/// The parts in which host variants differ. A workspace function left empty means no workspace.
struct HostForm {
  std::string name, summary;
  TileSpace space;
  std::vector<std::string> sources;
  std::function<Traffic(const Problem&, const Tile&)> traffic;
  std::function<double(const Problem&, const Tile&)> flops;
  std::function<std::vector<Region>(const Problem&, const Tile&)> workspace;
  std::function<void(const HostCall&)> code;
  bool takes_pages = false;  ///< whether the code knows block_table
};

/// A host variant that computes in float32.
Variant make_variant(std::string_view op, Direction direction, HostForm form);

/// The number of query rows B T H, and of rows of the keys' decays B Tk H.
double query_rows(const Problem& problem);
double decay_rows(const Problem& problem);

/// A float32 workspace region with this many elements.
Region floats(const std::string& name, double elements);

/// The number of blocks of `size` in an extent.
double count_blocks(std::int64_t extent, std::int64_t size);

/// The number of products q.k that are computed, over batch and query heads, with `rows` queries in
/// a block. Keys count in whole blocks of `keys`.
double block_pairs(const Problem& problem, std::int64_t rows, std::int64_t keys);

}  // namespace gla_bench::softmax_attention::host
