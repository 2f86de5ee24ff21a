#pragma once
// Resolves `auto` on a problem: to a table's choice, else to a default. The result always says
// which.

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/catalog.hpp"
#include "harness/cost_model/predictor.hpp"
#include "harness/records/record.hpp"
#include "harness/tuned_table/table.hpp"

namespace gla_bench {

struct Choice {
  std::optional<Candidate> candidate;  ///< empty where no variant takes the problem
  ChosenBy by;                         ///< where there is no candidate, its note says why
};

/// Why a candidate cannot be used where it is to run; empty where it can.
using Refusal = std::function<std::optional<std::string>(const Candidate&)>;

/// A table's entry as seen from a problem.
struct Near {
  std::size_t entry = 0;  ///< its place in the table
  bool own = false;       ///< it belongs to the problem's own bucket
  double distance = 0;    ///< bucket.hpp: distance()
};

/// The multiprocessors of the device that an entry comes from; 0 where the table does not say.
double multiprocessors_of(const TunedTable& table, const TunedEntry& entry);

/// The entries of the problem's operator, direction and dtype, the nearest first. The problem's own
/// bucket comes first where it has an entry, unless the problem and the middle of the bucket fill
/// the device in a different number of rounds. Equally near entries keep the table's order.
std::vector<Near> nearest_entries(const TunedTable& table, const Problem& problem);

/// What `auto` goes by besides the prediction: a candidate that a table's entry knows, and how near
/// the entry is.
struct Remembered {
  std::size_t ranked = 0;  ///< the place of the candidate among those that are predicted
  double distance = 0;     ///< of the entry from the problem
};

/// Distance up to which a measured winner is taken without asking the model: the same shape.
constexpr double same_problem = 0.01;
/// Distance up to which a measured winner stands against a prediction that is hardly better.
constexpr double near_problem = 2;
/// How much faster the model's choice has to be than such a winner. Predictions of two tiles of a
/// variant are seldom nearer to each other's times than this.
constexpr double worth_leaving = 0.05;

/// The place of `auto`'s choice among predicted times, which are sorted, and a winner from a table
/// where there is one.
std::size_t settle(const std::vector<double>& predicted,
                   const std::optional<Remembered>& remembered);

/// Chooses for `auto` among the candidates of one backend, by a table where there is one.
class Chooser {
 public:
  /// Without a table only defaults are chosen. `why` says in the records why there is none.
  Chooser(Catalog catalog, BackendId backend, std::string why);

  /// Uses the table's entries where it may. An entry of an environment that comparability refuses
  /// (another device, another power cap) is left out unless `allowed` names the fact. Another
  /// driver or toolkit, or another number of threads, is reported in warnings(), and so is how many
  /// winners are of other sources than now. `source_hash` gives the hash of a variant as it is now.
  /// @throws InputError where there are entries and every one of them is refused
  Chooser(Catalog catalog, BackendId backend, TunedTable table, const Facts& environment,
          const std::set<std::string>& allowed,
          const std::function<std::string(const Variant&)>& source_hash);

  /// Takes the nearest entry (nearest_entries()), which is mostly that of the problem's own bucket.
  /// From an entry it takes the winner, else its ties and then the best of its other variants, the
  /// fastest first. The note says which were passed over, because the variant or tile no longer
  /// exists or because it refuses the problem, and whether it was tuned with another number of
  /// threads. Without a usable entry it takes the default: the last variant of the catalog that
  /// takes the problem, with the first tile that it accepts. The catalog lists variants from the
  /// plain to the refined.
  ///
  /// With a predictor, the entry's candidate and the fastest predicted one are settled between
  /// (settle()), and the record says what was predicted.
  Choice choose(const Problem& problem, const Refusal& refuse) const;

  void predict_by(cost_model::Predictor predictor) { predictor_ = std::move(predictor); }

  const std::vector<std::string>& warnings() const { return warnings_; }
  const TunedTable& table() const { return table_; }

 private:
  std::optional<Candidate> find(const Bucket& bucket, const TunedChoice& choice,
                                const Problem& problem, std::string& why) const;
  std::optional<Candidate> take(const TunedEntry& entry, const Problem& problem,
                                const Refusal& refuse, std::string& note) const;
  Choice by_table(const Problem& problem, const Refusal& refuse) const;
  Choice by_prediction(Choice remembered, const Problem& problem, const Refusal& refuse) const;
  Choice fall_back(const Problem& problem, const Refusal& refuse, std::string note) const;
  void warn_of_stale_winners();
  bool is_stale(const Candidate& candidate, const TunedEntry& entry) const;

  Catalog catalog_;
  BackendId backend_;
  std::string why_;
  TunedTable table_;
  std::vector<bool> usable_;                ///< by entry
  std::vector<std::string> other_threads_;  ///< by entry; empty: as many as here, or not known
  std::function<std::string(const Variant&)> source_hash_;
  std::vector<std::string> warnings_;
  std::optional<cost_model::Predictor> predictor_;
};

}  // namespace gla_bench
