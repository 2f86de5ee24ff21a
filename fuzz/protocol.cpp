// Messages between a run and its workers, in either direction: what is taken is the same when it is
// written and read again.

#include "harness/workers/protocol.hpp"

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "fuzz/target.hpp"
#include "harness/records/record_json.hpp"

namespace gla_bench {
namespace {

/// The message as this program would write what it read of it. @throws InputError
using Rewrite = std::function<Json(const JsonNode&)>;

Json rewrite_record(const JsonNode& message, const std::string& kind) {
  return record_message(kind, read_record(message.at("record")), read_candidate(message));
}

const std::map<std::string, Rewrite>& rewrites() {
  static const std::map<std::string, Rewrite> map{
      {"hello", [](const JsonNode& m) { return hello_message(read_hello(m)); }},
      {"configure", [](const JsonNode& m) { return configure_message(read_settings(m)); }},
      {"counters",
       [](const JsonNode& m) {
         if (m.find("plan")) return counters_message(m.at("plan").text());
         const auto [policy, config] = read_counters_request(m);
         return counters_request(policy, config);
       }},
      {"ceilings",
       [](const JsonNode& m) {
         return m.find("request") ? ceilings_request() : ceilings_message(read_ceilings(m));
       }},
      {"ahead", [](const JsonNode& m) { return ahead_message(read_ahead(m)); }},
      {"point", [](const JsonNode& m) { return point_message(read_point(m)); }},
      {"hold", [](const JsonNode& m) { return hold_message(read_point(m)); }},
      {"release", [](const JsonNode& m) { return release_message(read_point(m)); }},
      {"prepare",
       [](const JsonNode& m) {
         const NamedPoint point = read_point(m);
         if (point.candidates.empty()) m.at("candidates").fail("a candidate");
         return prepare_message(point.problem, point.candidates.front());
       }},
      {"sample", [](const JsonNode& m) { return sample_message(read_sample(m)); }},
      {"samples", [](const JsonNode& m) { return samples_message(read_samples(m)); }},
      {"check", [](const JsonNode& m) { return check_message(read_check(m)); }},
      {"starting", [](const JsonNode& m) { return starting_message(read_starting(m)); }},
      {"go", [](const JsonNode&) { return go_message(); }},
      {"done", [](const JsonNode&) { return done_message(); }},
      {"verified",
       [](const JsonNode& m) { return verified_message(read_candidate(m).value_or(0)); }},
      {"error", [](const JsonNode& m) {
         return error_message(m.at("kind").text() == "input", m.at("what").text());
       }}};
  return map;
}

Json rewrite(const JsonNode& message) {
  const std::string kind = message_kind(message);
  for (const char* event : {"record", "timed", "crashed", "prepared", "held", "checked", "failed"})
    if (kind == event) return rewrite_record(message, kind);
  const auto found = rewrites().find(kind);
  if (found == rewrites().end()) message.fail("a message of the protocol");
  return found->second(message);
}

}  // namespace
}  // namespace gla_bench

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gla_bench;
  Json first;
  const auto read = [&] {
    const Json document = parse_json(fuzz::text_of(data, size), "worker");
    first = rewrite(JsonNode(document, "worker"));
  };
  if (!fuzz::takes("worker", read)) return 0;
  fuzz::expect_same(first.dump(), rewrite(JsonNode(first, "again")).dump(),
                    "written and read again it differs");
  return 0;
}
