// What a search came to: as records, as facts, and for people.

#include <algorithm>
#include <cmath>
#include <sstream>

#include "core/candidate_name.hpp"
#include "harness/measure/checks.hpp"
#include "harness/measure/series.hpp"
#include "harness/search/tune.hpp"
#include "harness/support/numbers.hpp"
#include "harness/support/table.hpp"
#include "harness/support/text.hpp"

namespace gla_bench::search {
namespace {

std::string seconds_text(double seconds) {
  std::ostringstream text;
  text.setf(std::ios::fixed);
  text.precision(seconds < 10 ? 1 : 0);
  text << seconds << " s";
  return text.str();
}

std::optional<std::array<double, 2>> in_ms(const std::optional<Interval>& interval) {
  if (!interval) return std::nullopt;
  return std::array<double, 2>{1e3 * interval->low, 1e3 * interval->high};
}

std::string interval_text(const Interval& interval) {
  return format_ms(1e3 * interval.low) + ".." + format_ms(1e3 * interval.high) + " ms";
}

/// Why the search dropped a candidate before the end; empty where it did not.
std::string reason_of(const Finding& finding, const Record& record, const std::string& stopped) {
  const std::string best = finding.best ? interval_text(*finding.best) : "not known";
  switch (finding.left) {
    case Left::slower:
      return (finding.crowded_out ? "left the search, there were enough that were faster: "
                                  : "left the search, it is slower: ") +
             (finding.own ? interval_text(*finding.own) : "") + ", the best " + best;
    case Left::traffic:
      return "left out: its modelled " +
             format_bytes(record.io.model_read_bytes + record.io.model_write_bytes) +
             " alone take longer than the best (" + best + ")";
    case Left::unvisited:
      return "left out: the search did not come by";
    case Left::stopped:
      return (finding.samples.empty() ? "left out: " : "left the search: ") + stopped;
    case Left::searched:
    case Left::end:
    case Left::failed:
      break;
  }
  return "";
}

void add_times(Record& record, const Finding& finding, const SpeedLimit& limit) {
  Timing timing = record.timing.value_or(Timing{});
  timing.cold = summarize(finding.samples, "search");
  if (is_suspect(timing.cold.median_ms * 1e-3, limit)) {
    timing.suspect = true;
    timing.suspect_check = check::floor;
  }
  record.timing = std::move(timing);
}

}  // namespace

std::vector<Record> searched_records(const Assignment& work, std::span<const Record> measured,
                                     const Searcher& searcher, Strategy strategy,
                                     const std::string& stopped, const SpeedLimit& speed) {
  std::vector<Record> records;
  SpeedLimit limit = speed;
  limit.least_bytes = work.op->work(work.problem).least_bytes();
  for (std::size_t i = 0; i < work.accepted.size(); ++i) {
    const Finding& finding = searcher.findings()[i];
    Record record = measured[i];
    if (!was_tried(record)) record.status = Status::left_out;
    const bool right = record.status == Status::measured || record.status == Status::verified;
    if (right && !finding.samples.empty())
      add_times(record, finding, limit);
    else
      record.timing.reset();
    if (!is_failure(record.status)) record.reason = reason_of(finding, record, stopped);
    const Left left = is_failure(record.status) ? Left::failed : finding.left;
    record.search = SearchNote{std::string(name(strategy)), std::string(name(left)), finding.rounds,
                               in_ms(finding.own), in_ms(finding.best)};
    records.push_back(std::move(record));
  }
  return records;
}

Facts facts_of(const Breakdown& breakdown) {
  return {{"tune_seconds", breakdown.total},
          {"tune_wait_seconds", breakdown.wait},
          {"tune_verify_seconds", breakdown.verify},
          {"tune_measure_seconds", breakdown.measure},
          {"tune_compile_seconds_of_all_cores", breakdown.compile},
          {"tune_candidates", static_cast<double>(breakdown.candidates)},
          {"tune_candidates_per_minute", breakdown.candidates_per_minute()}};
}

std::string tune_report(const TuneEnd& end) {
  Table table;
  table.columns = {{"problem", false},
                   {"candidates", true},
                   {"tried", true},
                   {"best", false},
                   {"ms", true},
                   {"interval", false},
                   {"not to be told apart", true}};
  for (const SearchedProblem& tuned : end.problems) {
    std::vector<std::string> row{describe(tuned.problem), std::to_string(tuned.candidates),
                                 std::to_string(tuned.tried)};
    if (tuned.best) {
      const Record& best = *tuned.best;
      std::string interval;
      if (const auto& ms = best.search->interval_ms)
        interval = format_ms((*ms)[0]) + ".." + format_ms((*ms)[1]);
      row.insert(row.end(),
                 {candidate_name(best.variant, best.tile), format_ms(best.timing->cold.median_ms),
                  interval, std::to_string(tuned.ties)});
    } else {
      // A signal or a budget can end a search before its race.
      row.insert(row.end(),
                 {tuned.right > 0 ? "none is measured yet" : "none that is right", "-", "-", "-"});
    }
    table.rows.push_back(std::move(row));
  }
  const Breakdown& b = end.breakdown;
  std::ostringstream text;
  text << table.text() << b.candidates << " candidates in " << seconds_text(b.total) << ", "
       << std::lround(b.candidates_per_minute()) << " a minute: verifying "
       << seconds_text(b.verify) << ", measuring " << seconds_text(b.measure)
       << ", waiting for a compiler " << seconds_text(b.wait) << ", other "
       << seconds_text(std::max(0.0, b.total - b.verify - b.measure - b.wait))
       << "; compiling took " << seconds_text(b.compile) << " on all cores together\n";
  return text.str();
}

}  // namespace gla_bench::search
