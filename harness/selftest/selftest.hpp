#pragma once
// Shows that the harness can fail. It runs the planted faults like any other candidate, and
// compares the check that caught each with the one that should have.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/records/record.hpp"
#include "harness/selftest/expected.hpp"
#include "harness/support/json.hpp"
#include "harness/support/table.hpp"

namespace gla_bench::selftest {

/// The names of the checks that caught a record's fault (checks.hpp); empty where none did. An
/// impossible time counts as caught, just as a wrong result does.
std::string caught_by(const Record& record);

/// A planted fault, or a control (`expected` empty), and its outcome.
struct Row {
  std::string name, meaning;
  std::string expected;  ///< the check that has to catch it; empty: no check may
  std::string caught_by;
  std::string reason;  ///< as given in the record
  double seconds = 0;  ///< from the end of the previous one to its record
  bool ran = false;    ///< there is a record

  /// A fault is caught by the expected check and no other. A control is measured and not suspected.
  bool ok = false;
};

/// The record of one candidate and how long it took.
struct Outcome {
  Record record;
  double seconds = 0;
};

/// A row for each that is expected, in their order, controls before what refers to them. One
/// without a record, or whose control failed, is not ok.
std::vector<Row> judge(std::span<const Expected> expected, std::span<const Outcome> outcomes);

/// True where there are rows and all of them are ok.
bool passed(std::span<const Row> rows);

/// "fault", "caught by", "expected", "seconds", "how".
Table table(std::span<const Row> rows);

/// {"backend", "ok", "faults": [{"name", "meaning", "expected", "caught_by", "seconds", "ok",
/// "reason"}, ..]}
Json to_json(BackendId backend, std::span<const Row> rows);

}  // namespace gla_bench::selftest
