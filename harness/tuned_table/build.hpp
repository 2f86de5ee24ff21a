#pragma once
// Records -> entries of a tuned table. Pure functions.

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/records/contest.hpp"
#include "harness/tuned_table/table.hpp"

namespace gla_bench {

struct TablePolicy {
  /// How ties are decided (contest.hpp). A bucket's rows count as those of one run.
  ContestPolicy contest = {};
  /// Candidates that take longer than this, over the fastest, are no ties whatever their noise.
  double furthest_tie = 1.25;
  std::size_t most_ties = 8;  ///< that an entry lists
};

/// One entry per bucket that has a candidate which is right and timed, in the order of the buckets.
/// A candidate that was wrong, crashed, hung or did not build on any problem of the bucket can not
/// win, nor can a suspect time, nor a peer. Of a row that several files have the newest counts. Of
/// the candidates that were measured on the most of the bucket's problems the one with the least
/// geometric mean of time over the problem's best is the fastest; it wins, unless ties have a
/// smaller error (by more than a tenth) or, among such, a smaller workspace.
/// @throws InputError for files of different devices or backends, or that can not be compared
TunedTable build_table(std::span<const Results> files, const TablePolicy& policy = {});

/// The records of several runs, peers aside: of a row that several have the newest one, and none of
/// sources that a later run has in another version.
std::vector<const Record*> newest_records(std::span<const Results> files);

/// Facts of an environment that comparability knows: those that a table keeps.
Facts comparable_facts(const Facts& environment);

/// What differs between the environments of a table and those of another that is to be put into it,
/// each difference once. @throws InputError for one that comparability refuses and `allowed` does
/// not name
std::vector<std::string> differing_environments(const TunedTable& table, const TunedTable& fresh,
                                                const std::set<std::string>& allowed);

/// What a merge did, for people.
struct MergeCounts {
  std::size_t added = 0, replaced = 0, kept = 0, dropped = 0, stale = 0;
};

/// Puts entries into a table: a newer measurement takes the place of an older one of the same
/// bucket. An entry whose winner's variant is gone is dropped; one whose sources have changed is
/// labelled stale. `source_hash`: of a variant as it is now, empty where there is none.
/// @throws InputError for tables of different devices
using CurrentSource = std::function<std::string(const Bucket&, const TunedChoice&)>;
MergeCounts merge_tables(TunedTable& table, const TunedTable& fresh, const CurrentSource& source);

}  // namespace gla_bench
