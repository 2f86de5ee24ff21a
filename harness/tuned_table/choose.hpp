#pragma once
// What `auto` stands for on a problem: a table's choice, else a default; never without saying
// which.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/catalog.hpp"
#include "harness/records/record.hpp"
#include "harness/tuned_table/table.hpp"

namespace gla_bench {

struct Choice {
  std::optional<Candidate> candidate;  ///< nothing: no variant takes the problem
  ChosenBy by;                         ///< its note says why, where there is no candidate
};

/// Why a candidate can not be used where it is to run, or nothing.
using Refusal = std::function<std::optional<std::string>(const Candidate&)>;

/// An entry of a table as seen from a problem.
struct Near {
  std::size_t entry = 0;  ///< its place in the table
  bool own = false;       ///< of the problem's own bucket
  double distance = 0;    ///< bucket.hpp: distance()
};

/// Of the device that an entry comes from; 0 where the table does not say.
double multiprocessors_of(const TunedTable& table, const TunedEntry& entry);

/// The entries of the problem's operator, direction and dtype, the nearest first. That is its own
/// bucket's where there is one, unless a step in how the device is filled lies between the problem
/// and the middle of the bucket. Equally near ones in the table's order.
std::vector<Near> nearest_entries(const TunedTable& table, const Problem& problem);

/// The candidates of one backend that `auto` chooses from, and the table that it goes by.
class Chooser {
 public:
  /// Without a table: defaults alone. `why`: why there is none, for the records.
  Chooser(Catalog catalog, BackendId backend, std::string why);

  /// Goes by a table where it may: entries of an environment that comparability refuses (another
  /// device, another power cap) are left out unless `allowed` names the fact; another driver or
  /// toolkit is told in warnings(). `source_hash`: of a variant as it is now.
  /// @throws InputError where there are entries and every one of them is refused
  Chooser(Catalog catalog, BackendId backend, TunedTable table, const Facts& environment,
          const std::set<std::string>& allowed,
          const std::function<std::string(const Variant&)>& source_hash);

  /// The nearest entry (nearest_entries()), mostly that of the problem's own bucket. Of an entry
  /// the winner, else its ties and the best of its other variants, the fastest first. What is
  /// passed over (its variant or tile is gone, it refuses the problem) is in the note. Without any:
  /// the default, which is the last variant of the catalog that takes the problem, with its first
  /// tile that does: variants are listed from the plain to the refined.
  Choice choose(const Problem& problem, const Refusal& refuse) const;

  const std::vector<std::string>& warnings() const { return warnings_; }
  const TunedTable& table() const { return table_; }

 private:
  std::optional<Candidate> find(const Bucket& bucket, const TunedChoice& choice,
                                const Problem& problem, std::string& why) const;
  std::optional<Candidate> take(const TunedEntry& entry, const Problem& problem,
                                const Refusal& refuse, std::string& note) const;
  Choice fall_back(const Problem& problem, const Refusal& refuse, std::string note) const;
  bool is_stale(const Candidate& candidate, const TunedEntry& entry) const;

  Catalog catalog_;
  BackendId backend_;
  std::string why_;
  TunedTable table_;
  std::vector<bool> usable_;  ///< by entry
  std::function<std::string(const Variant&)> source_hash_;
  std::vector<std::string> warnings_;
};

}  // namespace gla_bench
