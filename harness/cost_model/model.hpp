#pragma once
// Predicts how long a candidate takes, before it is compiled. For each variant of one backend a
// regression says by which factor its time exceeds the bound that the device's rates set
// (features.hpp). The factors are learnt from records, and taken over to other devices, whose rates
// are other ones.

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/variant.hpp"
#include "harness/cost_model/device_rates.hpp"
#include "harness/cost_model/features.hpp"
#include "harness/cost_model/regression.hpp"
#include "harness/support/facts.hpp"

namespace gla_bench::cost_model {

/// How far predictions are from times, as a factor less 1, whichever of the two is larger: 0.1 is
/// 10 %. Of problems whose shapes the prediction has not seen (cross-validation).
struct PredictionError {
  double median = 0, p90 = 0;
};

/// A regression and the names of its features, in its order.
class NamedRegression {
 public:
  NamedRegression() = default;
  NamedRegression(std::vector<std::string> features, Regression regression);

  const std::vector<std::string>& features() const { return features_; }
  const Regression& regression() const { return regression_; }
  double predict(const Features& features_of_candidate) const;

 private:
  std::vector<std::string> features_;
  Regression regression_;
  std::unordered_map<std::string, std::size_t> places_;  ///< of the features by name
};

/// The regression of one variant, for all operators that have it.
struct VariantModel {
  std::string variant;
  Direction direction = Direction::forward;
  NamedRegression factor;              ///< log2 of the time over the bound
  std::size_t rows = 0, problems = 0;  ///< that it was learnt from
  /// The tiles that it was learnt from. What is said of others is a guess.
  std::set<Tile> tiles;
  PredictionError error;
  double sigma = 1;  ///< root mean square of the error in log2 of the time
};

/// What the predicted best costs over the best of a problem's records (0.02: 2 % more), of problems
/// whose shapes the prediction has not seen.
struct Regret {
  std::size_t problems = 0;
  double median = 0, p90 = 0, worst = 0;
};

struct CostModel {
  std::string path;  ///< of its file; empty: of no file
  std::string device;
  BackendId backend = BackendId::cuda;
  Facts environment;                 ///< of the records
  std::vector<std::string> sources;  ///< the results files that it was learnt from
  Regret regret;
  std::vector<VariantModel> variants;
  /// A regression over all variants of what VariantModel::factor is for one: what is alike in them
  /// is learnt from all. A predicted time is a mean of both (mean_factor()).
  NamedRegression common;
  /// Another one over all variants: a score by which candidates of one problem come in order
  /// (ranking.hpp), the highest first. It says nothing of a time, and more of which candidates are
  /// close to the best than the times' regressions, which spend their questions on how long
  /// problems take. It has more trees, and deeper ones.
  NamedRegression order;

  const VariantModel* find(std::string_view variant, Direction direction) const;
};

struct Prediction {
  double seconds = 0;
  double sigma = 1;     ///< of log2 of the time
  bool learnt = false;  ///< false: no record of the variant was at hand
  double score = 0;     ///< by CostModel::order; 0 where nothing is known

  /// What candidates of one problem are ranked by, the least first: the predicted time, less the
  /// higher the score and more the less sure it is. In seconds, but no time.
  double rank() const;
};

/// The mean of what a variant's own regression says of log2 of the time over the bound, and what
/// the one over all variants does. The variant's own counts more: it has fewer things to tell
/// apart.
double mean_factor(double own, double common);

/// A variant that the model does not know is expected at `unknown_factor` times its bound.
constexpr double unknown_factor = 3;

/// Without a model nothing is known of any variant.
Prediction predict(const CostModel* model, const Candidate& candidate, const DeviceRates& rates);
/// The same of a candidate's features (features_of()).
Prediction predict(const CostModel* model, const Variant& variant, Features features);

}  // namespace gla_bench::cost_model
