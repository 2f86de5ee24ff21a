#include "harness/config/policy.hpp"

#include <filesystem>

namespace gla_bench {
namespace {

TimingPolicy read_timing(const JsonNode& node) {
  node.expect_keys(
      {"warmup", "min_samples", "max_samples", "min_seconds", "max_seconds", "max_noise", "hot"});
  TimingPolicy timing;
  const auto count = [&](std::string_view key, int least, int& value) {
    if (const auto found = node.find(key)) value = static_cast<int>(found->integer(least, 1000000));
  };
  const auto amount = [&](std::string_view key, double most, double& value) {
    if (const auto found = node.find(key)) value = found->number(0, most);
  };
  count("warmup", 0, timing.warmup);
  count("min_samples", 1, timing.min_samples);
  count("max_samples", 1, timing.max_samples);
  amount("min_seconds", 3600, timing.min_seconds);
  amount("max_seconds", 3600, timing.max_seconds);
  amount("max_noise", 1, timing.max_noise);
  if (const auto hot = node.find("hot")) timing.hot = hot->boolean();
  if (timing.max_samples < timing.min_samples)
    node.fail("max_samples (" + std::to_string(timing.max_samples) + ") of at least min_samples (" +
              std::to_string(timing.min_samples) + ")");
  if (timing.max_seconds < timing.min_seconds) node.fail("max_seconds of at least min_seconds");
  return timing;
}

KeepWrong read_keep_wrong(const JsonNode& node, const std::string& folder) {
  node.expect_keys({"folder", "most_mib"});
  KeepWrong keep;
  keep.folder = read_path(node.at("folder"), folder);
  if (const auto most = node.find("most_mib")) keep.most_mib = most->number(0, 1 << 20);
  return keep;
}

LimitPolicy read_limits(const JsonNode& node) {
  node.expect_keys({"least_seconds", "factor", "build_seconds", "reference_seconds"});
  constexpr double most_seconds = 7 * 24 * 3600;
  LimitPolicy limits;
  const auto seconds = [&](std::string_view key, double& value) {
    if (const auto found = node.find(key)) value = found->number(0.001, most_seconds);
  };
  seconds("least_seconds", limits.least_seconds);
  seconds("build_seconds", limits.build_seconds);
  seconds("reference_seconds", limits.reference_seconds);
  if (const auto factor = node.find("factor")) limits.factor = factor->number(0, 1e9);
  return limits;
}

}  // namespace

std::string read_path(const JsonNode& node, const std::string& folder) {
  const std::string path = node.text();
  // The system would take what stands before it for the whole.
  if (path.find('\0') != std::string::npos) node.fail("a path without a NUL character");
  const std::filesystem::path given(path);
  if (path.empty() || given.is_absolute() || folder.empty()) return path;
  return (std::filesystem::path(folder) / given).lexically_normal().string();
}

Policy read_policy(const JsonNode& node, const std::string& folder) {
  node.expect_keys(
      {"timing", "verification", "limits", "keep_wrong", "tolerance", "counters", "energy"});
  Policy policy;
  if (const auto timing = node.find("timing")) policy.timing = read_timing(*timing);
  if (const auto verification = node.find("verification")) {
    verification->expect_keys({"reference"});
    if (const auto reference = verification->find("reference"))
      policy.verification.reference = *parse_reference_place(reference->one_of(
          {std::string(name(ReferencePlace::automatic)), std::string(name(ReferencePlace::host)),
           std::string(name(ReferencePlace::device))},
          "a place for the float64 reference"));
  }
  if (const auto limits = node.find("limits")) policy.limits = read_limits(*limits);
  if (const auto counters = node.find("counters")) policy.counters = read_counter_policy(*counters);
  if (const auto energy = node.find("energy")) policy.energy = read_energy_policy(*energy);
  if (const auto keep = node.find("keep_wrong")) policy.keep_wrong = read_keep_wrong(*keep, folder);
  if (const auto tolerance = node.find("tolerance"))
    policy.tolerance = read_path(*tolerance, folder);
  return policy;
}

}  // namespace gla_bench
