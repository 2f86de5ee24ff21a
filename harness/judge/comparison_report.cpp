#include "harness/judge/comparison_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "harness/support/numbers.hpp"
#include "harness/support/table.hpp"
#include "harness/support/text.hpp"

namespace gla_bench {
namespace {

std::string milliseconds(double value) {
  if (!std::isfinite(value)) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string interval(const RatioEstimate& estimate) {
  return format_change(estimate.low) + " .. " + format_change(estimate.high);
}

bool is_quiet(const ComparedRow& row) {
  return row.outcome == Outcome::passed && row.labels.empty() &&
         (row.verdict == "same" || row.verdict == "verified");
}

std::vector<const ComparedRow*> worst_first(const Comparison& comparison) {
  std::vector<const ComparedRow*> rows;
  for (const ComparedRow& row : comparison.rows) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const ComparedRow* a, const ComparedRow* b) {
    return a->outcome > b->outcome;
  });
  return rows;
}

std::string notes_of(const ComparedRow& row) {
  std::vector<std::string> notes;
  if (!row.why.empty()) notes.push_back(row.why);
  notes.insert(notes.end(), row.labels.begin(), row.labels.end());
  return join(notes, "; ");
}

Tone tone_of(const ComparedRow& row) {
  if (row.outcome >= Outcome::regression) return Tone::bad;
  if (row.outcome == Outcome::inconclusive || is_quiet(row)) return Tone::faint;
  return row.verdict == "faster" || row.verdict == "mended" ? Tone::good : Tone::plain;
}

/// "#" is n of FILE#n, which `repeat` takes, in the new file.
Table table_of(const std::vector<const ComparedRow*>& rows) {
  Table table;
  table.columns = {{"verdict"},        {"#", true},      {"row"},
                   {"base ms", true},  {"new ms", true}, {"change", true},
                   {"interval", true}, {"n", true},      {"notes"}};
  for (const ComparedRow* row : rows) {
    std::vector<std::string> cells{row->verdict,
                                   row->fresh_place > 0 ? std::to_string(row->fresh_place) : "-",
                                   row->subject,
                                   "",
                                   "",
                                   "",
                                   "",
                                   "",
                                   notes_of(*row)};
    if (row->estimate) {
      cells[3] = milliseconds(row->base_ms);
      cells[4] = milliseconds(row->fresh_ms);
      cells[5] = std::isfinite(row->estimate->ratio) ? format_change(row->estimate->ratio) : "-";
      cells[6] = std::isfinite(row->estimate->low) ? interval(*row->estimate) : "-";
      cells[7] = std::to_string(row->estimate->count);
    }
    table.rows.push_back(std::move(cells));
    table.tones.push_back(tone_of(*row));
  }
  return table;
}

std::string method(const Comparison& comparison) {
  std::string text = comparison.paired ? "paired: rounds of both programs, interleaved"
                                       : "unpaired: two runs, one after the other";
  text += "; minimum effect " + format_change(1 + comparison.min_effect).substr(1);
  if (!comparison.paired)
    text += "; drift between the runs up to " + format_change(1 + comparison.drift).substr(1) +
            " (" + comparison.drift_evidence + ")";
  return text;
}

std::string heading(const Comparison& comparison, const std::string& bullet) {
  std::string text = bullet + "base: " + comparison.base + "\n" + bullet +
                     "new: " + comparison.fresh + "\n" + bullet + method(comparison) + "\n";
  for (const Difference& difference : comparison.differences)
    if (difference.severity != Severity::note)
      text += bullet + "differs: " + describe(difference) + "\n";
  if (comparison.accuracy_unknown > 0)
    text += bullet + std::to_string(comparison.accuracy_unknown) +
            " errors have no spread over seeds to be held against (verify --seeds)\n";
  return text;
}

std::string markdown(const Comparison& comparison, const std::vector<const ComparedRow*>& loud,
                     const std::vector<const ComparedRow*>& quiet) {
  std::string text = "### " + std::string(name(outcome_of(comparison))) + ": " +
                     comparison_counts(comparison) + "\n\n" + heading(comparison, "- ");
  if (!loud.empty()) text += "\n" + table_of(loud).markdown();
  if (!quiet.empty())
    text += "\n<details><summary>" + std::to_string(quiet.size()) +
            " rows without a change</summary>\n\n" + table_of(quiet).markdown() + "\n</details>\n";
  return text;
}

}  // namespace

std::string comparison_counts(const Comparison& comparison) {
  std::map<std::string, std::size_t> counts;
  for (const ComparedRow& row : comparison.rows) ++counts[row.verdict];
  std::vector<std::string> parts;
  for (const auto& [verdict, count] : counts)
    parts.push_back(std::to_string(count) + " " + verdict);
  return parts.empty() ? "no rows" : join(parts);
}

std::string comparison_text(const Comparison& comparison, const ComparisonStyle& style) {
  std::vector<const ComparedRow*> loud, quiet;
  for (const ComparedRow* row : worst_first(comparison))
    (is_quiet(*row) ? quiet : loud).push_back(row);
  if (style.markdown) return markdown(comparison, loud, quiet);
  if (style.all) loud.insert(loud.end(), quiet.begin(), quiet.end());
  std::string text = heading(comparison, "");
  if (!loud.empty()) text += "\n" + table_of(loud).text(style.width, style.colour);
  return text + "\n" + std::to_string(comparison.rows.size()) +
         " rows: " + comparison_counts(comparison) + "\n";
}

std::vector<Verdict> comparison_verdicts(const Comparison& comparison) {
  std::vector<Verdict> verdicts;
  for (const ComparedRow& row : comparison.rows) {
    Verdict verdict;
    verdict.file = comparison.fresh;
    verdict.subject = row.subject;
    std::string text = row.verdict;
    if (row.estimate && std::isfinite(row.estimate->low))
      text += " " + format_change(row.estimate->ratio) + " (" + interval(*row.estimate) + ")";
    const std::string notes = notes_of(row);
    if (!notes.empty()) text += ": " + notes;
    (row.outcome == Outcome::passed ? verdict.warnings : verdict.failures).push_back(text);
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

}  // namespace gla_bench
