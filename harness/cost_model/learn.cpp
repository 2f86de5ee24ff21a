#include "harness/cost_model/learn.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core/catalog.hpp"
#include "core/error.hpp"
#include "core/tile_space.hpp"
#include "harness/records/contest.hpp"
#include "harness/support/hash.hpp"
#include "harness/support/numbers.hpp"
#include "harness/support/statistics/statistics.hpp"
#include "harness/support/table.hpp"

namespace gla_bench::cost_model {
namespace {

constexpr int rounds = 10;  // of the cross-validation
/// With fewer rows there is nothing to learn from, and their mean is taken.
constexpr std::size_t least_rows = 8;
/// Problems with fewer candidates say nothing about a choice.
constexpr std::size_t least_candidates = 8;

/// What a model keeps of the environment of its records: what its rates come from, and what times
/// depend on.
constexpr std::array<std::string_view, 13> kept_facts{
    "backend",       "device",   "architecture",   "compute_capability", "multiprocessors",
    "threads",       "l2_bytes", "copy_gb_per_s",  "matrix_tflop_per_s", "power_limit_watts",
    "max_clock_mhz", "toolkit",  "program_version"};

/// A record whose time a model may learn from. A search's first looks are times as well.
bool has_time(const Record& record) {
  if (record.peer || !record.timing || record.timing->suspect) return false;
  if (record.status != Status::measured && record.status != Status::verified) return false;
  return record.verification && record.verification->ok && record.timing->cold.median_ms > 0;
}

double quantile_of(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto place = static_cast<std::size_t>(share * static_cast<double>(values.size()));
  return values[std::min(place, values.size() - 1)];
}

/// Problems of one shape fall into one round, whatever their operator.
int round_of(const Example& example) {
  const std::string text = extents_text(example.candidate.problem.shape, "", "=");
  return static_cast<int>(hash_bytes(text) % rounds);
}

using Group = std::vector<Example*>;

Regression fit_group(const Group& group, const std::vector<std::string>& names, int left_out) {
  Rows rows;
  std::vector<double> targets;
  for (const Example* example : group) {
    if (round_of(*example) == left_out) continue;
    std::map<std::string_view, double> values;
    for (const Feature& feature : example->features.list) values[feature.name] = feature.value;
    std::vector<double>& row = rows.emplace_back();
    for (const std::string& name : names) {
      const auto found = values.find(name);
      row.push_back(found == values.end() ? missing_feature : found->second);
    }
    targets.push_back(std::log2(example->seconds / example->features.bound));
  }
  RegressionOptions options;
  if (rows.size() < least_rows) options.trees = 0;
  return fit(rows, targets, options);
}

VariantModel learn_variant(const Group& group) {
  VariantModel model;
  const Candidate& first = group.front()->candidate;
  model.variant = first.variant->name;
  model.direction = first.variant->direction;
  std::set<std::string> seen;
  std::set<Problem> problems;
  for (const Example* example : group) {
    problems.insert(example->candidate.problem);
    model.tiles.insert(example->candidate.tile);
    for (const Feature& feature : example->features.list)
      if (seen.insert(feature.name).second) model.features.push_back(feature.name);
  }
  model.rows = group.size();
  model.problems = problems.size();
  std::vector<double> errors;
  double squares = 0;
  for (int left_out = 0; left_out < rounds; ++left_out) {
    if (std::none_of(group.begin(), group.end(),
                     [&](const Example* one) { return round_of(*one) == left_out; }))
      continue;
    model.factor = fit_group(group, model.features, left_out);
    for (Example* example : group) {
      if (round_of(*example) != left_out) continue;
      const bool empty = model.factor.weights.empty();
      const double log_factor =
          empty ? std::log2(unknown_factor) : model.log_factor(example->features);
      example->predicted = example->features.bound * std::exp2(log_factor);
      const double apart = std::log2(example->predicted / example->seconds);
      errors.push_back(std::exp2(std::abs(apart)) - 1);
      squares += apart * apart;
    }
  }
  model.factor = fit_group(group, model.features, -1);
  model.error = {quantile_of(errors, 0.5), quantile_of(errors, 0.9)};
  model.sigma = std::sqrt(squares / static_cast<double>(errors.size()));
  return model;
}

Regret regret_of(const std::vector<Example>& examples) {
  std::map<Problem, std::vector<const Example*>> problems;
  for (const Example& example : examples) problems[example.candidate.problem].push_back(&example);
  std::vector<double> regrets;
  for (const auto& problem : problems) {
    const std::vector<const Example*>& list = problem.second;
    if (list.size() < least_candidates) continue;
    const auto by = [&](double Example::*time) {
      return (*std::min_element(
                  list.begin(), list.end(),
                  [&](const Example* a, const Example* b) { return a->*time < b->*time; }))
          ->seconds;
    };
    regrets.push_back(by(&Example::predicted) / by(&Example::seconds) - 1);
  }
  return {regrets.size(), quantile_of(regrets, 0.5), quantile_of(regrets, 0.9),
          quantile_of(regrets, 1)};
}

}  // namespace

Problem launch_problem(Problem problem) {
  problem.gate.clear();
  problem.seed = 0;
  problem.scale.reset();
  problem.tensors.clear();
  problem.tensor_names.clear();
  return problem;
}

std::vector<Example> examples_of(std::span<const Results> files) {
  using Key = std::tuple<Problem, const Variant*, Tile>;
  std::map<Key, std::vector<double>> times;
  std::map<Key, DeviceRates> rates;
  const std::string backend = files.empty() ? "" : fact_text(files.front().environment, "backend");
  const std::string device = files.empty() ? "" : fact_text(files.front().environment, "device");
  for (const Results& results : files) {
    if (fact_text(results.environment, "backend") != backend ||
        fact_text(results.environment, "device") != device)
      throw InputError(results.file + ": is of " + fact_text(results.environment, "device") +
                       ", and " + files.front().file + " of " + device +
                       "; a model is of one device");
    const DeviceRates of_file = device_rates(results.environment);
    for (const Record& record : results.records) {
      if (!has_time(record)) continue;
      const Variant* variant =
          find_variant(record.problem.op, record.variant, record.backend, record.problem.direction);
      if (variant == nullptr) continue;
      Tile tile = with_later_axes(record.tile, variant->space);
      if (!in_space(tile, variant->space)) continue;
      const Key key{launch_problem(record.problem), variant, std::move(tile)};
      times[key].push_back(1e-3 * record.timing->cold.median_ms);
      rates[key] = of_file;
    }
  }
  std::vector<Example> examples;
  for (const auto& [key, seconds] : times) {
    const auto& [problem, variant, tile] = key;
    Example example;
    example.candidate = {variant, problem, tile};
    example.features = features_of(example.candidate, rates.at(key));
    example.seconds = median(seconds);
    examples.push_back(std::move(example));
  }
  return examples;
}

CostModel learn(std::span<const Results> files, std::vector<Example>& examples) {
  CostModel model;
  if (files.empty()) return model;
  for (const auto& [key, fact] : files.front().environment)
    if (std::find(kept_facts.begin(), kept_facts.end(), key) != kept_facts.end())
      model.environment.emplace(key, fact);
  model.device = fact_text(model.environment, "device");
  model.backend = parse_backend(fact_text(model.environment, "backend")).value_or(BackendId::host);
  for (const Results& results : files) model.sources.push_back(results.file);
  std::map<std::pair<std::string, Direction>, Group> groups;
  for (Example& example : examples)
    groups[{example.candidate.variant->name, example.candidate.variant->direction}].push_back(
        &example);
  for (const auto& [key, group] : groups) model.variants.push_back(learn_variant(group));
  model.regret = regret_of(examples);
  return model;
}

std::string model_report(const CostModel& model, bool markdown) {
  Table table{{{"variant"},
               {"direction"},
               {"candidates", true},
               {"problems", true},
               {"median error", true},
               {"90 %", true}},
              {}};
  for (const VariantModel& one : model.variants)
    table.rows.push_back({one.variant, std::string(name(one.direction)), std::to_string(one.rows),
                          std::to_string(one.problems), format_percent(one.error.median),
                          format_percent(one.error.p90)});
  std::string text = markdown ? table.markdown() : table.text();
  text += "\nerrors are of shapes that the prediction has not seen\n";
  if (model.regret.problems > 0)
    text += "the predicted best of " + std::to_string(model.regret.problems) +
            " such problems over the best of their records: median " +
            format_percent(model.regret.median) + ", 90 % " + format_percent(model.regret.p90) +
            ", worst " + format_percent(model.regret.worst) + "\n";
  return text;
}

}  // namespace gla_bench::cost_model
