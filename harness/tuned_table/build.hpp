#pragma once
// Makes the entries of a tuned table from records. Pure functions.

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/records/contest.hpp"
#include "harness/tuned_table/table.hpp"

namespace gla_bench {

struct TablePolicy {
  /// How ties are decided (contest.hpp). All rows of a bucket are treated as rows of one run.
  ContestPolicy contest = {};
  /// A candidate whose time over the fastest exceeds this is no tie, however noisy it is.
  double furthest_tie = 1.25;
  std::size_t most_ties = 8;  ///< the most ties that an entry lists
};

/// Makes one entry for each bucket that has a right and timed candidate, in the order of the
/// buckets. A candidate cannot win if it was wrong, crashed, hung or did not build on any problem
/// of the bucket. Suspect times and peers cannot win either. Where several files hold the same row,
/// the newest counts. Only the candidates that were measured on the most problems of the bucket are
/// compared. The fastest has the least geometric mean of its time over the best time of each
/// problem. It wins, unless a tie has a smaller error (by more than a tenth) or, among such, a
/// smaller workspace.
/// @throws InputError for files of different devices or backends, or that cannot be compared
TunedTable build_table(std::span<const Results> files, const TablePolicy& policy = {});

/// The records of several runs, without peers. Where several runs hold the same row, the newest is
/// taken. Records are left out where a later run has another version of their sources.
std::vector<const Record*> newest_records(std::span<const Results> files);

/// The facts of an environment that comparability knows. A table keeps only these.
Facts comparable_facts(const Facts& environment);

/// The differences between the environments of a table and those of another that is to be merged
/// into it, each difference once.
/// @throws InputError for one that comparability refuses and `allowed` does not name
std::vector<std::string> differing_environments(const TunedTable& table, const TunedTable& fresh,
                                                const std::set<std::string>& allowed);

/// What a merge did, for people.
struct MergeCounts {
  std::size_t added = 0, replaced = 0, kept = 0, dropped = 0, stale = 0;
};

/// Merges entries into a table. A newer measurement replaces an older one of the same bucket. An
/// entry whose winning variant no longer exists is dropped, and one whose sources have changed is
/// labelled stale. `source_hash` gives the hash of a variant as it is now, empty where there is
/// none.
/// @throws InputError for tables of different devices
using CurrentSource = std::function<std::string(const Bucket&, const TunedChoice&)>;
MergeCounts merge_tables(TunedTable& table, const TunedTable& fresh, const CurrentSource& source);

}  // namespace gla_bench
