// gla-bench plan: what would run, without running it.

#include <iomanip>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "core/candidate_name.hpp"
#include "harness/backends/sources/prologue.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/shared/auto_choice.hpp"
#include "harness/commands/shared/drawn_table.hpp"
#include "harness/config/sweep.hpp"
#include "harness/engine/duration.hpp"
#include "harness/measure/readings.hpp"
#include "harness/records/environment.hpp"
#include "harness/support/numbers.hpp"
#include "harness/support/progress.hpp"
#include "harness/support/table.hpp"
#include "harness/support/text.hpp"

namespace gla_bench::commands {
namespace {

struct Largest {
  double bytes = -1;
  std::string where = "-";

  void take(double candidate, const std::string& name) {
    if (candidate > bytes) {
      bytes = candidate;
      where = name;
    }
  }
};

struct VariantTotals {
  std::size_t candidates = 0;
  std::set<std::string> compile_jobs;
};

struct Totals {
  std::size_t candidates = 0, narrowed = 0, refused = 0;
  std::map<std::string, VariantTotals> by_variant;
  /// The key is the reason without its numbers. The value has the reason as it read the first time.
  std::map<std::string, std::pair<std::size_t, std::string>> by_reason;
  std::vector<std::string> too_large;
  std::set<std::string> compile_jobs;
  Largest device, host;
};

void count(const Assignment& work, BackendId backend, Totals& totals) {
  const std::string problem = describe(work.problem);
  totals.candidates += work.accepted.size();
  totals.narrowed += work.narrowed;
  for (const Record& record : work.refused) {
    const bool size = record.reason.starts_with("does not fit");
    if (size) totals.too_large.push_back(describe(record));
    auto& [number, example] =
        totals.by_reason[record.variant + ": " + (size ? "" : without_digits(record.reason))];
    if (number == 0) example = record.variant + ": " + (size ? "does not fit" : record.reason);
    totals.refused += static_cast<std::size_t>(record.refused_tiles);
    number += static_cast<std::size_t>(record.refused_tiles);
  }
  if (work.accepted.empty()) return;
  const MemoryNeed need = memory_need(*work.op, work.problem);
  totals.host.take(need.host + (backend == BackendId::host ? need.tensors : 0), problem);
  for (const Candidate& candidate : work.accepted) {
    VariantTotals& of_variant = totals.by_variant[candidate.variant->name];
    ++of_variant.candidates;
    totals.device.take(need.tensors + static_cast<double>(workspace_bytes(candidate)),
                       candidate.variant->name + " on " + problem);
    if (backend == BackendId::cuda)
      for (const Unit& unit : units_of(candidate)) {
        totals.compile_jobs.insert(unit.text);
        of_variant.compile_jobs.insert(unit.text);
      }
  }
}

void print_counts(const std::string& title, const std::map<std::string, std::size_t>& counts) {
  if (counts.empty()) return;
  Table table{{{"count", true}, {title, false}}, {}};
  for (const auto& [what, number] : counts) table.rows.push_back({std::to_string(number), what});
  std::cout << "\n" << table.text();
}

/// With compile jobs where there are any: candidates of one kernel share a job.
void print_variants(const Totals& totals) {
  if (totals.by_variant.empty()) return;
  const bool compiled = !totals.compile_jobs.empty();
  Table table{{{"count", true}}, {}};
  if (compiled) table.columns.push_back({"compile jobs", true});
  table.columns.push_back({"candidates of", false});
  for (const auto& [variant, of] : totals.by_variant) {
    std::vector<std::string> row{std::to_string(of.candidates)};
    if (compiled) row.push_back(std::to_string(of.compile_jobs.size()));
    row.push_back(variant);
    table.rows.push_back(std::move(row));
  }
  std::cout << "\n" << table.text();
}

/// What `auto` stands for, problem by problem.
void print_choices(const std::vector<Assignment>& work) {
  Table table{{{"auto on"}, {"is"}, {"by"}, {"distance", true}, {"predicted ms", true}, {"note"}},
              {}};
  for (const Assignment& point : work)
    for (const auto& [candidate, by] : point.chosen) {
      std::ostringstream distance;
      distance << std::setprecision(3) << by.distance;
      table.rows.push_back({describe(point.problem),
                            candidate_name(candidate.first, candidate.second),
                            by.how + (by.entry.empty() ? "" : ": " + by.entry),
                            by.entry.empty() ? "" : distance.str(),
                            by.predicted_ms > 0 ? format_ms(by.predicted_ms) : "", by.note});
    }
  if (!table.rows.empty()) std::cout << "\n" << table.text();
}

void plan(const std::string& path, const BackendOptions& options,
          const CandidateOptions& candidates, const AutoOptions& choice) {
  const Config config = load_config(path, candidates.catalog());
  const Catalog& catalog = config.catalog;
  const auto backend = open_backend(options, config.backend);
  const Place place = place_of(*backend, options);
  const auto chooser =
      open_chooser(config, choice, catalog, place, make_environment(*backend, "", std::nullopt));
  std::vector<CoveredTiles> covered;
  const auto work = assignments(config, catalog, place, pointer_to(chooser), &covered);
  const std::string counters = plan_counters(config.policy.counters, *backend, path);
  Totals totals;
  for (const Assignment& point : work) count(point, place.backend, totals);
  const SweepSeconds time =
      sweep_seconds(work, {place.backend, true, config.policy.timing, WorkRates{},
                           totals.compile_jobs.size(), std::thread::hardware_concurrency(), 1});
  std::cout << path << (config.description.empty() ? "" : ": " + config.description) << "\n"
            << "backend         " << where(*backend)
            << (backend->can_run() ? "" : ", which cannot run here: candidates end as `built`")
            << "\nproblems        " << work.size() << "\ncandidates      " << totals.candidates
            << "\nrejected        " << totals.refused << "\nnarrowed away   " << totals.narrowed
            << "\ncompile jobs    " << totals.compile_jobs.size() << "\ncounters        "
            << counters << "\ntime            about " << format_duration(time.likely)
            << ", at most " << format_duration(time.longest) << ": each candidate is timed for "
            << config.policy.timing.min_seconds << " to " << config.policy.timing.max_seconds
            << " s" << (config.policy.timing.hot ? ", cold and hot" : "")
            << " (policy.timing); run --max-seconds N ends sooner\n";
  if (totals.device.bytes >= 0)
    std::cout << "tensors         at most " << format_bytes(totals.device.bytes) << " ("
              << totals.device.where << ")\nhost memory     at most "
              << format_bytes(totals.host.bytes) << " (" << totals.host.where << ")\n";
  if (place.limits.memory_bytes > 0)
    std::cout << "memory there    " << format_bytes(static_cast<double>(place.limits.memory_bytes))
              << " for tensors, " << format_bytes(place.host_memory) << " free on the host\n";
  for (const std::string& table : {drawn_table(config), covered_tiles_table(config, covered)})
    if (!table.empty()) std::cout << "\n" << table;
  print_variants(totals);
  std::map<std::string, std::size_t> reasons;
  for (const auto& [key, entry] : totals.by_reason) reasons[entry.second] += entry.first;
  print_counts("rejected because (numbers of the first)", reasons);
  print_choices(work);
  if (!totals.too_large.empty()) std::cout << "\ntoo large:\n";
  for (const std::string& text : totals.too_large) std::cout << "  " << text << "\n";
}

}  // namespace

void add_plan(CLI::App& program, Context&) {
  struct Options {
    std::string config;
    BackendOptions backend;
    CandidateOptions candidates;
    AutoOptions choice;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand(
      "plan",
      "What a config would run: problems, candidates, refusals by reason, compile jobs, counters, "
      "memory");
  command->add_option("config", options->config, "the config")->required();
  options->backend.add_to(*command);
  options->candidates.add_to(*command);
  options->choice.add_to(*command);
  command->footer(
      "Examples:\n  gla-bench plan configs/h200/gla.json\n"
      "  gla-bench plan configs/ci.json --backend cuda");
  command->callback(
      [options] { plan(options->config, options->backend, options->candidates, options->choice); });
}

}  // namespace gla_bench::commands
