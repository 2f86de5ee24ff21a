#include "harness/cost_model/regret.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/candidate_name.hpp"
#include "harness/support/numbers.hpp"
#include "harness/support/table.hpp"

namespace gla_bench::cost_model {
namespace {

constexpr std::size_t shown_problems = 10;

double rank_of(const Example& one) {
  return Prediction{one.predicted, one.sigma, true, one.score}.rank();
}

std::string name_of(const Example& one) {
  return candidate_name(one.candidate.variant->name, one.candidate.tile);
}

std::string table_of(const Table& table, bool markdown) {
  return markdown ? table.markdown() : table.text();
}

}  // namespace

double quantile_of(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto place = static_cast<std::size_t>(share * static_cast<double>(values.size()));
  return values[std::min(place, values.size() - 1)];
}

std::vector<ChoiceAmong> choices_among(std::span<const Example> examples) {
  std::map<std::pair<Problem, std::string>, ChoiceAmong> problems;
  for (const Example& one : examples) {
    ChoiceAmong& choice = problems[{one.candidate.problem, one.device}];
    ++choice.candidates;
    if (choice.chosen == nullptr || rank_of(one) < rank_of(*choice.chosen)) choice.chosen = &one;
    if (choice.best == nullptr || one.seconds < choice.best->seconds) choice.best = &one;
  }
  std::vector<ChoiceAmong> list;
  for (const auto& [problem, choice] : problems)
    if (choice.candidates >= least_candidates) list.push_back(choice);
  return list;
}

Regret regret_of(std::span<const ChoiceAmong> choices) {
  std::vector<double> regrets;
  for (const ChoiceAmong& choice : choices) regrets.push_back(choice.regret());
  return {regrets.size(), quantile_of(regrets, 0.5), quantile_of(regrets, 0.9),
          quantile_of(regrets, 1)};
}

std::string judged_report(std::span<const Example> examples, std::span<const ChoiceAmong> choices,
                          bool markdown) {
  std::vector<double> errors;
  for (const Example& one : examples)
    errors.push_back(std::exp2(std::abs(std::log2(one.predicted / one.seconds))) - 1);
  return "judged by " + std::to_string(examples.size()) +
         " times of shapes that it was taught nothing of: half of them within " +
         format_percent(quantile_of(errors, 0.5)) + ", 90 % within " +
         format_percent(quantile_of(errors, 0.9)) + "\n" + regret_line(regret_of(choices)) + "\n" +
         regret_report(choices, markdown);
}

std::string regret_line(const Regret& regret) {
  return "the predicted best of " + std::to_string(regret.problems) +
         " such problems over the best of their records: median " + format_percent(regret.median) +
         ", 90 % " + format_percent(regret.p90) + ", worst " + format_percent(regret.worst) + "\n";
}

std::string regret_report(std::span<const ChoiceAmong> choices, bool markdown) {
  Table kinds{{{"operator"},
               {"direction"},
               {"problems", true},
               {"median", true},
               {"90 %", true},
               {"worst", true}},
              {}};
  std::map<std::pair<std::string, Direction>, std::vector<ChoiceAmong>> by_kind;
  std::vector<ChoiceAmong> worst(choices.begin(), choices.end());
  for (const ChoiceAmong& choice : choices)
    by_kind[{choice.best->candidate.problem.op, choice.best->candidate.problem.direction}]
        .push_back(choice);
  for (const auto& [kind, of_kind] : by_kind) {
    const Regret regret = regret_of(of_kind);
    kinds.rows.push_back({kind.first, std::string(name(kind.second)),
                          std::to_string(regret.problems), format_percent(regret.median),
                          format_percent(regret.p90), format_percent(regret.worst)});
  }
  std::stable_sort(worst.begin(), worst.end(), [](const ChoiceAmong& a, const ChoiceAmong& b) {
    return a.regret() > b.regret();
  });
  worst.resize(std::min(worst.size(), shown_problems));
  Table problems{{{"problem"}, {"predicted best"}, {"best"}, {"of", true}, {"regret", true}}, {}};
  for (const ChoiceAmong& choice : worst)
    problems.rows.push_back({describe(choice.best->candidate.problem), name_of(*choice.chosen),
                             name_of(*choice.best), std::to_string(choice.candidates),
                             format_percent(choice.regret())});
  return table_of(kinds, markdown) + "\n" + table_of(problems, markdown);
}

}  // namespace gla_bench::cost_model
