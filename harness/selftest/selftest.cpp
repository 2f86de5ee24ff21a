#include "harness/selftest/selftest.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "harness/measure/checks.hpp"

namespace gla_bench::selftest {
namespace {

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", seconds);
  return text;
}

bool speaks_of_memory(const std::string& reason) {
  constexpr std::array words{"out of memory", "out of host memory", "no host memory",
                             "cudaErrorMemoryAllocation"};
  return std::any_of(words.begin(), words.end(),
                     [&](const char* text) { return reason.find(text) != std::string::npos; });
}

Row row_of(const Expected& expected, std::span<const Outcome> outcomes) {
  Row row;
  row.name = expected.name;
  row.meaning = expected.meaning;
  row.expected = expected.check;
  const auto found = std::find_if(outcomes.begin(), outcomes.end(), [&](const Outcome& outcome) {
    return outcome.record.variant == expected.name;
  });
  if (found == outcomes.end()) {
    row.reason = "it has no record";
    return row;
  }
  row.ran = true;
  row.seconds = found->seconds;
  row.caught_by = caught_by(found->record);
  row.reason = found->record.reason;
  const bool finished = !row.expected.empty() || found->record.status == Status::measured;
  row.ok = finished && row.caught_by == row.expected;
  return row;
}

}  // namespace

std::string caught_by(const Record& record) {
  switch (record.status) {
    case Status::wrong:
      return record.verification ? record.verification->check : "";
    case Status::crashed:
      return std::string(speaks_of_memory(record.reason) ? check::memory : check::crash);
    case Status::timeout:
      return std::string(check::timeout);
    case Status::build_failed:
      return std::string(check::build);
    case Status::run_failed:
      return std::string(speaks_of_memory(record.reason) ? check::memory : check::run);
    default:
      return record.timing && record.timing->suspect ? record.timing->suspect_check : "";
  }
}

std::vector<Row> judge(std::span<const Expected> expected, std::span<const Outcome> outcomes) {
  std::vector<Row> rows;
  for (const Expected& each : expected) {
    Row row = row_of(each, outcomes);
    const auto control = std::find_if(rows.begin(), rows.end(),
                                      [&](const Row& r) { return r.name == each.control; });
    // What its control does not stand for was caught by accident, perhaps.
    if (!each.control.empty() && (control == rows.end() || !control->ok)) row.ok = false;
    rows.push_back(std::move(row));
  }
  return rows;
}

bool passed(std::span<const Row> rows) {
  return !rows.empty() && std::all_of(rows.begin(), rows.end(), [](const Row& r) { return r.ok; });
}

Table table(std::span<const Row> rows) {
  Table table{
      {{"fault"}, {"caught by"}, {"seconds", true}, {""}, {"what it does, and how it was seen"}},
      {}};
  for (const Row& row : rows) {
    std::string verdict = row.ok ? "ok" : "FAILED";
    if (!row.ok && row.caught_by != row.expected)
      verdict += ", expected " + (row.expected.empty() ? "nothing" : row.expected);
    const std::string caught = !row.ran                ? "did not run"
                               : row.caught_by.empty() ? "nothing"
                                                       : row.caught_by;
    table.rows.push_back({row.name, caught, seconds_text(row.seconds), verdict,
                          row.meaning + (row.reason.empty() ? "" : ": " + row.reason)});
  }
  return table;
}

Json to_json(BackendId backend, std::span<const Row> rows) {
  Json list = Json::array();
  for (const Row& row : rows)
    list.push_back({{"name", row.name},
                    {"meaning", row.meaning},
                    {"expected", row.expected},
                    {"caught_by", row.caught_by},
                    {"seconds", number_to_json(row.seconds)},
                    {"ok", row.ok},
                    {"reason", row.reason}});
  return {{"backend", name(backend)}, {"ok", passed(rows)}, {"faults", std::move(list)}};
}

}  // namespace gla_bench::selftest
