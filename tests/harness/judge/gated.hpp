#pragma once
// Records and configs for the gate, right until a test changes them.

#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/judge/gate.hpp"
#include "tests/support/toy.hpp"

namespace gla_bench::gated {

inline const double nan_value = std::numeric_limits<double>::quiet_NaN();

inline GatePolicy policy() {
  return {toy::catalog(), default_tolerance(), false,
          [](const Variant& variant) { return "hash of " + variant.name; }};
}

inline Record good(const std::string& variant = "slow") {
  Record record;
  record.problem = toy::problem();
  record.variant = variant;
  if (variant == "fast") record.tile = {{"chunk", 16}};
  record.status = Status::measured;
  record.source_hash = "hash of " + variant;
  record.io = {100, 100, 100, 0};
  Verification verification;
  verification.ok = true;
  verification.reference = "host";
  verification.deterministic = true;
  verification.last_timed_ok = true;
  verification.tensors["o"] = {1e-7, 1e-6, 2e-7, 1e-6, 4e-6, 1e-5, 1e-7, {}, true};
  record.verification = verification;
  Timing timing;
  timing.cold.samples_ms = {1, 2, 3};
  timing.cold.median_ms = 2;
  timing.cold.min_ms = 1;
  timing.cold.p20_ms = 1.4;
  timing.cold.p80_ms = 2.6;
  timing.cold.stopped_because = "noise";
  timing.hot = timing.cold;
  record.timing = timing;
  return record;
}

inline Results file(std::vector<Record> records, const std::string& variants = R"(["slow"])",
                    const std::string& more = "") {
  Results results;
  results.file = "r.json";
  results.environment["backend"] = std::string("host");
  results.config = std::make_shared<const Json>(parse_json(
      R"({"sweeps": [{"operator": "toy", "dtypes": ["float32"], "shapes": [[1, 8, 2, 4, 4]],
          "variants": )" +
          variants + more + "}]}",
      "c"));
  results.records = std::move(records);
  return results;
}

inline std::vector<Verdict> judge(const Results& results, const GatePolicy& by = policy()) {
  return gate(std::span(&results, 1), by);
}

inline std::string failures(const std::vector<Verdict>& verdicts) {
  std::string text;
  for (const Verdict& verdict : verdicts)
    for (const std::string& failure : verdict.failures)
      text += verdict.subject + ": " + failure + "\n";
  return text;
}

}  // namespace gla_bench::gated
