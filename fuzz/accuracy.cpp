// Baselines of errors; what is taken is the same when written and read again.

#include "harness/judge/accuracy/accuracy.hpp"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "fuzz/target.hpp"
#include "harness/judge/accuracy/accuracy_gate.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gla_bench;
  AccuracyBaseline baseline;
  const auto read = [&] {
    const Json document = parse_json(fuzz::text_of(data, size), "input");
    baseline = read_accuracy(JsonNode(document, "input"));
  };
  if (!fuzz::takes("input", read)) return 0;
  const Json written = accuracy_to_json(baseline);
  const AccuracyBaseline again = read_accuracy(JsonNode(written, "written"));
  fuzz::expect_same(written.dump(), accuracy_to_json(again).dump(),
                    "written and read again it differs");
  // Without records all of it is missing.
  if (!baseline.empty() && passed(accuracy_verdicts({}, baseline))) std::abort();
  return 0;
}
