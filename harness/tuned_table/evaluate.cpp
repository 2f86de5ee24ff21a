#include "harness/tuned_table/evaluate.hpp"
#include "harness/support/numbers.hpp"

#include <algorithm>
#include <iomanip>
#include <map>
#include <set>
#include <sstream>

#include "core/candidate_name.hpp"
#include "core/tile_space.hpp"
#include "harness/backends/sources/architecture.hpp"
#include "harness/records/contest.hpp"
#include "harness/support/statistics/statistics.hpp"
#include "harness/support/table.hpp"
#include "harness/tuned_table/build.hpp"
#include "harness/tuned_table/rank.hpp"
#include "harness/tuned_table/table_file.hpp"

namespace gla_bench {
namespace {

using ByProblem = std::map<Problem, std::vector<const Record*>>;

std::set<Problem> tuned_problems(const TunedTable& table) {
  std::set<Problem> list;
  for (const TunedEntry& entry : table.entries)
    for (const TunedProblem& row : entry.problems) list.insert(row.problem);
  return list;
}

/// Problems in the files' order, each once.
std::vector<Problem> in_order(std::span<const Results> files, const ByProblem& known) {
  std::vector<Problem> list;
  std::set<Problem> seen;
  for (const Results& results : files)
    for (const Record& record : results.records)
      if (known.contains(record.problem) && seen.insert(record.problem).second)
        list.push_back(record.problem);
  return list;
}

void judge_choice(EvaluatedProblem& row, const std::vector<const Record*>& records) {
  if (!row.choice.candidate) {
    row.unknown = row.choice.by.note;
    return;
  }
  const Candidate& chosen = *row.choice.candidate;
  for (const Record* record : records) {
    if (record->variant != chosen.variant->name ||
        with_later_axes(record->tile, chosen.variant->space) != chosen.tile)
      continue;
    if (may_be_compared(*record)) {
      row.chosen_ms = record->timing->cold.median_ms;
      row.regret = row.chosen_ms / row.best_ms - 1;
      return;
    }
    row.failed = is_failure(record->status);
    row.unknown = "the choice is " + std::string(name(record->status)) +
                  (record->reason.empty() ? "" : ": " + record->reason);
    return;
  }
  row.unknown = "the choice is not recorded";
}

std::string milliseconds(double value) {
  std::ostringstream text;
  text << std::setprecision(4) << value;
  return text.str();
}

std::string how_of(const EvaluatedProblem& row) {
  const ChosenBy& by = row.choice.by;
  std::string text = by.how;
  if (by.how != "default") text += ": " + by.entry;
  if (by.how == "nearest") {
    std::ostringstream far;
    far << std::setprecision(2) << by.distance;
    text += " at " + far.str();
  }
  return text;
}

}  // namespace

Limits recorded_limits(const Facts& environment) {
  if (fact_text(environment, "backend") != "cuda") return {};
  const auto arch = parse_architecture(fact_text(environment, "architecture"));
  Limits limits = arch ? limits_of(*arch) : Limits{};
  limits.multiprocessors = static_cast<int>(fact_number(environment, "multiprocessors"));
  return limits;
}

Evaluation evaluate(std::span<const Results> files, const Chooser& chooser) {
  Evaluation evaluation;
  if (files.empty()) return evaluation;
  ByProblem known;
  for (const Record* record : newest_records(files)) known[record->problem].push_back(record);
  const Limits limits = recorded_limits(files.front().environment);
  const Refusal refuse = [&](const Candidate& candidate) {
    return candidate.variant->reject(candidate.problem, candidate.tile, limits);
  };
  const bool own_device = chooser.table().device == fact_text(files.front().environment, "device");
  const std::set<Problem> tuned =
      own_device ? tuned_problems(chooser.table()) : std::set<Problem>{};
  std::vector<double> regrets;
  for (const Problem& problem : in_order(files, known)) {
    EvaluatedProblem row;
    row.problem = problem;
    row.tuned = tuned.contains(problem);
    for (const Record* record : known[problem]) {
      if (!may_win(*record)) continue;
      ++row.candidates;
      const double ms = record->timing->cold.median_ms;
      if (row.candidates > 1 && !(ms < row.best_ms)) continue;
      row.best_ms = ms;
      row.best_variant = record->variant;
      row.best_tile = record->tile;
    }
    if (row.candidates == 0) continue;
    row.choice = chooser.choose(problem, refuse);
    judge_choice(row, known[problem]);
    if (row.tuned)
      ++evaluation.tuned;
    else if (row.regret)
      regrets.push_back(*row.regret);
    else
      ++evaluation.unknown;
    evaluation.problems.push_back(std::move(row));
  }
  evaluation.judged = regrets.size();
  if (!regrets.empty()) {
    evaluation.median_regret = median(regrets);
    evaluation.worst_regret = *std::max_element(regrets.begin(), regrets.end());
  }
  return evaluation;
}

std::string evaluation_report(const Evaluation& evaluation, bool markdown, std::size_t width) {
  Table table{{{"problem"},
               {"chosen by"},
               {"choice"},
               {"ms", true},
               {"best of its records"},
               {"ms", true},
               {"of", true},
               {"regret", true}},
              {}};
  for (const EvaluatedProblem& row : evaluation.problems) {
    const auto& chosen = row.choice.candidate;
    table.rows.push_back({describe(row.problem), (row.tuned ? "tuned, " : "") + how_of(row),
                          chosen ? candidate_name(chosen->variant->name, chosen->tile) : "none",
                          row.regret ? milliseconds(row.chosen_ms) : "",
                          candidate_name(row.best_variant, row.best_tile),
                          milliseconds(row.best_ms), std::to_string(row.candidates),
                          row.regret ? format_percent(*row.regret) : row.unknown});
  }
  std::string text = markdown ? table.markdown() : table.text(width);
  text += "\n" + std::to_string(evaluation.judged) + " problems that were not tuned";
  if (evaluation.judged > 0)
    text += ": median regret " + format_percent(evaluation.median_regret) + ", worst " +
            format_percent(evaluation.worst_regret);
  if (evaluation.unknown > 0)
    text += "; " + std::to_string(evaluation.unknown) + " more whose choice has no time";
  if (evaluation.tuned > 0)
    text += "; " + std::to_string(evaluation.tuned) + " that the table was made from, not counted";
  return text + "\n";
}

}  // namespace gla_bench
