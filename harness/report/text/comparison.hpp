#pragma once
// The comparison of two runs of several files each: a part of a report.

#include <optional>
#include <span>

#include "harness/judge/comparison.hpp"

namespace gla_bench {

/// Compares each file with its base (compare_files), all in one comparison, in the order of
/// `fresh`. The base is the file of the same name where every name occurs once on both sides, else
/// the file at the same place. Files that hold only peers' records are left out on both sides. The
/// drift is the largest of any pair. The chance of one false alarm among all rows is that of a
/// single pair times the number of pairs. Without `base`, takes the files that hold interleaved
/// rounds (compare_rounds); returns nothing where none does. @throws InputError where the two sides
/// differ in their number of files, and for files that cannot be compared
std::optional<Comparison> compare_runs(std::span<const Results> base,
                                       std::span<const Results> fresh,
                                       const ComparisonPolicy& policy = {});

}  // namespace gla_bench
