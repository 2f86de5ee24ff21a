#pragma once
// Records -> tables, for people: per problem each variant's best tile, the winner marked.

#include <span>
#include <string>

#include "harness/record_file.hpp"

namespace gla_bench {

struct ReportStyle {
  bool markdown = false;
  std::size_t width = 0;  ///< columns of the terminal; 0: no limit
};

/// Failures first (with their reasons), then a table per problem over all the files: variant, best
/// tile, cold and hot ms, GB/s (the operator's floor bytes over the cold time), share of the floor
/// (the time that the floor bytes take at the file's measured copy rate, over the cold time),
/// traffic (the variant's modelled bytes over the floor's), error (rel_l2 of the worst output over
/// its bound), notes. Peers stand in the same tables. A second table has the stages of the records
/// that have them: time with cold caches, share of all stages, modelled bytes over that time. A
/// third has what the device counted and used (report_measured.hpp), where it did. The
/// winner is the fastest verified row that
/// is not a peer's and not suspect.
std::string report(std::span<const Results> files, const ReportStyle& style);

/// Its first part: each failed record with its reason and, where it is this program's, the command
/// that repeats it; empty where none failed.
std::string failures(std::span<const Results> files, const ReportStyle& style);

}  // namespace gla_bench
