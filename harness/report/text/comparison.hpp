#pragma once
// Two runs of several files each, held against each other: a part of a report.

#include <optional>
#include <span>

#include "harness/judge/comparison.hpp"

namespace gla_bench {

/// Each file against its base (compare_files), all in one, in the order of `fresh`: the base of the
/// same file name where all names are there once on both sides, else the one at the same place.
/// Files that hold nothing but peers' records are left out on both sides. The drift is the largest
/// of any pair; one false alarm among all rows is as unlikely as in each pair, times their number.
/// Without `base` the files that hold interleaved rounds (compare_rounds); nothing where none does.
/// @throws InputError where there are other numbers of files on the two sides, and for files that
/// can not be held against each other
std::optional<Comparison> compare_runs(std::span<const Results> base,
                                       std::span<const Results> fresh,
                                       const ComparisonPolicy& policy = {});

}  // namespace gla_bench
