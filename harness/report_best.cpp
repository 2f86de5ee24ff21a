#include "harness/report_best.hpp"

#include <array>
#include <cstdio>
#include <map>

#include "harness/assignment.hpp"
#include "harness/environment.hpp"
#include "harness/tuned/rank.hpp"

namespace gla_bench {
namespace {

std::string text_of(const char* format, double value) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

/// The fastest records of one problem on one device.
struct Contest {
  std::map<std::string, const Record*> of_variant;  ///< ours, that may win
  const Record* peer = nullptr;
  double copy_gb_per_s = 0;
};

double cold(const Record& record) {
  return record.timing->cold.median_ms;
}

void take(const Record& record, Contest& contest) {
  if (record.peer) {
    const bool right = record.verification && record.verification->ok && record.timing &&
                       !record.timing->suspect && !is_failure(record.status);
    if (right && (contest.peer == nullptr || cold(record) < cold(*contest.peer)))
      contest.peer = &record;
    return;
  }
  if (!may_win(record)) return;
  const Record*& best = contest.of_variant[record.variant];
  if (best == nullptr || cold(record) < cold(*best)) best = &record;
}

/// What it is of, and the rest: describe() in two columns.
std::array<std::string, 2> halves_of(const Problem& problem) {
  const std::string text = describe(problem);
  const std::string first = problem.op + " " + std::string(name(problem.direction)) + " " +
                            std::string(name(problem.dtype));
  if (!text.starts_with(first + " ")) return {text, ""};
  return {first, text.substr(first.size() + 1)};
}

std::vector<std::string> line_of(const Problem& problem, const Contest& contest) {
  const auto [operation, extents] = halves_of(problem);
  const Record *first = nullptr, *second = nullptr;
  for (const auto& [variant, record] : contest.of_variant) {
    if (first == nullptr || cold(*record) < cold(*first)) {
      second = first;
      first = record;
    } else if (second == nullptr || cold(*record) < cold(*second)) {
      second = record;
    }
  }
  if (first == nullptr) return {operation, extents, "nothing right was timed", "", "", "", "", ""};
  const auto against = [&](const Record* other) {
    return other == nullptr ? std::string("-")
                            : other->variant + " " + text_of("%.2fx", cold(*other) / cold(*first));
  };
  const double floor_ms =
      contest.copy_gb_per_s > 0 ? first->io.floor_bytes / (contest.copy_gb_per_s * 1e6) : 0;
  return {operation,
          extents,
          first->variant,
          first->tile.empty() ? "-" : describe(first->tile),
          text_of("%.4g", cold(*first)),
          floor_ms > 0 ? text_of("%.0f %%", 100 * floor_ms / cold(*first)) : "-",
          against(second),
          against(contest.peer)};
}

}  // namespace

Table best_table(std::span<const Results> files) {
  std::map<std::pair<Problem, std::string>, Contest> contests;
  for (const Results& results : files)
    for (const Record& record : results.records) {
      Contest& contest = contests[{record.problem, fact_text(results.environment, "device")}];
      take(record, contest);
      if (!record.peer) contest.copy_gb_per_s = fact_number(results.environment, "copy_gb_per_s");
    }
  Table table;
  table.columns = {{"operator", false}, {"problem", false}, {"fastest", false}, {"tile", false},
                   {"ms", true},        {"of floor", true}, {"next", false},    {"peer", false}};
  for (const auto& [key, contest] : contests) table.rows.push_back(line_of(key.first, contest));
  return table;
}

}  // namespace gla_bench
