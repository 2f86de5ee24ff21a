#include "harness/cost_model/model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gla_bench::cost_model {
namespace {

constexpr double unknown_sigma = 1.5;
/// Records are of one run on one device. Another run has another drift.
constexpr double least_sigma = 0.02;

}  // namespace

NamedRegression::NamedRegression(std::vector<std::string> features, Regression regression)
    : features_(std::move(features)), regression_(std::move(regression)) {
  for (std::size_t i = 0; i < features_.size(); ++i) places_.emplace(features_[i], i);
}

double NamedRegression::predict(const Features& of_candidate) const {
  // By the candidate's names, of which there are fewer than a regression over all variants has.
  std::vector<double> row(features_.size(), missing_feature);
  for (const Feature& one : of_candidate.list)
    if (const auto place = places_.find(one.name); place != places_.end())
      row[place->second] = one.value;
  return regression_.predict(row);
}

double Prediction::rank() const {
  // The least of several predictions is too low by chance, and more so where they are less sure.
  constexpr double doubt = 0.25;
  // Between 0.2 and 0.35 the choices are about as good, cross-validated.
  constexpr double trust = 0.25;
  return seconds * std::exp2(doubt * sigma - trust * score);
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
  const Features among_all = choice_features(std::move(features), variant);
  const double log_factor =
      mean_factor(known->factor.predict(among_all), model->common.predict(among_all));
  return {among_all.bound * std::exp2(log_factor), std::max(known->sigma, least_sigma), true,
          model->order.predict(among_all)};
}

}  // namespace gla_bench::cost_model
