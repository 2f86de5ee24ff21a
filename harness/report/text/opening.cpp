// Parts of a markdown report that are made of whole files: the machine, whether everything is
// right, the maps.

#include "harness/judge/shares.hpp"
#include "harness/records/selection.hpp"
#include "harness/report/maps/crossover_text.hpp"
#include "harness/report/text/section_parts.hpp"
#include "harness/report/text/sections.hpp"
#include "harness/report/text/verified.hpp"
#include "harness/support/numbers.hpp"

namespace gla_bench {
namespace {

std::string fact_or_dash(const Facts& environment, std::string_view key) {
  const std::string text = fact_text(environment, key);
  return text.empty() ? "-" : text;
}

std::string rate_of(const Facts& environment, std::string_view key) {
  const double value = fact_number(environment, key);
  return value > 0 ? format_rate(value) : "-";
}

std::vector<std::string> notes_of(const Results& results) {
  std::vector<std::string> notes;
  if (const std::string peer = fact_text(results.environment, "peer"); !peer.empty())
    notes.push_back("peers: " + peer);
  for (const Extension& extension : results.extended)
    notes.push_back(describe(extension));
  if (results.unfinished) notes.push_back(describe(*results.unfinished, results.file));
  return notes;
}

/// Lists all candidates, one after the other, since none may be overlooked.
std::string failure_list(std::span<const Results> files) {
  std::string text;
  for (const FailedRecord& failed : failed_records(files)) {
    text += "- " + markdown_text(describe(*failed.record)) +
            (failed.record->peer ? " (a peer)" : "") + "\n";
    if (!measured_elsewhere(*failed.record))
      text += "  " + markdown_code(repeat_command(*failed.record)) + "\n";
  }
  return text.empty() ? "" : text + "\n";
}

/// What variants refused, which is no failure.
std::string shares_part(std::span<const Results> files) {
  Table table{{{"variant"}, {"took", true}, {"of problems", true}, {"share", true}}, {}};
  for (const Share& share : refusing_shares(files))
    table.rows.push_back({describe(share), std::to_string(share.taken),
                          std::to_string(share.problems), format_percent(share.value())});
  if (table.rows.empty()) return "";
  return "<details><summary>What was refused: " +
         counted(table.rows.size(), "variant that did not take all") + "</summary>\n\n" +
         table.markdown() + "\n</details>\n\n";
}

}  // namespace

std::string maps_part(std::span<const Results> files) {
  const ContestPolicy policy;
  auto maps = crossover_maps(files, policy);
  std::erase_if(maps, [](const CrossoverMap& map) { return map.cells.size() < 2; });
  if (maps.empty()) return "";
  return "<details><summary>Where the winner changes: " + counted(maps.size(), "cross-over map") +
         "</summary>\n\n" + crossover_text(maps, policy, {.markdown = true}) + "\n</details>\n\n";
}

std::string machine_section(std::span<const Results> files) {
  Table table{{{"file"},
               {"records", true},
               {"device"},
               {"driver"},
               {"toolkit"},
               {"commit"},
               {"started"},
               {"copy GB/s", true},
               {"products TFLOP/s", true}},
              {}};
  std::string notes;
  for (const Results& results : files) {
    const Facts& environment = results.environment;
    const std::string commit = fact_or_dash(environment, "git_commit");
    table.rows.push_back(
        {results.file, std::to_string(results.records.size()), fact_or_dash(environment, "device"),
         fact_or_dash(environment, "driver"), fact_or_dash(environment, "toolkit"),
         commit.substr(0, 10), fact_or_dash(environment, "started"),
         rate_of(environment, "copy_gb_per_s"), rate_of(environment, "matrix_tflop_per_s")});
    for (const std::string& note : notes_of(results))
      notes += "- " + markdown_text(results.file + ": " + note) + "\n";
  }
  return section_head("Machine", "What was measured, and on what?") +
         foldable(table, counted(files.size(), "results file")) +
         (notes.empty() ? "" : notes + "\n");
}

std::string verified_section(std::span<const Results> files) {
  return section_head("Verified", "Is every result right?") + "**" +
         describe(count_verified(files)) + "**\n\n" + failure_list(files) + shares_part(files);
}

}  // namespace gla_bench
