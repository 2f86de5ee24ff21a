// A tuned table for people.

#include <cmath>
#include <iomanip>
#include <sstream>

#include "core/candidate_name.hpp"
#include "harness/support/numbers.hpp"
#include "harness/support/table.hpp"
#include "harness/tuned_table/table_file.hpp"

namespace gla_bench {
namespace {

std::string number_text(double value, int digits) {
  std::ostringstream text;
  text << std::setprecision(digits) << value;
  return text.str();
}

std::string margin_text(const TunedEntry& entry) {
  if (!entry.runner_up) return "no other";
  const TunedChoice& second = *entry.runner_up;
  if (!std::isfinite(second.ratio)) return "not timed beside it";  // they share no problem
  return format_change(second.ratio) + " (" + format_change(second.low) + " .. " +
         format_change(second.high) + ")";
}

std::string notes_of(const TunedEntry& entry) {
  std::string notes;
  const auto add = [&](const std::string& part) { notes += (notes.empty() ? "" : ", ") + part; };
  if (entry.won_by != "time") add("by " + entry.won_by);
  if (!entry.ties.empty()) add(std::to_string(entry.ties.size()) + " tied");
  if (entry.failed > 0) add(std::to_string(entry.failed) + " failed");
  if (entry.throttled > 0) add(std::to_string(entry.throttled) + " throttled");
  if (entry.stale) add("stale");
  return notes;
}

}  // namespace

std::string describe(const TunedChoice& choice) {
  return candidate_name(choice.variant, choice.tile);
}

std::string table_report(const TunedTable& table, bool markdown, std::size_t width) {
  Table text{{{"for"},
              {"bucket"},
              {"winner"},
              {"ms", true},
              {"runner-up is", true},
              {"error", true},
              {"of", true},
              {"problems", true},
              {"worst regret", true},
              {"notes"}},
             {}};
  for (const TunedEntry& entry : table.entries) {
    const TunedProblem& first = entry.problems.front();
    text.rows.push_back({family_of(entry.bucket), describe(entry.bucket), describe(entry.winner),
                         entry.problems.size() == 1 ? number_text(first.median_ms, 4) : "",
                         margin_text(entry), number_text(entry.winner.error, 2),
                         std::to_string(entry.candidates), std::to_string(entry.problems.size()),
                         format_percent(entry.worst_regret), notes_of(entry)});
  }
  return markdown ? text.markdown() : text.text(width);
}

}  // namespace gla_bench
