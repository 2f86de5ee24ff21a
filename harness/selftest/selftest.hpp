#pragma once
// Shows that the harness can fail: runs the planted faults as any candidate is run and holds what
// caught each against what should have.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/records/record.hpp"
#include "harness/selftest/planted.hpp"
#include "harness/support/json.hpp"
#include "harness/support/table.hpp"

namespace gla_bench::selftest {

/// What caught a record's fault, by name (checks.hpp); empty where nothing did. A time that can not
/// be catches as well as a wrong result.
std::string caught_by(const Record& record);

/// A planted fault, or a control (`expected` empty), and what became of it.
struct Row {
  std::string name, meaning;
  std::string expected;  ///< the check that has to catch it; empty: nothing may
  std::string caught_by;
  std::string reason;  ///< as the record says it
  double seconds = 0;  ///< from the end of the one before it to its record
  bool ran = false;    ///< there is a record

  /// Caught by the expected check and no other; a control: measured and not suspected.
  bool ok = false;
};

/// The record of one candidate and how long it took.
struct Outcome {
  Record record;
  double seconds = 0;
};

/// A row for each control and then for each fault on the backend, in their order. A fault without a
/// record, or whose control failed, is not ok.
std::vector<Row> judge(BackendId backend, std::span<const Outcome> outcomes);

/// Whether there are rows and all are ok.
bool passed(std::span<const Row> rows);

/// "fault", "caught by", "expected", "seconds", "how".
Table table(std::span<const Row> rows);

/// {"backend", "ok", "faults": [{"name", "meaning", "expected", "caught_by", "seconds", "ok",
/// "reason"}, ..]}
Json to_json(BackendId backend, std::span<const Row> rows);

}  // namespace gla_bench::selftest
