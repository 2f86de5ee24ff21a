#pragma once
// Into how many parts a block's walk is divided, each for a block of its own, where blocks are
// fewer than multiprocessors or have walks of different lengths.

#include <cstdint>

namespace gla_bench::softmax_attention {

/// Blocks and the steps that each of them walks.
struct Walks {
  std::int64_t blocks;
  double longest, mean;  ///< steps of a block
};

/// What dividing walks costs, in steps.
struct DivisionCosts {
  double beside;   ///< what a block has to do beside its steps
  double of_all;   ///< what putting the parts together takes at the end
  double of_part;  ///< and for each part
  int most;        ///< parts
};

/// The number of parts that takes least time, by a count of steps on an H200; 1 where dividing is
/// not worthwhile. One block runs on a multiprocessor at a time.
int best_parts(const Walks& walks, const DivisionCosts& costs);

}  // namespace gla_bench::softmax_attention
