#include "harness/config/policy.hpp"

#include <filesystem>

#include "harness/config/policy_fields.hpp"
#include "harness/support/fields/read.hpp"
#include "harness/support/fields/write.hpp"

namespace gla_bench {

std::string read_path(const JsonNode& node, const std::string& folder) {
  const std::string path = node.text();
  // The system would end the path at the NUL and take what precedes it for the whole.
  if (path.find('\0') != std::string::npos) node.fail("a path without a NUL character");
  const std::filesystem::path given(path);
  if (path.empty() || given.is_absolute() || folder.empty()) return path;
  return (std::filesystem::path(folder) / given).lexically_normal().string();
}

Policy read_policy(const JsonNode& node, const std::string& folder) {
  auto policy = read_fields<Policy>(node, Nulls::refused);
  if (const auto keep = node.find("keep_wrong"))
    policy.keep_wrong.folder = read_path(keep->at("folder"), folder);
  if (const auto tolerance = node.find("tolerance"))
    policy.tolerance = read_path(*tolerance, folder);
  return policy;
}

CounterPolicy read_counter_policy(const JsonNode& node) {
  return read_fields<CounterPolicy>(node, Nulls::refused);
}

Json policy_to_json(const Policy& policy) {
  return fields_to_json(policy);
}

Json counter_policy_to_json(const CounterPolicy& policy) {
  return fields_to_json(policy);
}

}  // namespace gla_bench
