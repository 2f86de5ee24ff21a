#pragma once
// Makes a report of records, for people.

#include <span>
#include <string>

#include "harness/records/record_file.hpp"

namespace gla_bench {

struct Comparison;

struct ReportStyle {
  bool markdown = false;
  std::size_t width = 0;  ///< columns of the terminal; 0: no limit
  bool colour = false;    ///< of a terminal
};

/// For a terminal: where the records are from, how many are right, every failure, and then the
/// tables of each problem (problem.hpp). In markdown: the content of the page, in its order
/// (machine, verified, winners, why, costs, peers and floor, records), with long tables folded. A
/// comparison with an earlier run comes last. Texts of records can neither control a terminal nor
/// be taken for markup.
std::string report(std::span<const Results> files, const ReportStyle& style,
                   const Comparison* comparison = nullptr);

/// Each failed record with its reason and, where it is this program's, the command that repeats it;
/// empty where none failed.
std::string failures(std::span<const Results> files, const ReportStyle& style);

}  // namespace gla_bench
