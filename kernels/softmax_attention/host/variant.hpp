#pragma once
// What the descriptions of the host variants of this family have in common.

#include <functional>
#include <string>
#include <vector>

#include "kernels/softmax_attention/family.hpp"

namespace gla_bench::softmax_attention::host {

/// The parts of a host variant that differ. An empty workspace function: none.
struct HostForm {
  std::string name, summary;
  TileSpace space;
  std::vector<std::string> sources;
  std::function<Traffic(const Problem&, const Tile&)> traffic;
  std::function<double(const Problem&, const Tile&)> flops;
  std::function<std::vector<Region>(const Problem&, const Tile&)> workspace;
  std::function<void(const HostCall&)> code;
};

/// A variant on the host in float32.
Variant make_variant(std::string_view op, Direction direction, HostForm form);

/// Query rows B T H, and rows of the keys' decays B Tk H.
double query_rows(const Problem& problem);
double decay_rows(const Problem& problem);

/// A float32 region of so many elements.
Region floats(const std::string& name, double elements);

/// Blocks of `size` in an extent.
double count_blocks(std::int64_t extent, std::int64_t size);

/// Products of a block of queries with a block of keys that are formed, over batch and query heads:
/// `rows` queries a block; keys are taken whole blocks at a time.
double block_pairs(const Problem& problem, std::int64_t rows, std::int64_t keys);

}  // namespace gla_bench::softmax_attention::host
