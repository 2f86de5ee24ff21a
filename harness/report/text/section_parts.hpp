#pragma once
// Building blocks of the sections of a report.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/records/contest.hpp"
#include "harness/support/table.hpp"

namespace gla_bench {

/// "## TITLE", and the question in italics.
std::string section_head(std::string_view title, std::string_view question);

/// The most lines of a table that is shown open; longer tables are folded.
constexpr std::size_t open_lines = 16;

/// The table, folded under `summary` where it is long; empty where it has no rows.
std::string foldable(const Table& table, const std::string& summary);

/// The contests of one operator, direction and dtype on one device.
struct ContestGroup {
  std::string name;    ///< "gla forward bfloat16", with the device where there are several
  std::string shared;  ///< what all its problems share besides: "seq_first gate=mild seed=1"
  std::vector<const Contest*> contests;
  std::vector<std::string> problems;  ///< what each of them has for itself: "B=8 T=4096 H=16 ..."
};

/// What a problem is of ("gla forward bfloat16"), and the rest of describe().
struct ProblemName {
  std::string group, rest;
};
ProblemName name_of(const Problem& problem);

/// In the order of the contests.
std::vector<ContestGroup> groups_of(std::span<const Contest> contests);

/// "12 chunk_sm90, 2 decode": how often each name occurs, the most frequent first.
std::string tally(const std::vector<std::string>& names);

/// Of those that are known; NaN where none is.
double median_known(std::vector<double> values);

/// The largest of the known values; NaN where none is known.
double largest_known(const std::vector<double>& values);

/// "3 problems", "1 problem".
std::string counted(std::size_t count, const std::string& what);

}  // namespace gla_bench
