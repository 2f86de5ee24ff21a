#include "harness/report/text/verified.hpp"

#include "harness/records/environment.hpp"
#include "harness/report/stale.hpp"
#include "harness/support/text.hpp"

namespace gla_bench {
namespace {

void count(const Record& record, VerifiedCounts& counts) {
  if (record.peer) {
    ++counts.peers;
    counts.peers_failed += is_failure(record.status) ? 1 : 0;
    return;
  }
  if (record.status == Status::rejected) ++counts.refused;
  if (record.status == Status::left_out) ++counts.left_out;
  if (!was_tried(record)) return;
  ++counts.tried;
  if (is_failure(record.status))
    ++counts.failed;
  else if (record.verification && record.verification->ok)
    ++counts.right;
  else
    ++counts.unjudged;
  counts.stale += is_stale(record) ? 1 : 0;
  counts.suspect += record.timing && record.timing->suspect ? 1 : 0;
  counts.throttled += record.timing && record.timing->throttled ? 1 : 0;
}

std::string number_of(std::size_t count, const std::string& one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

std::string headline(const VerifiedCounts& counts) {
  if (counts.tried == 0) return "Nothing was tried";
  if (counts.failed > 0)
    return number_of(counts.failed, "failure") + " among " + number_of(counts.tried, "candidate");
  if (counts.unjudged > 0 || counts.untried > 0)
    return std::to_string(counts.right) + " of " +
           number_of(counts.tried + counts.untried, "candidate") + " verified";
  return counts.tried == 1
             ? "The candidate is verified against float64"
             : "All " + number_of(counts.tried, "candidate") + " verified against float64";
}

}  // namespace

VerifiedCounts count_verified(std::span<const Results> files) {
  VerifiedCounts counts;
  for (const Results& results : files) {
    std::size_t settled = 0;
    for (const Record& record : results.records) {
      count(record, counts);
      settled += record.status != Status::rejected ? 1 : 0;
    }
    const double asked = fact_number(results.environment, candidates_asked);
    if (!(asked > static_cast<double>(settled))) continue;
    counts.untried += static_cast<std::size_t>(asked) - settled;
    const std::string why = fact_text(results.environment, ended_by);
    if (!why.empty()) counts.ended_by.insert(why);
  }
  return counts;
}

std::string describe(const VerifiedCounts& counts) {
  std::vector<std::string> parts{headline(counts)};
  const auto add = [&](std::size_t count, const std::string& text) {
    if (count > 0) parts.push_back(std::to_string(count) + " " + text);
  };
  if (counts.failed > 0) add(counts.right, "verified against float64");
  if (counts.untried > 0)
    parts.push_back(std::to_string(counts.untried) + " never tried" +
                    (counts.ended_by.empty()
                         ? ", the run has not come to its end"
                         : ": ended by " + join({counts.ended_by.begin(), counts.ended_by.end()})));
  add(counts.unjudged, "built or run without a verdict");
  add(counts.refused, "refused with a reason");
  add(counts.left_out, "left out by a search");
  if (counts.suspect > 0) parts.push_back(number_of(counts.suspect, "suspect time"));
  add(counts.throttled, "timed while throttled");
  add(counts.stale, "of other sources than this program's (stale)");
  if (counts.peers > 0) parts.push_back(number_of(counts.peers, "record") + " of peers");
  add(counts.peers_failed, "of those failed");
  return join(parts, " \u00b7 ");
}

std::vector<FailedRecord> failed_records(std::span<const Results> files) {
  std::vector<FailedRecord> failed;
  for (const bool peers : {false, true})
    for (const Results& results : files)
      for (const Record& record : results.records)
        if (record.peer == peers && is_failure(record.status))
          failed.push_back({&results, &record});
  return failed;
}

}  // namespace gla_bench
