#include "harness/records/measured_json.hpp"

#include <limits>
#include <nlohmann/json.hpp>

namespace gla_bench {
namespace {

Json or_null(const std::optional<double>& value) {
  return value ? number_to_json(*value) : Json(nullptr);
}

/// A member that may be null or missing.
std::optional<JsonNode> present(const JsonNode& node, std::string_view key) {
  auto member = node.find(key);
  if (member && member->is_null()) return std::nullopt;
  return member;
}

std::optional<double> number_if_there(const JsonNode& node, std::string_view key) {
  const auto member = present(node, key);
  return member ? std::optional(member->any_number()) : std::nullopt;
}

}  // namespace

Json reading_to_json(const CounterReading& reading) {
  Json json{{"source", name(reading.source)}, {"reason", reading.reason}};
  if (reading.source != CounterSource::cupti) return json;
  json["dram_read_bytes"] = or_null(reading.dram_read_bytes);
  json["dram_write_bytes"] = or_null(reading.dram_write_bytes);
  json["written_back_bytes"] = or_null(reading.written_back_bytes);
  json["l2_bytes"] = or_null(reading.l2_bytes);
  json["passes"] = reading.passes;
  json["metrics"] = Json::object();
  for (const auto& [metric, value] : reading.metrics)
    json["metrics"][metric] = number_to_json(value);
  return json;
}

Json energy_to_json(const Energy& energy) {
  if (!energy.joules_per_call) return {{"joules_per_call", nullptr}, {"reason", energy.reason}};
  return {{"joules_per_call", number_to_json(*energy.joules_per_call)},
          {"watts", number_to_json(energy.watts)},
          {"window_seconds", number_to_json(energy.window_seconds)},
          {"calls", energy.calls},
          {"reason", energy.reason}};
}

CounterReading read_reading(const JsonNode& node) {
  node.expect_keys({"source", "reason", "dram_read_bytes", "dram_write_bytes", "written_back_bytes",
                    "l2_bytes", "passes", "metrics"});
  CounterReading reading;
  const auto source = parse_counter_source(node.at("source").text());
  if (!source)
    node.at("source").fail("a source: cupti, not_asked, absent, unsupported, denied, failed");
  reading.source = *source;
  reading.reason = node.at("reason").text();
  reading.dram_read_bytes = number_if_there(node, "dram_read_bytes");
  reading.dram_write_bytes = number_if_there(node, "dram_write_bytes");
  reading.written_back_bytes = number_if_there(node, "written_back_bytes");
  reading.l2_bytes = number_if_there(node, "l2_bytes");
  if (const auto passes = present(node, "passes"))
    reading.passes = static_cast<int>(passes->integer(0, std::numeric_limits<int>::max()));
  if (const auto metrics = present(node, "metrics"))
    for (const auto& [metric, value] : metrics->members())
      reading.metrics[metric] = value.any_number();
  return reading;
}

Energy read_energy(const JsonNode& node) {
  node.expect_keys({"joules_per_call", "watts", "window_seconds", "calls", "reason"});
  Energy energy;
  energy.joules_per_call = number_if_there(node, "joules_per_call");
  energy.watts = number_if_there(node, "watts").value_or(0);
  energy.window_seconds = number_if_there(node, "window_seconds").value_or(0);
  if (const auto calls = present(node, "calls"))
    energy.calls = calls->integer(0, std::numeric_limits<std::int64_t>::max());
  energy.reason = node.at("reason").text();
  return energy;
}

}  // namespace gla_bench
