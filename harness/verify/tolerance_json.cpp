// The tolerance policy as JSON: configs/tolerance.json, configs/schema/tolerance.schema.json.

#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/backends/sources/source_store.hpp"
#include "harness/support/json.hpp"
#include "harness/support/system/own_files.hpp"
#include "harness/verify/tolerance.hpp"

namespace gla_bench {
namespace {

constexpr double most = std::numeric_limits<double>::max();

Tolerance::PerArithmetic policy(const JsonNode& node) {
  node.expect_keys({"cap", "factor", "chunk_factor", "max_factor", "steady", "small"});
  Tolerance::PerArithmetic result;
  result.cap = node.at("cap").number(std::numeric_limits<double>::min(), most);
  result.factor = node.at("factor").number(1, most);
  result.chunk_factor = node.at("chunk_factor").number(1, most);
  result.max_factor = node.at("max_factor").number(1, most);
  result.steady = node.at("steady").number(0, most);
  result.small = node.at("small").number(0, most);
  return result;
}

}  // namespace

Tolerance parse_tolerance(const std::string& text, const std::string& origin) {
  const Json json = parse_json(text, origin);
  const JsonNode root(json, origin);
  root.expect_keys({"schema_version", "description", "arithmetic", "worst_chunk_cap", "max_abs_cap",
                    "one_rounding", "slack", "sigmas"});
  root.at("schema_version").integer(1, 1);
  if (const auto description = root.find("description")) description->text();
  const JsonNode arithmetic = root.at("arithmetic");
  Tolerance tolerance;
  std::vector<std::string> names;
  for (Arithmetic value :
       {Arithmetic::float32, Arithmetic::tf32, Arithmetic::float16, Arithmetic::bfloat16}) {
    names.emplace_back(name(value));
    tolerance.arithmetic[value] = policy(arithmetic.at(name(value)));
  }
  arithmetic.expect_keys(names);
  tolerance.worst_chunk = root.at("worst_chunk_cap").number(1, most);
  tolerance.max_abs = root.at("max_abs_cap").number(1, most);
  const Tolerance usual;
  const auto later = [&](const char* key, double least, double usual_value) {
    const auto node = root.find(key);
    return node ? node->number(least, most) : usual_value;
  };
  tolerance.one_rounding = later("one_rounding", 0.4, usual.one_rounding);
  tolerance.slack = later("slack", 1, usual.slack);
  tolerance.sigmas = later("sigmas", 1, usual.sigmas);
  return tolerance;
}

Tolerance load_tolerance(const std::string& name) {
  const std::string path = existing_or_installed(name);
  return parse_tolerance(read_text_file(path), path);
}

const Tolerance& default_tolerance() {
  static const Tolerance tolerance = [] {
    constexpr std::string_view file = "configs/tolerance.json";
    for (const Source& source : embedded_sources())
      if (source.path == file) return parse_tolerance(std::string(source.text), std::string(file));
    throw InputError("the program lacks its embedded " + std::string(file));
  }();
  return tolerance;
}

}  // namespace gla_bench
