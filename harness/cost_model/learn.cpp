#include "harness/cost_model/learn.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "core/catalog.hpp"
#include "core/error.hpp"
#include "core/tile_space.hpp"
#include "harness/cost_model/ranking.hpp"
#include "harness/cost_model/regret.hpp"
#include "harness/records/contest.hpp"
#include "harness/support/hash.hpp"
#include "harness/support/numbers.hpp"
#include "harness/support/statistics/statistics.hpp"
#include "harness/support/table.hpp"

namespace gla_bench::cost_model {
namespace {

constexpr int rounds = 10;  // of the cross-validation
constexpr int all_rounds = -1;
/// With fewer rows there is nothing to learn from, and their mean is taken.
constexpr std::size_t least_rows = 8;
/// Of the regressions over all variants. A tree asks of few features, since most of them are ratios
/// of which few matter for one variant. Whether a candidate is ahead depends on what its rivals do
/// in the same problem: on more features at once than its time does.
constexpr RegressionOptions of_common{
    .trees = 400, .depth = 6, .rows_per_tree = 0.6, .features_per_tree = 0.3};
constexpr RegressionOptions of_order{.trees = 800,
                                     .depth = 8,
                                     .learning_rate = 0.07,
                                     .leaf_weight = 0.05,
                                     .rows_per_tree = 0.8,
                                     .features_per_tree = 0.2};

/// What a model keeps of the environment of its records: what its rates come from, and what times
/// depend on.
constexpr std::array<std::string_view, 13> kept_facts{
    "backend",       "device",   "architecture",   "compute_capability", "multiprocessors",
    "threads",       "l2_bytes", "copy_gb_per_s",  "matrix_tflop_per_s", "power_limit_watts",
    "max_clock_mhz", "toolkit",  "program_version"};

/// A record whose time a model may learn from. A search's first looks are times as well. Times
/// under a power cap are of a lower clock, which depends on what ran before, not on the candidate.
bool has_time(const Record& record) {
  if (record.peer || !record.timing || record.timing->suspect || record.timing->throttled)
    return false;
  if (record.status != Status::measured && record.status != Status::verified) return false;
  return record.verification && record.verification->ok && record.timing->cold.median_ms > 0;
}

/// Whether a record's kernel moves what the present one of its name moves. What was changed in that
/// has changed its time as well. Records of before this was kept say nothing about it.
bool moves_the_same(const Record& record, const Variant& variant, const Tile& tile) {
  constexpr double change = 0.05;
  const double then = record.io.model_read_bytes + record.io.model_write_bytes;
  if (!variant.traffic || !(then > 0)) return true;
  const Traffic traffic = variant.traffic(record.problem, tile);
  const double now = traffic.read_bytes + traffic.write_bytes;
  return std::abs(now - then) <= change * then;
}

/// Problems of one shape fall into one round, whatever their operator.
int round_of(const Example& example) {
  const std::string text = extents_text(example.candidate.problem.shape, "", "=");
  return static_cast<int>(hash_bytes(text) % rounds);
}

using Group = std::vector<Example*>;

/// What a regression learns from, by example.
struct Lessons {
  std::vector<std::string> names;  ///< of the features
  Rows rows;
  std::vector<double> targets;
  std::vector<std::size_t> contests;  ///< the numbers of their problems
  std::vector<int> rounds;

  void add(const Features& features, double target, int round, std::size_t contest = 0) {
    std::vector<double> row(names.size(), missing_feature);
    for (const Feature& feature : features.list) {
      const auto [place, fresh] = places_.try_emplace(feature.name, names.size());
      if (fresh) {
        names.push_back(feature.name);
        row.push_back(missing_feature);
        for (std::vector<double>& earlier : rows) earlier.push_back(missing_feature);
      }
      row[place->second] = feature.value;
    }
    rows.push_back(std::move(row));
    targets.push_back(target);
    contests.push_back(contest);
    rounds.push_back(round);
  }

  /// Fits the targets of all examples but those of the round that is left out.
  NamedRegression fit_without(int left_out, RegressionOptions options) const {
    const Lessons kept = without(left_out);
    if (kept.rows.size() < least_rows) options.trees = 0;
    return {names, fit(kept.rows, kept.targets, options)};
  }

  /// The same for the order of each problem's examples. The targets say how far behind they are.
  NamedRegression order_without(int left_out, RegressionOptions options) const {
    const Lessons kept = without(left_out);
    if (kept.rows.size() < least_rows) options.trees = 0;
    std::map<std::size_t, Contest> problems;
    for (std::size_t i = 0; i < kept.rows.size(); ++i) {
      problems[kept.contests[i]].examples.push_back(i);
      problems[kept.contests[i]].behind.push_back(kept.targets[i]);
    }
    std::vector<Contest> list;
    for (auto& [number, contest] : problems) list.push_back(std::move(contest));
    return {names, fit_trees(kept.rows, Ranking(std::move(list)), options)};
  }

 private:
  Lessons without(int left_out) const {
    Lessons kept;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rounds[i] == left_out) continue;
      kept.rows.push_back(rows[i]);
      kept.targets.push_back(targets[i]);
      kept.contests.push_back(contests[i]);
    }
    return kept;
  }

  std::map<std::string, std::size_t, std::less<>> places_;
};

/// Fits to all but the shapes of each round in turn, `fit_without(round)`, and says of each example
/// what such a fit predicts for it: `say(example, prediction)`. Returns the fit to all.
template <typename FitWithout, typename FeaturesOf, typename Say>
NamedRegression cross_validate(std::span<Example* const> examples, FitWithout fit_without,
                               FeaturesOf features, Say say) {
  NamedRegression of_all;
#pragma omp parallel for schedule(dynamic)
  for (int left_out = all_rounds; left_out < rounds; ++left_out) {
    if (left_out == all_rounds) {  // the longest fit: first, and beside the others
      of_all = fit_without(all_rounds);
      continue;
    }
    if (std::none_of(examples.begin(), examples.end(),
                     [&](const Example* one) { return round_of(*one) == left_out; }))
      continue;
    const NamedRegression fitted = fit_without(left_out);
    const bool empty = fitted.regression().weights.empty();
    for (Example* example : examples)
      if (round_of(*example) == left_out)
        say(*example, empty ? std::nullopt : std::optional(fitted.predict(features(*example))));
  }
  return of_all;
}

double log_factor_of(const Example& example) {
  return std::log2(example.seconds / example.features.bound);
}

/// Sets Example::predicted to what the variant's own regression says.
VariantModel learn_variant(const Group& group) {
  VariantModel model;
  const Candidate& first = group.front()->candidate;
  model.variant = first.variant->name;
  model.direction = first.variant->direction;
  std::set<Problem> problems;
  Lessons lessons;
  for (const Example* example : group) {
    problems.insert(example->candidate.problem);
    model.tiles.insert(example->candidate.tile);
    lessons.add(example->features, log_factor_of(*example), round_of(*example));
  }
  model.rows = group.size();
  model.problems = problems.size();
  model.factor = cross_validate(
      group, [&](int left_out) { return lessons.fit_without(left_out, {}); },
      [](const Example& one) -> const Features& { return one.features; },
      [](Example& one, std::optional<double> said) {
        one.predicted = one.features.bound * (said ? std::exp2(*said) : unknown_factor);
      });
  return model;
}

Features features_among_all(const Example& example) {
  return choice_features(example.features, *example.candidate.variant);
}

/// The regression of times over all variants. Example::predicted becomes the mean with it.
NamedRegression learn_common(const Group& all) {
  Lessons lessons;
  for (const Example* one : all)
    lessons.add(features_among_all(*one), log_factor_of(*one), round_of(*one));
  return cross_validate(
      all, [&](int left_out) { return lessons.fit_without(left_out, of_common); },
      features_among_all,
      [](Example& one, std::optional<double> said) {
        if (said)
          one.predicted =
              one.features.bound *
              std::exp2(mean_factor(std::log2(one.predicted / one.features.bound), *said));
      });
}

/// The regression of the order of candidates. Sets Example::score.
NamedRegression learn_order(const Group& all) {
  struct Known {
    std::size_t number = 0, candidates = 0;
    double best = std::numeric_limits<double>::infinity();
  };
  std::map<std::pair<Problem, std::string>, Known> problems;  // of each device
  for (const Example* one : all) {
    const auto [place, fresh] =
        problems.try_emplace({one->candidate.problem, one->device}, Known{problems.size()});
    Known& known = place->second;
    known.best = std::min(known.best, one->seconds);
    ++known.candidates;
  }
  Lessons lessons;
  for (const Example* one : all) {
    const Known& known = problems[{one->candidate.problem, one->device}];
    // The only candidate of a problem is its best, and says nothing.
    if (known.candidates > 1)
      lessons.add(features_among_all(*one), std::log2(one->seconds / known.best), round_of(*one),
                  known.number);
  }
  return cross_validate(
      all, [&](int left_out) { return lessons.order_without(left_out, of_order); },
      features_among_all,
      [](Example& one, std::optional<double> said) { one.score = said.value_or(0); });
}

void judge_variant(VariantModel& model, const Group& group) {
  std::vector<double> errors;
  double squares = 0;
  for (const Example* example : group) {
    const double apart = std::log2(example->predicted / example->seconds);
    errors.push_back(std::exp2(std::abs(apart)) - 1);
    squares += apart * apart;
  }
  model.error = {quantile_of(errors, 0.5), quantile_of(errors, 0.9)};
  model.sigma = std::sqrt(squares / static_cast<double>(errors.size()));
  for (Example* example : group) example->sigma = model.sigma;
}

}  // namespace

Problem launch_problem(Problem problem) {
  problem.seed = 0;
  problem.scale.reset();
  problem.tensors.clear();
  problem.tensor_names.clear();
  return problem;
}

std::vector<Example> examples_of(std::span<const Results> files) {
  using Key = std::tuple<Problem, const Variant*, Tile, std::string>;
  std::map<Key, std::vector<double>> times;
  std::map<Key, DeviceRates> rates;
  const std::string backend = files.empty() ? "" : fact_text(files.front().environment, "backend");
  for (const Results& results : files) {
    if (const std::string other = fact_text(results.environment, "backend"); other != backend)
      throw InputError(results.file + ": is of the backend " + other + ", and " +
                       files.front().file + " of " + backend + "; a model is of one backend");
    const std::string device = fact_text(results.environment, "device");
    const DeviceRates of_file = device_rates(results.environment);
    for (const Record& record : results.records) {
      if (!has_time(record)) continue;
      const Variant* variant =
          find_variant(record.problem.op, record.variant, record.backend, record.problem.direction);
      if (variant == nullptr) continue;
      Tile tile = with_later_axes(record.tile, variant->space);
      if (!in_space(tile, variant->space)) continue;
      if (!moves_the_same(record, *variant, tile)) continue;
      const Key key{launch_problem(record.problem), variant, std::move(tile), device};
      times[key].push_back(1e-3 * record.timing->cold.median_ms);
      rates[key] = of_file;
    }
  }
  std::vector<Example> examples;
  for (const auto& [key, seconds] : times) {
    const auto& [problem, variant, tile, device] = key;
    Example example;
    example.candidate = {variant, problem, tile};
    example.device = device;
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
  Group all;
  for (Example& example : examples) {
    groups[{example.candidate.variant->name, example.candidate.variant->direction}].push_back(
        &example);
    all.push_back(&example);
  }
  for (const auto& [key, group] : groups) model.variants.push_back(learn_variant(group));
  model.common = learn_common(all);
  model.order = learn_order(all);
  std::size_t place = 0;
  for (const auto& [key, group] : groups) judge_variant(model.variants[place++], group);
  model.regret = regret_of(choices_among(examples));
  return model;
}

std::vector<Example> of_new_shapes(std::span<const Example> taught, std::vector<Example> others) {
  std::set<Shape> shapes;
  for (const Example& one : taught) shapes.insert(one.candidate.problem.shape);
  std::erase_if(others,
                [&](const Example& one) { return shapes.contains(one.candidate.problem.shape); });
  return others;
}

void predict_by(const CostModel& model, std::span<Example> examples) {
  for (Example& one : examples) {
    const Prediction said = predict(&model, *one.candidate.variant, one.features);
    one.predicted = said.seconds, one.sigma = said.sigma, one.score = said.score;
  }
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
  if (model.regret.problems > 0) text += regret_line(model.regret);
  return text;
}

}  // namespace gla_bench::cost_model
