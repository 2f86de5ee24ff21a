#pragma once
// Who wins on a problem, and who cannot be told apart from the winner. Every report, map, page and
// table takes its answer from here. Pure functions of records.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/records/record_file.hpp"
#include "harness/support/statistics/bootstrap.hpp"

namespace gla_bench {

struct ContestPolicy {
  /// By how much medians of the same code may differ within one run and between two runs. Every
  /// interval is widened by it in both directions.
  double drift = 0.01;
  double drift_between_files = 0.03;
  BootstrapPolicy bootstrap{0.95, 500, 1};
};

/// True for a time that can be believed: measured, verified before and after, finite, not suspect.
bool is_right_and_timed(const Record& record);

/// True for a time that may win: it can be believed, and it is not a peer's.
bool may_win(const Record& record);

/// True for a time that may win, and for one of a candidate that is right and that a search dropped
/// after a few samples. Such a time is compared with the best, but is not the best.
bool may_be_compared(const Record& record);

/// False for a candidate that a search left before its end. It has few samples, so that its median
/// may be low by chance.
bool measured_to_end(const Record& record);

/// The order of right and timed records: those that were measured to the end come first, and the
/// shorter median comes first among them.
bool is_faster(const Record& one, const Record& other);

/// True where the interval of a time over the winner's reaches down to 1, or where there is none.
bool is_tied(const RatioEstimate& over_winner);

/// The fastest tile that a variant has on a problem.
struct Entrant {
  const Results* file = nullptr;
  const Record* record = nullptr;
  RatioEstimate over_winner{1, 1, 1, 1, 0};  ///< its time over the winner's; 1 for the winner
  bool tied = false;                         ///< it cannot be told apart from the winner

  double ms() const { return record->timing->cold.median_ms; }
};

/// Where a record stands in its contest.
enum class Standing {
  winner,
  tied,          ///< cannot be told apart from the winner
  slower,        ///< clearly slower than the winner, or left early by a search
  slower_tile,   ///< right, but another tile of its variant is faster
  peer,          ///< the fastest right row of a peer; peers do not compete
  suspect,       ///< excluded: its time cannot be believed
  failed,        ///< excluded: wrong, crashed, or out of time
  not_verified,  ///< excluded: timed, but never compared with the reference
  not_timed      ///< refused, left out, or only built or verified
};
std::string_view name(Standing standing);

/// A record of a contest.
struct Placing {
  const Results* file = nullptr;
  const Record* record = nullptr;
  Standing standing = Standing::not_timed;
};

/// All records of one problem on one device and backend.
struct Contest {
  Problem problem;
  std::string device;  ///< as the environment names it
  BackendId backend = BackendId::host;
  std::vector<Placing> records;   ///< in the order of the files
  std::vector<Entrant> entrants;  ///< ours, the fastest first; empty: nothing right was timed
  std::vector<Entrant> peers;     ///< likewise, one for each peer
  double copy_gb_per_s = 0;       ///< of the winner's file (copy_rate()); 0 where it is not known

  /// Null where nothing right was timed.
  const Entrant* winner() const { return entrants.empty() ? nullptr : &entrants.front(); }
  /// The second, tied or not; null where there is none.
  const Entrant* next() const { return entrants.size() < 2 ? nullptr : &entrants[1]; }
  /// The fastest that is not tied with the winner; null where there is none.
  const Entrant* runner_up() const;
  /// The fastest right peer; null where there is none.
  const Entrant* peer() const { return peers.empty() ? nullptr : &peers.front(); }
  /// Names of the winner and of those that are tied with it.
  std::vector<std::string> winners() const;
  /// What the floor's bytes take at the copy rate; NaN where that is not known.
  double floor_ms() const;
  /// The floor's time over the winner's; NaN where either is not known.
  double of_floor() const;
};

/// One contest for each problem, device and backend, in the order in which they first come. `files`
/// have to outlive them. The ratio is that of the two medians. Its interval is the bootstrap's
/// (unpaired_ratio()), widened for drift.
std::vector<Contest> all_contests(std::span<const Results> files, const ContestPolicy& policy = {});

/// Those of all_contests() of which a record was measured, verified or failed, by problem.
std::vector<Contest> contests_of(std::span<const Results> files, const ContestPolicy& policy = {});

/// For each entrant the places in `entrants` of the others that cannot be told apart from it. This
/// answers who is tied when a reader leaves some variants out.
std::vector<std::vector<std::size_t>> ties_of(const Contest& contest,
                                              const ContestPolicy& policy = {});

/// GB/s of a copy, as the file measured it; where it did not (a peer's file), the most that a file
/// of the same device did. 0 where none did.
double copy_rate(const Results& file, std::span<const Results> files);

}  // namespace gla_bench
