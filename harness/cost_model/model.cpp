#include "harness/cost_model/model.hpp"

#include <algorithm>
#include <cmath>

namespace gla_bench::cost_model {
namespace {

constexpr double unknown_sigma = 1.5;
/// Records are of one run on one device. Another run has another drift.
constexpr double least_sigma = 0.02;

}  // namespace

double NamedRegression::predict(const Features& of_candidate) const {
  // A regression over all variants has many features that a candidate lacks.
  std::vector<const Feature*> known;
  known.reserve(of_candidate.list.size());
  for (const Feature& one : of_candidate.list) known.push_back(&one);
  std::stable_sort(known.begin(), known.end(),
                   [](const Feature* a, const Feature* b) { return a->name < b->name; });
  std::vector<double> row;
  row.reserve(features.size());
  for (const std::string& name : features) {
    const auto found =
        std::lower_bound(known.begin(), known.end(), name,
                         [](const Feature* one, const std::string& n) { return one->name < n; });
    const bool has_it = found != known.end() && (*found)->name == name;
    row.push_back(has_it ? (*found)->value : missing_feature);
  }
  return regression.predict(row);
}

double Prediction::rank() const {
  return seconds * std::exp2(behind);
}

const VariantModel* CostModel::find(std::string_view variant, Direction direction) const {
  const auto found = std::find_if(variants.begin(), variants.end(), [&](const VariantModel& one) {
    return one.variant == variant && one.direction == direction;
  });
  return found == variants.end() ? nullptr : &*found;
}

Prediction predict(const CostModel* model, const Candidate& candidate, const DeviceRates& rates) {
  const Features features = features_of(candidate, rates);
  const VariantModel* known =
      model == nullptr ? nullptr
                       : model->find(candidate.variant->name, candidate.variant->direction);
  if (known == nullptr) return {features.bound * unknown_factor, unknown_sigma, false};
  const double own = known->factor.predict(features);
  const Features among_all = choice_features(features, *candidate.variant);
  const double log_factor = (own + model->common.predict(among_all)) / 2;
  return {features.bound * std::exp2(log_factor), std::max(known->sigma, least_sigma), true,
          std::max(0.0, model->behind.predict(among_all))};
}

}  // namespace gla_bench::cost_model
