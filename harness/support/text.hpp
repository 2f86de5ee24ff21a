#pragma once
// Small functions of text.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gla_bench {

/// The name nearest to `text` by edit distance, where it is near enough to be what was meant.
std::optional<std::string> nearest(std::string_view text, const std::vector<std::string>& names);

/// "a, b, c"
std::string join(const std::vector<std::string>& parts, std::string_view separator = ", ");

/// A text without its digits: the same for reasons that differ in a number only.
std::string without_digits(std::string_view text);

/// "12.3 GB"; decimal units.
std::string format_bytes(double bytes);

}  // namespace gla_bench
