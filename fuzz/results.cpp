// Results files, alone: what is read is judged and reported, and each record reads the
// same when it is written again. What is of a shard can be merged, or says why not.

#include <nlohmann/json.hpp>

#include "fuzz/memory_file.hpp"
#include "fuzz/target.hpp"
#include "harness/judge/gate.hpp"
#include "harness/judge/merge/merge.hpp"
#include "harness/records/record_json.hpp"
#include "harness/report/text/report.hpp"

namespace gla_bench {
namespace {

GatePolicy policy() {
  GatePolicy policy;
  policy.catalog = program_catalog();
  policy.tolerance.worst_chunk = policy.tolerance.max_abs = 4;
  for (const Arithmetic arithmetic :
       {Arithmetic::float32, Arithmetic::tf32, Arithmetic::float16, Arithmetic::bfloat16})
    policy.tolerance.arithmetic[arithmetic] = {4e-3, 2, 3, 3, 1, 1};
  policy.source_hash = [](const Variant&) { return std::string("0123456789abcdef"); };
  policy.verifier_hash = [](BackendId, const std::string&) {
    return std::string("0123456789abcdef-unknown");
  };
  return policy;
}

}  // namespace
}  // namespace gla_bench

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gla_bench;
  static const GatePolicy judged_by = policy();
  static fuzz::MemoryFile file;
  file.write(fuzz::text_of(data, size));
  Results results;
  if (!fuzz::takes(file.path(), [&] { results = read_results(file.path()); })) return 0;
  for (const Record& record : results.records) {
    const std::string text = record_to_json(record).dump();
    const Json document = parse_json(text, "again");
    const Record again = read_record(JsonNode(document, "again"));
    fuzz::expect_same(text, record_to_json(again).dump(), "written and read again it differs");
  }
  junit_xml(gate(std::span(&results, 1), judged_by));
  for (const bool markdown : {false, true})
    fuzz::takes("", [&] { report(std::span(&results, 1), {.markdown = markdown}); });
  fuzz::takes("", [&] { merge({shard_part(results)}); });
  return 0;
}
