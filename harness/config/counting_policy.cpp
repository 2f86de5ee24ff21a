#include "harness/config/counting_policy.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace gla_bench {
namespace {

constexpr std::array<std::pair<Which, std::string_view>, 3> which_names{
    {{Which::none, "none"}, {Which::best, "best"}, {Which::all, "all"}}};

// Less is within the meter's own steps, more is not a pass beside the timing any longer.
constexpr double least_seconds = 0.1;
constexpr double most_seconds = 60;

Which read_which(const JsonNode& node) {
  return *parse_which(node.one_of({"none", "best", "all"}, "of which candidates"));
}

}  // namespace

std::string_view name(Which which) {
  for (const auto& [value, text] : which_names)
    if (value == which) return text;
  return "?";
}

std::optional<Which> parse_which(std::string_view text) {
  for (const auto& [value, name] : which_names)
    if (name == text) return value;
  return std::nullopt;
}

CounterPolicy read_counter_policy(const JsonNode& node) {
  node.expect_keys({"of", "metrics"});
  CounterPolicy policy;
  if (const auto of = node.find("of")) policy.of = read_which(*of);
  if (const auto metrics = node.find("metrics"))
    for (const JsonNode& item : metrics->items()) {
      const std::string metric = item.text();
      if (metric.empty()) item.fail("a metric by the profiler's name: \"lts__t_sectors.sum\"");
      if (std::find(policy.metrics.begin(), policy.metrics.end(), metric) == policy.metrics.end())
        policy.metrics.push_back(metric);
    }
  return policy;
}

EnergyPolicy read_energy_policy(const JsonNode& node) {
  node.expect_keys({"of", "seconds"});
  EnergyPolicy policy;
  if (const auto of = node.find("of")) policy.of = read_which(*of);
  if (const auto seconds = node.find("seconds"))
    policy.seconds = seconds->number(least_seconds, most_seconds);
  return policy;
}

Json counter_policy_to_json(const CounterPolicy& policy) {
  Json json;
  json["of"] = name(policy.of);
  json["metrics"] = policy.metrics;
  return json;
}

Json energy_policy_to_json(const EnergyPolicy& policy) {
  Json json;
  json["of"] = name(policy.of);
  json["seconds"] = policy.seconds;
  return json;
}

}  // namespace gla_bench
