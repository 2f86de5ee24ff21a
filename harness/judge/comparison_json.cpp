// A comparison as JSON.

#include <nlohmann/json.hpp>

#include "harness/judge/comparison_report.hpp"

namespace gla_bench {
namespace {

Json times_to_json(const RatioEstimate& estimate, double base_ms, double fresh_ms) {
  return {{"ratio", number_to_json(estimate.ratio)}, {"low", number_to_json(estimate.low)},
          {"high", number_to_json(estimate.high)},   {"p", number_to_json(estimate.p)},
          {"count", estimate.count},                 {"base_ms", number_to_json(base_ms)},
          {"new_ms", number_to_json(fresh_ms)}};
}

Json place_to_json(std::size_t place) {
  return place > 0 ? Json(place) : Json(nullptr);
}

Json row_to_json(const ComparedRow& row) {
  return {{"row", row.subject},
          {"file", row.file},
          {"base_row", place_to_json(row.base_place)},
          {"new_row", place_to_json(row.fresh_place)},
          {"verdict", row.verdict},
          {"outcome", name(row.outcome)},
          {"why", row.why},
          {"labels", row.labels},
          {"times", row.estimate ? times_to_json(*row.estimate, row.base_ms, row.fresh_ms)
                                 : Json(nullptr)},
          {"sustained", row.sustained
                            ? times_to_json(row.sustained->estimate, row.sustained->base_ms,
                                            row.sustained->fresh_ms)
                            : Json(nullptr)}};
}

}  // namespace

Json comparison_json(const Comparison& comparison) {
  Json differences = Json::array(), rows = Json::array();
  for (const Difference& difference : comparison.differences)
    differences.push_back({{"key", difference.key},
                           {"base", difference.base},
                           {"new", difference.fresh},
                           {"severity", name(difference.severity)},
                           {"why", difference.why}});
  for (const ComparedRow& row : comparison.rows) rows.push_back(row_to_json(row));
  return {{"comparison_version", 1},
          {"base", comparison.base},
          {"new", comparison.fresh},
          {"outcome", name(outcome_of(comparison))},
          {"paired", comparison.paired},
          {"min_effect", comparison.min_effect},
          {"drift", comparison.paired ? Json(nullptr) : Json(comparison.drift)},
          {"drift_evidence", comparison.drift_evidence},
          {"differences", std::move(differences)},
          {"accuracy_unknown", comparison.accuracy_unknown},
          {"refused", comparison.refused},
          {"rows", std::move(rows)}};
}

}  // namespace gla_bench
