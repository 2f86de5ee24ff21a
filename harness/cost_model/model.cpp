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
  std::vector<double> row;
  row.reserve(features.size());
  std::size_t next = 0;  // mostly both are in the same order
  for (const std::string& name : features) {
    const auto& list = of_candidate.list;
    double value = missing_feature;
    for (std::size_t tried = 0; tried < list.size(); ++tried, ++next)
      if (list[next % list.size()].name == name) {
        value = list[next++ % list.size()].value;
        break;
      }
    row.push_back(value);
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
