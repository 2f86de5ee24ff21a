#include "harness/workers/protocol.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/config/policy.hpp"
#include "harness/records/record_json.hpp"
#include "harness/support/git_version.hpp"
#include "harness/support/printable.hpp"

namespace gla_bench {
namespace {

constexpr auto most = std::numeric_limits<std::int64_t>::max();
constexpr int most_int = std::numeric_limits<int>::max();
/// Of a worker's version and commit in a message.
constexpr std::size_t most_shown = 60;

Json candidate_to_json(const NamedCandidate& candidate) {
  return {{"variant", candidate.variant},
          {"tile", candidate.tile.empty() ? Json::object() : Json(candidate.tile)}};
}

NamedCandidate read_named(const JsonNode& node) {
  node.expect_keys({"variant", "tile"});
  NamedCandidate candidate{node.at("variant").text(), {}};
  for (const auto& [axis, value] : node.at("tile").members())
    candidate.tile[axis] = static_cast<int>(value.integer(-most_int, most_int));
  return candidate;
}

Json point_to_json(const NamedPoint& point) {
  Json json{{"problem", problem_to_json(point.problem)}, {"candidates", Json::array()}};
  for (const NamedCandidate& candidate : point.candidates)
    json["candidates"].push_back(candidate_to_json(candidate));
  return json;
}

NamedPoint read_named_point(const JsonNode& node) {
  NamedPoint point{read_problem(node.at("problem")), {}};
  for (const JsonNode& candidate : node.at("candidates").items())
    point.candidates.push_back(read_named(candidate));
  return point;
}

Json index_to_json(const std::optional<std::size_t>& index) {
  return index ? Json(*index) : Json(nullptr);
}

int read_count(const JsonNode& node) {
  return static_cast<int>(node.integer(0, most_int));
}

}  // namespace

NamedPoint named(const Problem& problem, std::span<const Candidate> candidates) {
  NamedPoint point{problem, {}};
  for (const Candidate& candidate : candidates)
    point.candidates.push_back({candidate.variant->name, candidate.tile});
  return point;
}

Json hello_message(const Hello& hello) {
  return {{"event", "hello"},
          {"protocol", hello.protocol},
          {"program_version", hello.program_version},
          {"git_commit", hello.git_commit},
          {"backend", name(hello.backend)},
          {"can_run", hello.can_run},
          {"devices", hello.devices},
          {"limits",
           {{"arch", hello.limits.arch},
            {"shared_per_block", hello.limits.shared_per_block},
            {"memory_bytes", hello.limits.memory_bytes},
            {"multiprocessors", hello.limits.multiprocessors}}},
          {"environment", facts_to_json(hello.environment)}};
}

Hello read_hello(const JsonNode& message) {
  Hello hello;
  hello.protocol = read_count(message.at("protocol"));
  hello.program_version = message.at("program_version").text();
  hello.git_commit = message.at("git_commit").text();
  if (hello.protocol != protocol_version)
    throw InputError("the worker (version " + printable(hello.program_version, most_shown) +
                     ", commit " + printable(hello.git_commit, most_shown) + ") speaks protocol " +
                     std::to_string(hello.protocol) + ", this program speaks " +
                     std::to_string(protocol_version));
  hello.backend = *parse_backend(message.at("backend").one_of({"host", "cuda"}, "a backend"));
  hello.can_run = message.at("can_run").boolean();
  hello.devices = read_count(message.at("devices"));
  const JsonNode limits = message.at("limits");
  hello.limits.arch = read_count(limits.at("arch"));
  hello.limits.shared_per_block =
      static_cast<std::size_t>(limits.at("shared_per_block").integer(0, most));
  hello.limits.memory_bytes = static_cast<std::size_t>(limits.at("memory_bytes").integer(0, most));
  hello.limits.multiprocessors = read_count(limits.at("multiprocessors"));
  hello.environment = read_facts(message.at("environment"));
  return hello;
}

Json configure_message(const WorkSettings& settings) {
  return {{"request", "configure"},
          {"measure", settings.measure},
          {"policy", policy_to_json(settings.policy)},
          {"copy_gb_per_s", number_to_json(settings.copy_gb_per_s)},
          {"last_level_cache", number_to_json(settings.last_level_cache)}};
}

WorkSettings read_settings(const JsonNode& message) {
  WorkSettings settings;
  settings.measure = message.at("measure").boolean();
  settings.policy = read_policy(message.at("policy"), "");
  settings.copy_gb_per_s = message.at("copy_gb_per_s").any_number();
  settings.last_level_cache = message.at("last_level_cache").any_number();
  return settings;
}

Json ceilings_request() {
  return {{"request", "ceilings"}};
}

Json counters_request(const CounterPolicy& policy, const std::string& config) {
  return {
      {"request", "counters"}, {"counters", counter_policy_to_json(policy)}, {"config", config}};
}

std::pair<CounterPolicy, std::string> read_counters_request(const JsonNode& message) {
  return {read_counter_policy(message.at("counters")), message.at("config").text()};
}

Json counters_message(const std::string& plan) {
  return {{"event", "counters"}, {"plan", plan}};
}

Json ceilings_message(const std::optional<Ceilings>& ceilings) {
  Json json{{"event", "ceilings"}, {"ceilings", nullptr}};
  if (ceilings)
    json["ceilings"] = {{"copy_gb_per_s", number_to_json(ceilings->copy_gb_per_s)},
                        {"matrix_tflop_per_s", number_to_json(ceilings->matrix_tflop_per_s)},
                        {"matrix", ceilings->matrix},
                        {"least_call_us", number_to_json(ceilings->least_call_us)}};
  return json;
}

std::optional<Ceilings> read_ceilings(const JsonNode& message) {
  const JsonNode node = message.at("ceilings");
  if (node.is_null()) return std::nullopt;
  return Ceilings{node.at("copy_gb_per_s").any_number(), node.at("matrix_tflop_per_s").any_number(),
                  node.at("matrix").text(), node.at("least_call_us").any_number()};
}

Json ahead_message(std::span<const NamedPoint> points) {
  Json json{{"request", "ahead"}, {"points", Json::array()}};
  for (const NamedPoint& point : points) json["points"].push_back(point_to_json(point));
  return json;
}

std::vector<NamedPoint> read_ahead(const JsonNode& message) {
  std::vector<NamedPoint> points;
  for (const JsonNode& point : message.at("points").items())
    points.push_back(read_named_point(point));
  return points;
}

Json point_message(const NamedPoint& point) {
  Json json{{"request", "point"}};
  json.update(point_to_json(point));
  return json;
}

NamedPoint read_point(const JsonNode& message) {
  return read_named_point(message);
}

Json prepare_message(const Problem& problem, const NamedCandidate& candidate) {
  Json json{{"request", "prepare"}};
  json.update(point_to_json({problem, {candidate}}));
  return json;
}

Json sample_message(const SampleRequest& request) {
  Json json{{"request", "sample"},
            {"cache", request.cache == CacheState::cold ? "cold" : "hot"},
            {"samples", request.samples},
            {"calls", request.calls}};
  if (request.held) json["held"] = candidate_to_json(*request.held);
  return json;
}

SampleRequest read_sample(const JsonNode& message) {
  SampleRequest request;
  request.cache = message.at("cache").one_of({"cold", "hot"}, "a state of the caches") == "cold"
                      ? CacheState::cold
                      : CacheState::hot;
  request.samples = static_cast<int>(message.at("samples").integer(1, 1000000));
  request.calls = static_cast<int>(message.at("calls").integer(1, 1000000));
  if (const auto held = message.find("held")) request.held = read_named(*held);
  return request;
}

Json samples_message(const Samples& samples) {
  Json json{{"event", "samples"}, {"seconds", Json::array()}, {"clock_mhz", nullptr}};
  for (const double value : samples.seconds) json["seconds"].push_back(number_to_json(value));
  if (samples.clock_mhz) json["clock_mhz"] = number_to_json(*samples.clock_mhz);
  return json;
}

Json hold_message(const NamedPoint& point) {
  Json json{{"request", "hold"}};
  json.update(point_to_json(point));
  return json;
}

Json release_message(const NamedPoint& point) {
  Json json{{"request", "release"}};
  json.update(point_to_json(point));
  return json;
}

Json check_message(const CheckRequest& request) {
  Json json{{"request", "check"}};
  if (!request.held) return json;
  json["held"] = candidate_to_json(*request.held);
  json["seconds"] = number_to_json(request.seconds);
  return json;
}

CheckRequest read_check(const JsonNode& message) {
  CheckRequest request;
  if (const auto held = message.find("held")) {
    request.held = read_named(*held);
    request.seconds = message.at("seconds").any_number();
  }
  return request;
}

Samples read_samples(const JsonNode& message) {
  Samples samples;
  for (const JsonNode& value : message.at("seconds").items())
    samples.seconds.push_back(value.any_number());
  if (const JsonNode clock = message.at("clock_mhz"); !clock.is_null())
    samples.clock_mhz = clock.any_number();
  return samples;
}

Json go_message() {
  return {{"request", "go"}};
}

Json starting_message(const StepEvent& event) {
  return {{"event", "starting"},
          {"step", name(event.step)},
          {"candidate", index_to_json(event.candidate)}};
}

StepEvent read_starting(const JsonNode& message) {
  const auto step = parse_run_step(message.at("step").text());
  if (!step) message.at("step").fail("a step");
  return {*step, read_candidate(message)};
}

Json verified_message(std::size_t candidate) {
  return {{"event", "verified"}, {"candidate", candidate}};
}

Json record_message(const std::string& event, const Record& record,
                    std::optional<std::size_t> candidate) {
  return {{"event", event},
          {"candidate", index_to_json(candidate)},
          {"record", record_to_json(record)}};
}

Json done_message() {
  return {{"event", "done"}};
}

Json error_message(bool input, const std::string& what) {
  return {{"event", "error"}, {"kind", input ? "input" : "machine"}, {"what", what}};
}

std::string message_kind(const JsonNode& message) {
  if (const auto request = message.find("request")) return request->text();
  return message.at("event").text();
}

std::optional<std::size_t> read_candidate(const JsonNode& message) {
  const auto node = message.find("candidate");
  if (!node || node->is_null()) return std::nullopt;
  return static_cast<std::size_t>(node->integer(0, most));
}

}  // namespace gla_bench
