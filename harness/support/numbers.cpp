#include "harness/support/numbers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace gla_bench {
namespace {

/// A little farther from zero: less than half of what a double can tell apart, but enough that
/// printf rounds what lies halfway away from zero, as browsers do.
long double nudged(double value) {
  return static_cast<long double>(value) * (1 + 0x1p-60L);
}

std::string format_fixed(double value, int decimals) {
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), "%.*Lf", decimals, nudged(value));
  return text.data();
}

/// "1.698" and -1 of 0.1698.
std::pair<std::string, int> mantissa_and_exponent(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*Le", digits - 1, nudged(value));
  const std::string all = text.data();
  const std::size_t at = all.find('e');
  return {all.substr(0, at), std::atoi(all.c_str() + at + 1)};
}

}  // namespace

std::string format_exact(double value) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

std::string format_number(double value, const char* format) {
  if (std::isnan(value)) return "-";
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

double round_to(double value, int digits) {
  if (!std::isfinite(value)) return value;
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*e", digits - 1, value);
  // std::stod() would throw for a number that is almost zero; this does not.
  return std::strtod(text.data(), nullptr);
}

double shorten_to(double value, int digits) {
  if (!std::isfinite(value)) return value;
  std::array<char, 48> whole{};
  const auto end =
      std::to_chars(whole.data(), whole.data() + whole.size(), value, std::chars_format::scientific)
          .ptr;
  const std::string text(whole.data(), end);
  const std::size_t first = text.find_first_not_of('-'), exponent = text.find('e');
  // The point stands after the first digit.
  const std::size_t kept = first + static_cast<std::size_t>(digits) + (digits > 1 ? 1 : 0);
  if (exponent <= kept) return value;
  std::string shorter = text.substr(0, kept);
  // What was cut off is not nothing. A last digit of 0 or 5 would say that the number is exactly
  // there, and the next rounding would take it for one that lies halfway.
  if (shorter.back() == '0' || shorter.back() == '5') ++shorter.back();
  return std::strtod((shorter + text.substr(exponent)).c_str(), nullptr);
}

std::string format_digits(double value, int digits) {
  if (!std::isfinite(value)) return format_number(value, "%f");
  if (value == 0) return format_fixed(0, digits - 1);
  const int exponent = mantissa_and_exponent(value, digits).second;
  return format_fixed(value, std::max(0, digits - 1 - exponent));
}

std::string format_short(double value) {
  std::string text = format_digits(value, 3);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string format_ms(double ms) {
  return format_digits(ms, 4);
}

std::string format_rate(double rate) {
  return format_digits(rate, 3);
}

std::string format_percent(double share) {
  if (!std::isfinite(share)) return format_number(share, "%f");
  const double value = 100 * share, size = std::abs(value);
  if (size == 0 || size >= 9.95) return format_fixed(value, 0) + " %";
  if (size >= 0.095) return format_fixed(value, 1) + " %";
  if (size >= 0.00095) return format_digits(value, 1) + " %";
  const auto [mantissa, exponent] = mantissa_and_exponent(value, 1);
  return mantissa + "e" + std::to_string(exponent) + " %";
}

std::string format_factor(double factor) {
  if (!std::isfinite(factor)) return format_number(factor, "%f");
  return format_fixed(factor, factor < 9.995 ? 2 : factor < 99.95 ? 1 : 0);
}

std::string format_times(double ratio) {
  return std::isnan(ratio) ? "-" : format_factor(ratio) + "x";
}

std::string format_error(double error) {
  if (std::isnan(error)) return "-";
  if (error == 0 || std::isinf(error)) return format_number(error, "%g");
  const auto [mantissa, exponent] = mantissa_and_exponent(error, 2);
  return mantissa + "e" + std::to_string(exponent);
}

std::string format_change(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.2f %%", (ratio - 1) * 100);
  return text;
}

std::string format_joules(double joules) {
  if (std::isnan(joules)) return "-";
  return joules < 1 ? format_short(joules * 1e3) + " mJ" : format_short(joules) + " J";
}

}  // namespace gla_bench
