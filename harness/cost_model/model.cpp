#include "harness/cost_model/model.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace gla_bench::cost_model {
namespace {

constexpr double unknown_sigma = 1.5;
/// Records are of one run on one device. Another run has another drift.
constexpr double least_sigma = 0.02;

/// A candidate's features by their names, which must outlive it.
using Known = std::unordered_map<std::string_view, double>;

Known known_of(const Features& features) {
  Known known(2 * features.list.size());
  for (const Feature& one : features.list) known.try_emplace(one.name, one.value);
  return known;
}

/// A regression over all variants has many features that a candidate lacks.
double predict_by(const NamedRegression& named, const Known& known) {
  std::vector<double> row;
  row.reserve(named.features.size());
  for (const std::string& name : named.features) {
    const auto found = known.find(name);
    row.push_back(found != known.end() ? found->second : missing_feature);
  }
  return named.regression.predict(row);
}

}  // namespace

double NamedRegression::predict(const Features& of_candidate) const {
  return predict_by(*this, known_of(of_candidate));
}

double Prediction::rank() const {
  // The least of several predictions is too low by chance, and more so where they are less sure.
  constexpr double doubt = 0.25;
  // Both say how good a candidate is. How far behind it is knows less of the problem: all of it chooses worse.
  constexpr double trust = 0.5;
  return seconds * std::exp2(trust * behind + doubt * sigma);
}

double mean_factor(double own, double common) {
  constexpr double share = 0.75;
  return share * own + (1 - share) * common;
}

const VariantModel* CostModel::find(std::string_view variant, Direction direction) const {
  const auto found = std::find_if(variants.begin(), variants.end(), [&](const VariantModel& one) {
    return one.variant == variant && one.direction == direction;
  });
  return found == variants.end() ? nullptr : &*found;
}

Prediction predict(const CostModel* model, const Candidate& candidate, const DeviceRates& rates) {
  return predict(model, *candidate.variant, features_of(candidate, rates));
}

Prediction predict(const CostModel* model, const Variant& variant, Features features) {
  const VariantModel* known =
      model == nullptr ? nullptr : model->find(variant.name, variant.direction);
  if (known == nullptr) return {features.bound * unknown_factor, unknown_sigma, false};
  // A search predicts thousands of candidates: their features are looked up once for all three.
  const Features among_all = choice_features(std::move(features), variant);
  const Known names = known_of(among_all);
  const double own = predict_by(known->factor, names);
  const double log_factor = mean_factor(own, predict_by(model->common, names));
  return {among_all.bound * std::exp2(log_factor), std::max(known->sigma, least_sigma), true,
          std::max(0.0, predict_by(model->behind, names))};
}

}  // namespace gla_bench::cost_model
