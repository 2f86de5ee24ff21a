#include "harness/backends/sources/architecture.hpp"

#include <charconv>

#include "core/error.hpp"

namespace gla_bench {

std::string architecture_name(int arch) {
  return "sm_" + std::to_string(arch) + (arch >= 90 ? "a" : "");
}

std::optional<int> parse_architecture(std::string_view text) {
  if (!text.starts_with("sm_")) return std::nullopt;
  text.remove_prefix(3);
  if (text.ends_with('a')) text.remove_suffix(1);
  int arch = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), arch);
  if (error != std::errc{} || end != text.data() + text.size() || arch < 80 || arch > 130)
    return std::nullopt;
  return arch;
}

std::vector<int> parse_architectures(std::string_view list) {
  std::vector<int> archs;
  while (true) {
    const std::size_t comma = list.find(',');
    const std::string_view part = list.substr(0, comma);
    const std::optional<int> arch = parse_architecture(part);
    if (!arch)
      throw InputError("'" + std::string(part) +
                       "' is no GPU architecture (sm_80 and newer, sm_90a for example)");
    archs.push_back(*arch);
    if (comma == std::string_view::npos) return archs;
    list.remove_prefix(comma + 1);
  }
}

Limits limits_of(int arch) {
  // The opt-in shared memory of one block: that of an SM, minus 1 KiB for the system.
  std::size_t kib = 99;  // 8.6, 8.9, 12.x
  if (arch == 80) kib = 163;
  if (arch == 87) kib = 163;
  if (arch >= 90 && arch < 120) kib = 227;
  Limits limits;
  limits.arch = arch;
  limits.shared_per_block = kib * 1024;
  return limits;
}

}  // namespace gla_bench
