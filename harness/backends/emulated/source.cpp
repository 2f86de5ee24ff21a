#include "harness/backends/emulated/source.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>
#include <vector>

#include "core/error.hpp"

namespace gla_bench::emulated {
namespace {

bool is_part_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// The place behind the string literal, character literal or comment that begins at `i`, or `i`.
std::size_t behind_opaque(const std::string& text, std::size_t i) {
  if (text.compare(i, 2, "//") == 0) return std::min(text.find('\n', i), text.size());
  if (text.compare(i, 2, "/*") == 0) {
    const std::size_t end = text.find("*/", i + 2);
    return end == std::string::npos ? text.size() : end + 2;
  }
  if (text[i] != '"') return i;
  for (std::size_t j = i + 1; j < text.size(); ++j) {
    if (text[j] == '\\')
      ++j;
    else if (text[j] == '"')
      return j + 1;
  }
  return text.size();
}

/// The parts of what stands between parentheses, without their end, as `separators` part it outside
/// of inner parentheses and literals. @param i behind the opening one; afterwards at the closing
/// one
std::vector<std::string> parts(const std::string& text, std::size_t& i, char separator) {
  std::vector<std::string> list(1);
  for (int depth = 0; i < text.size();) {
    const char c = text[i];
    if (const std::size_t end = behind_opaque(text, i); end != i) {
      if (c == '"') list.back() += text.substr(i, end - i);
      i = end;
      continue;
    }
    if (depth == 0 && c == ')') return list;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (depth == 0 && c == separator)
      list.emplace_back();
    else
      list.back() += c;
    ++i;
  }
  throw BuildError("an asm statement does not end");
}

std::vector<std::string> operands(const std::string& section) {
  std::string closed = section + ")";
  std::size_t i = 0;
  std::vector<std::string> list = parts(closed, i, ',');
  for (std::string& each : list) {
    const std::size_t open = each.find('(');
    each = open == std::string::npos ? "" : each.substr(open);
  }
  if (list.size() == 1 && list.front().empty()) list.clear();
  return list;
}

/// "asm volatile(TEXT : OUT : IN : CLOBBERS)" without its semicolon, from its sections.
std::string statement(const std::vector<std::string>& sections) {
  std::string text = "do { static const ::gla_bench::emulated::Statement statement_{" +
                     sections.front() + "}; const ::gla_bench::emulated::Operand operands_[] = {";
  for (std::size_t section = 1; section < std::min<std::size_t>(sections.size(), 3); ++section)
    for (const std::string& operand : operands(sections[section]))
      text += (section == 1 ? "::gla_bench::emulated::variable" : "::gla_bench::emulated::value") +
              operand + ", ";
  text += "{}}; statement_.run(operands_); } while (false)";
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string without_asm(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    if (const std::size_t end = behind_opaque(text, i); end != i) {
      result += text.substr(i, end - i);
      i = end;
      continue;
    }
    const bool starts = text.compare(i, 3, "asm") == 0 && !is_part_of_name(text[i + 3]) &&
                        (i == 0 || !is_part_of_name(text[i - 1]));
    std::size_t open = starts ? text.find_first_not_of(" \n", i + 3) : i;
    if (starts && text.compare(open, 8, "volatile") == 0)
      open = text.find_first_not_of(" \n", open + 8);
    if (!starts || open == std::string::npos || text[open] != '(') {
      result += text[i++];
      continue;
    }
    ++open;
    result += statement(parts(text, open, ':'));
    i = open + 1;
  }
  return result;
}

}  // namespace

std::string as_cpp(const std::string& source) {
  static const std::regex dynamic(
      R"(extern\s+__shared__\s+(?:__align__\(\d+\)\s+)?([A-Za-z_][\w ]*?)\s+(\w+)\[\];)");
  return without_asm(std::regex_replace(
      source, dynamic, "$1* const $2 = reinterpret_cast<$1*>(gla_bench_emulated.shared);"));
}

}  // namespace gla_bench::emulated
