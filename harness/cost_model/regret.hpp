#pragma once
// What the predicted best of a problem costs over the best of its records.

#include <span>
#include <string>
#include <vector>

#include "harness/cost_model/learn.hpp"

namespace gla_bench::cost_model {

/// The choice for one problem on one device. The examples are those that it was made among.
struct ChoiceAmong {
  std::size_t candidates = 0;
  const Example* chosen = nullptr;  ///< the first by Prediction::rank()
  const Example* best = nullptr;    ///< the fastest

  double regret() const { return chosen->seconds / best->seconds - 1; }
};

/// Problems with fewer candidates say nothing about a choice.
constexpr std::size_t least_candidates = 5;

/// Of every problem and device with enough candidates, by Example::predicted and Example::score.
std::vector<ChoiceAmong> choices_among(std::span<const Example> examples);

Regret regret_of(std::span<const ChoiceAmong> choices);

/// One sentence for people.
std::string regret_line(const Regret& regret);

/// For people: the regret by operator and direction, and the problems where it is largest.
std::string regret_report(std::span<const ChoiceAmong> choices, bool markdown);

/// The same of problems that a model was not made from, with how far its predictions are from their
/// times. `choices`: choices_among() the examples.
std::string judged_report(std::span<const Example> examples, std::span<const ChoiceAmong> choices,
                          bool markdown);

/// The value below which a share of all values lies; 0 where there are none.
double quantile_of(std::vector<double> values, double share);

}  // namespace gla_bench::cost_model
