#pragma once
// What expressions of a manifest may name: the numbers of a problem and of a tile.

#include <string>
#include <vector>

#include "core/operator.hpp"
#include "core/variant.hpp"
#include "harness/config/space/expression.hpp"

namespace gla_bench {

/// The names of an operator's problems in a direction. Extents, with key_seq and key_heads as large
/// as they stand for. `element_bytes` of the dtype. Flags, which are 1 or 0: head_first,
/// initial_state, final_state. Options: a number or a flag as itself, any other as a flag for each
/// of its values ("state_dtype_bfloat16"). Of each tensor and each of its axes, counted from 0, the
/// elements from one index to the next ("q_stride_1"); 0 for a tensor that the problem lacks.
std::vector<std::string> problem_names(const Operator& op, Direction direction);

/// Elements from one index of a tensor's axis to the next, as it lies in memory.
std::int64_t stride_of(const TensorSpec& spec, Layout layout, std::size_t axis);

/// The names of what the device allows: arch (90 for sm_90a), shared_per_block (bytes),
/// multiprocessors (0 where it is not known).
std::vector<std::string> limit_names();

/// Values of those names and of the tile's axes, for as long as the arguments live. Without
/// `limits` theirs have none.
NameValues numbers_of(const Operator& op, const Problem& problem, const Tile& tile,
                      const Limits* limits = nullptr);

}  // namespace gla_bench
