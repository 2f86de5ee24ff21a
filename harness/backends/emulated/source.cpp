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

/// Declares the number of blocks of a cluster as gla_bench_cluster_of_<kernel>, before each kernel
/// that has one.
std::string with_clusters(std::string text) {
  static const std::string word = "__cluster_dims__", bounds = "__launch_bounds__";
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos;) {
    std::size_t i = at + word.size() + 1;
    const std::string size = parts(text, i, ',').front();
    std::string name;
    do {
      i = text.find_first_not_of(" \n", i + 1);
      const std::size_t begin = i;
      while (i < text.size() && is_part_of_name(text[i])) ++i;
      name = text.substr(begin, i - begin);
      if (name == bounds) parts(text, ++i, ',');
    } while (name == bounds);
    const std::string declaration = "extern \"C\" __global__ const unsigned gla_bench_cluster_of_" +
                                    name + " = (" + size + "); ";
    const std::size_t kernel = text.rfind("extern \"C\"", at);
    if (kernel == std::string::npos || name.empty())
      throw BuildError("clusters of what is no kernel");
    text.insert(kernel, declaration);
    at = i + declaration.size();
  }
  return text;
}

/// Shared variables are places in the block's shared memory.
std::string with_shared_variables(const std::string& text) {
  static const std::regex variable(
      R"(__shared__\s+(?:__align__\(\d+\)\s+)?([\w:]+)\s+(\w+)((?:\[[^\]]*\])*)\s*;)");
  return std::regex_replace(text, variable,
                            "auto& $2 = ::gla_bench::emulated::shared_variable<$1$3>([] {});");
}

}  // namespace

std::string as_cpp(const std::string& source) {
  static const std::regex dynamic(
      R"(extern\s+__shared__\s+(?:__align__\(\d+\)\s+)?([A-Za-z_][\w ]*?)\s+(\w+)\[\];)");
  const std::string text = std::regex_replace(
      source, dynamic, "$1* const $2 = reinterpret_cast<$1*>(gla_bench_emulated.shared);");
  return without_asm(with_shared_variables(with_clusters(text)));
}

}  // namespace gla_bench::emulated
