#pragma once
// The records of each problem as tables.

#include <span>
#include <string>
#include <vector>

#include "harness/records/record_file.hpp"
#include "harness/support/table.hpp"

namespace gla_bench {

struct ProblemTables {
  std::string group;                  ///< operator, direction and dtype
  std::string title;                  ///< the problem, and the device where it is known
  std::vector<Table> tables;          ///< those without rows are to be left out
  std::vector<std::string> refusals;  ///< of variants that were not tried: "refused: NAME: REASON"
};

/// The problems in the order in which they first appear, each over all files of its device. The
/// first table has each variant's best tile: cold and hot ms, GB/s (the operator's floor bytes over
/// the cold time), share of the floor (the time that the floor bytes take at the file's measured
/// copy rate, over the cold time), traffic (the variant's modelled bytes over the floor's), what
/// bounds it (bound_by.hpp), error (rel_l2 of the worst output over its bound) and notes. Peers
/// stand in the same tables. A second table has the stages of the records that have them: time with
/// cold caches, share of all stages, modelled bytes over that time. A third has what the device
/// counted and used (measured.hpp). The notes name the winner and what is tied with it
/// (contest.hpp). A variant that competes is shown by its fastest right tile.
std::vector<ProblemTables> problem_tables(std::span<const Results> files);

}  // namespace gla_bench
