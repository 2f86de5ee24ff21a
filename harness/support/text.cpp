#include "harness/support/text.hpp"

#include <algorithm>
#include <array>

#include "harness/support/numbers.hpp"

namespace gla_bench {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above + 1, row[j - 1] + 1, change});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view text, const std::vector<std::string>& names) {
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(1, text.size() / 3) + 1;
  for (const std::string& name : names) {
    const bool abbreviates = text.size() >= 3 && name.starts_with(text);
    // The lengths alone rule out texts that are too far apart, which may be long.
    const std::size_t longer = std::max(text.size(), name.size());
    const std::size_t least = longer - std::min(text.size(), name.size());
    const std::size_t distance = least < best_distance ? edit_distance(text, name) : longer;
    if (distance < best_distance || (abbreviates && !best)) {
      best = name;
      best_distance = std::min(distance, best_distance);
    }
  }
  return best;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) text += separator;
    text += part;
  }
  return text;
}

std::string without_digits(std::string_view text) {
  std::string kept;
  for (const char c : text)
    if (c < '0' || c > '9') kept += c;
  return kept;
}

std::string format_bytes(double bytes) {
  constexpr std::array<const char*, 5> units{"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < units.size()) {
    bytes /= 1000;
    ++unit;
  }
  return (bytes == 0 ? "0" : format_short(bytes)) + " " + units[unit];
}

}  // namespace gla_bench
