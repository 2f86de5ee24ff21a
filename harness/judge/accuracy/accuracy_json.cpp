// Baselines of errors as JSON.

#include <limits>
#include <nlohmann/json.hpp>

#include "harness/judge/accuracy/accuracy.hpp"
#include "harness/records/record_json.hpp"

namespace gla_bench {
namespace {

constexpr int accuracy_version = 1;
constexpr double most = std::numeric_limits<double>::max();

Json spread_to_json(const AccuracySpread& spread) {
  return {{"lowest", spread.lowest},
          {"highest", spread.highest},
          {"bound", spread.bound},
          {"seeds", spread.seeds}};
}

AccuracySpread read_spread(const JsonNode& node) {
  node.expect_keys({"lowest", "highest", "bound", "seeds"});
  AccuracySpread spread;
  spread.lowest = node.at("lowest").number(0, most);
  spread.highest = node.at("highest").number(spread.lowest, most);
  spread.bound = node.at("bound").number(0, most);
  spread.seeds = static_cast<std::size_t>(
      node.at("seeds").integer(1, std::numeric_limits<std::int32_t>::max()));
  return spread;
}

/// One candidate: the rows of its outputs and metrics are adjacent.
Json row_to_json(const AccuracyKey& key) {
  Json row = problem_to_json(key.problem);
  row.erase("seed");
  row["variant"] = key.variant;
  row["backend"] = name(key.backend);
  row["tile"] = key.tile.empty() ? Json::object() : Json(key.tile);
  row["errors"] = Json::object();
  return row;
}

bool same_candidate(const AccuracyKey& a, const AccuracyKey& b) {
  return a.problem == b.problem && a.variant == b.variant && a.backend == b.backend &&
         a.tile == b.tile;
}

}  // namespace

Json accuracy_to_json(const AccuracyBaseline& baseline) {
  Json rows = Json::array();
  const AccuracyKey* before = nullptr;
  for (const auto& [key, spread] : baseline) {
    if (before == nullptr || !same_candidate(*before, key)) rows.push_back(row_to_json(key));
    rows.back()["errors"][key.tensor][key.metric] = spread_to_json(spread);
    before = &key;
  }
  return {{"accuracy_version", accuracy_version}, {"rows", std::move(rows)}};
}

AccuracyBaseline read_accuracy(const JsonNode& node) {
  node.expect_keys({"accuracy_version", "rows"});
  node.at("accuracy_version").integer(accuracy_version, accuracy_version);
  AccuracyBaseline baseline;
  for (const JsonNode& row : node.at("rows").items()) {
    row.expect_keys({"operator", "direction", "dtype", "layout", "shape", "gate", "initial_state",
                     "final_state", "scale", "tensors", "options", "variant", "backend", "tile",
                     "errors"});
    Json with_seed = row.json();
    with_seed["seed"] = 0;
    AccuracyKey key;
    key.problem = read_problem(JsonNode(with_seed, row.file(), row.pointer()));
    key.variant = row.at("variant").text();
    const auto backend = parse_backend(row.at("backend").text());
    if (!backend) row.at("backend").fail("a backend: host, cuda");
    key.backend = *backend;
    for (const auto& [axis, value] : row.at("tile").members())
      key.tile[axis] = static_cast<int>(
          value.integer(std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
    for (const auto& [tensor, errors] : row.at("errors").members())
      for (const auto& [metric, spread] : errors.members()) {
        key.tensor = tensor;
        key.metric = metric;
        baseline[key] = read_spread(spread);
      }
  }
  return baseline;
}

}  // namespace gla_bench
