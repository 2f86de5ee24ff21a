#include "harness/report/page/columns.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

namespace gla_bench {
namespace {

std::string number_as(double value, std::chars_format form, int precision) {
  std::array<char, 64> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), value, form, precision);
  return error == std::errc() ? std::string(text.data(), end) : std::string();
}

/// "6.7940e+08" -> "67940e4" -> "6794e5": a whole mantissa needs no point, and no digit is lost.
std::string whole_mantissa(const std::string& scientific) {
  const std::size_t at = scientific.find('e');
  int exponent = std::stoi(scientific.substr(at + 1));
  std::string digits = scientific.substr(0, at);
  if (const std::size_t point = digits.find('.'); point != std::string::npos) {
    exponent -= static_cast<int>(digits.size() - point - 1);
    digits.erase(point, 1);
  }
  const bool negative = digits.front() == '-';
  while (digits.size() > (negative ? 2U : 1U) && digits.back() == '0') {
    digits.pop_back();
    ++exponent;
  }
  return exponent == 0 ? digits : digits + "e" + std::to_string(exponent);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// "a=64 b=8" -> {"a=# b=#", " 64 8"}
std::pair<std::string, std::string> without_numbers(const std::string& text) {
  std::string pattern, numbers;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end == at && text[at] == '#') ++end;
    if (end == at) {
      pattern += text[at++];
      continue;
    }
    pattern += '#';
    numbers += " " + text.substr(at, end - at);
    at = end;
  }
  return {pattern, numbers};
}

/// "0.03" -> ".03", which a reader of numbers takes as well.
std::string without_zero(const std::string& plain) {
  if (plain.starts_with("0.")) return plain.substr(1);
  return plain;
}

}  // namespace

std::string short_number(double value, int digits) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value == 0) return "0";
  const std::string scientific = number_as(value, std::chars_format::scientific, digits - 1);
  const std::string exponent_form = whole_mantissa(scientific);
  // Read back, so that both forms are of the same rounded value. Unlike std::stod(), which throws
  // for what is next to nothing.
  const double rounded = std::strtod(scientific.c_str(), nullptr);
  std::array<char, 400> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), rounded, std::chars_format::fixed);
  if (error != std::errc()) return exponent_form;
  const std::string plain = without_zero(std::string(text.data(), end));
  return plain.size() <= exponent_form.size() ? plain : exponent_form;
}

std::string packed_cells(const std::vector<std::string>& cells) {
  std::string text;
  for (std::size_t at = 0; at < cells.size();) {
    std::size_t end = at;
    while (end < cells.size() && cells[end] == cells[at]) ++end;
    if (at > 0) text += ",";
    text += cells[at];
    if (end - at > 1) text += "*" + std::to_string(end - at);
    at = end;
  }
  return text;
}

Json NumberColumn::packed() const {
  return packed_cells(cells_);
}

void TextColumn::add(const std::string& text) {
  const auto [place, fresh] = places_.try_emplace(text, texts_.size());
  if (fresh) texts_.push_back(text);
  cells_.push_back(std::to_string(place->second));
}

Json TextColumn::packed() const {
  std::map<std::string, std::size_t> known;
  Json patterns = Json::array();
  std::vector<std::string> of;
  for (const std::string& text : texts_) {
    const auto [pattern, numbers] = without_numbers(text);
    const auto [place, fresh] = known.try_emplace(pattern, patterns.size());
    if (fresh) patterns.push_back(pattern);
    of.push_back(std::to_string(place->second) + numbers);
  }
  return {
      {"patterns", std::move(patterns)}, {"of", packed_cells(of)}, {"at", packed_cells(cells_)}};
}

}  // namespace gla_bench
