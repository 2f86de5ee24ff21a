#include "harness/support/numbers.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace gla_bench {

std::string format_number(double value, const char* format) {
  if (std::isnan(value)) return "-";
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string format_ms(double ms) {
  return format_number(ms, ms < 1 ? "%.4f" : ms < 100 ? "%.3f" : "%.1f");
}

std::string format_percent(double share) {
  return format_number(100 * share, share < 0.0995 ? "%.1f %%" : "%.0f %%");
}

std::string format_times(double ratio) {
  return format_number(ratio, "%.2fx");
}

std::string format_change(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.2f %%", (ratio - 1) * 100);
  return text;
}

std::string format_joules(double joules) {
  return joules < 1 ? format_number(joules * 1e3, "%.3g mJ") : format_number(joules, "%.3g J");
}

}  // namespace gla_bench
