#pragma once
// Carries the choices of `auto`, which asks a cost model, into a table that has no model, so that
// an exported header chooses as the program does.

#include <span>
#include <vector>

#include "harness/tuned_table/choose.hpp"

namespace gla_bench {

constexpr double usual_memory = 64e9;  ///< bytes, of a device that tables are for

/// Problems in whose place others can be chosen for: those of `like` with their sizes replaced. The
/// tokens (or columns) are the powers of two from 64 to 131,072, batch * heads the powers of two to
/// 4,096 and those times 1.5. Left out: problems that the operator refuses, and those whose tensors
/// take more than `memory` bytes. Each is there once, also where two of `like` are the same in all
/// but sizes.
std::vector<Problem> problem_grid(std::span<const Problem> like, double memory);

/// The problems that a table was made from, one of each bucket.
std::vector<Problem> tuned_examples(const TunedTable& table);

/// The chooser's table with more entries, so that its nearest entry alone gives what the chooser
/// says for every problem of the grid. An entry is added only where the others would choose
/// otherwise, or in place of one whose winner the chooser passes over there. Such an entry has no
/// time (`measured` is empty) and is won by "model".
TunedTable with_choices(const Chooser& chooser, std::span<const Problem> grid,
                        const Refusal& refuse);

}  // namespace gla_bench
