#include "harness/records/environment.hpp"

#include <unistd.h>

#include <array>
#include <charconv>
#include <ctime>

#include "harness/support/git_version.hpp"

namespace gla_bench {
namespace {

std::string host_name() {
  std::array<char, 256> text{};
  return ::gethostname(text.data(), text.size() - 1) == 0 ? text.data() : "unknown";
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string compiler() {
#if defined(__clang__)
  return std::string("clang ") + __clang_version__;
#elif defined(__GNUC__)
  return std::string("g++ ") + __VERSION__;
#else
  return "unknown";
#endif
}

/// Sizes and counts are numbers; versions that look like numbers stay text.
bool is_quantity(std::string_view key) {
  return key.ends_with("_bytes") || key.ends_with("_mhz") || key.ends_with("_watts") ||
         key == "cores" || key == "threads" || key == "multiprocessors";
}

Fact fact_of(const std::string& key, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (is_quantity(key) && error == std::errc{} && end == text.data() + text.size()) return value;
  return text;
}

}  // namespace

std::string program_version() {
  return "0.1.0";
}

Facts make_environment(Backend& backend, const std::string& command_line,
                       const std::optional<Ceilings>& ceilings) {
  Facts facts;
  for (const auto& [key, text] : backend.environment()) facts[key] = fact_of(key, text);
  facts["backend"] = std::string(name(backend.id()));
  facts["host"] = host_name();
  facts["host_compiler"] = compiler();
  facts["git_commit"] = std::string(git_commit());
  facts["git_dirty"] = git_dirty();
  facts["program_version"] = program_version();
  facts["started"] = utc_now();
  facts["command_line"] = command_line;
  if (const auto clock = backend.clock_mhz()) facts["clock_mhz"] = *clock;
  if (ceilings) add_ceilings(facts, *ceilings);
  return facts;
}

void add_ceilings(Facts& environment, const Ceilings& ceilings) {
  environment["copy_gb_per_s"] = ceilings.copy_gb_per_s;
  environment["matrix_tflop_per_s"] = ceilings.matrix_tflop_per_s;
  environment["matrix"] = ceilings.matrix;
  if (ceilings.least_call_us > 0) environment["least_call_us"] = ceilings.least_call_us;
}

double last_level_cache(const Facts& environment) {
  const double host = fact_number(environment, "last_level_cache_bytes");
  return host > 0 ? host : fact_number(environment, "l2_bytes");
}

}  // namespace gla_bench
