#include "harness/report/text/report.hpp"

#include <algorithm>

#include "harness/judge/comparison_report.hpp"
#include "harness/judge/shares.hpp"
#include "harness/records/contest.hpp"
#include "harness/records/selection.hpp"
#include "harness/report/text/problem.hpp"
#include "harness/report/text/section_parts.hpp"
#include "harness/report/text/sections.hpp"
#include "harness/report/text/verified.hpp"
#include "harness/support/numbers.hpp"
#include "harness/support/printable.hpp"

namespace gla_bench {
namespace {

std::string clean(const std::string& text) {
  return printable(text, text.size());
}

std::string origin_of(const Results& results) {
  std::string text = results.file + ": " + fact_text(results.environment, "device");
  for (const std::string_view key : {"driver", "toolkit", "peer", "git_commit", "started"})
    if (const std::string fact = fact_text(results.environment, key); !fact.empty())
      text += ", " + std::string(key) + " " + fact;
  if (const double copy = fact_number(results.environment, "copy_gb_per_s"); copy > 0)
    text += ", floor at the measured copy rate of " + format_rate(copy) + " GB/s";
  for (const Extension& extension : results.extended)
    text += ", " + describe(extension);
  if (results.unfinished) text += " (" + describe(*results.unfinished, results.file) + ")";
  return text;
}

std::string text_of(const ProblemTables& problem, const ReportStyle& style) {
  std::string text = toned(clean(problem.title), Tone::strong, style.colour) + "\n";
  for (const Table& table : problem.tables)
    if (!table.rows.empty()) text += table.text(style.width, style.colour);
  for (const std::string& refusal : problem.refusals)
    text += toned(clean(refusal), Tone::faint, style.colour) + "\n";
  return text + "\n";
}

std::string markdown_of(const ProblemTables& problem) {
  std::string text = "#### " + markdown_text(problem.title) + "\n\n";
  for (const Table& table : problem.tables)
    if (!table.rows.empty()) text += table.markdown() + "\n";
  for (const std::string& refusal : problem.refusals) text += "- " + markdown_text(refusal) + "\n";
  return text + (problem.refusals.empty() ? "" : "\n");
}

/// The problems of each group folded under its name.
std::string records_section(const std::vector<ProblemTables>& problems) {
  std::string text = section_head("Records", "Each variant's best tile on each problem.");
  for (std::size_t i = 0; i < problems.size();) {
    std::string inside;
    std::size_t end = i;
    for (; end < problems.size() && problems[end].group == problems[i].group; ++end)
      inside += markdown_of(problems[end]);
    text += "<details><summary>" + markdown_text(problems[i].group) + ": " +
            counted(end - i, "problem") + "</summary>\n\n" + inside + "</details>\n\n";
    i = end;
  }
  return text;
}

std::string markdown_report(std::span<const Results> files, const Comparison* comparison) {
  std::string text = "# gla-bench report\n\n" + machine_section(files) + verified_section(files);
  const auto contests = contests_of(files);
  if (!contests.empty())
    text += winners_section(contests) + maps_part(files) + why_section(contests) +
            costs_section(contests) + peers_section(contests);
  auto problems = problem_tables(files);
  std::stable_sort(
      problems.begin(), problems.end(),
      [](const ProblemTables& a, const ProblemTables& b) { return a.group < b.group; });
  text += problems.empty() ? "No records.\n" : records_section(problems);
  if (comparison != nullptr)
    text += section_head("Comparison", "What changed between two runs?") +
            comparison_text(*comparison, {.markdown = true});
  return text;
}

}  // namespace

std::string failures(std::span<const Results> files, const ReportStyle& style) {
  std::string text;
  for (const FailedRecord& failed : failed_records(files)) {
    text += "  " + toned(clean(describe(*failed.record)), Tone::bad, style.colour) + "\n";
    if (!measured_elsewhere(*failed.record)) text += "  " + repeat_command(*failed.record) + "\n";
  }
  return text.empty() ? "" : toned("Failures", Tone::strong, style.colour) + "\n" + text + "\n";
}

std::string report(std::span<const Results> files, const ReportStyle& style,
                   const Comparison* comparison) {
  if (style.markdown) return markdown_report(files, comparison);
  std::string text;
  for (const Results& results : files) text += "  " + clean(origin_of(results)) + "\n";
  const VerifiedCounts counts = count_verified(files);
  text += "  " +
          toned(describe(counts), counts.failed > 0 ? Tone::bad : Tone::plain, style.colour) + "\n";
  for (const Share& share : refusing_shares(files))
    text += "  " + toned(clean(sentence(share)), Tone::faint, style.colour) + "\n";
  text += "\n" + failures(files, style);
  const auto problems = problem_tables(files);
  if (problems.empty()) text += "no records\n";
  for (const ProblemTables& problem : problems) text += text_of(problem, style);
  if (comparison != nullptr)
    text += comparison_text(*comparison, {.width = style.width, .colour = style.colour});
  return text;
}

}  // namespace gla_bench
