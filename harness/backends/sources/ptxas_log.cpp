#include "harness/backends/sources/ptxas_log.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace gla_bench {
namespace {

// The number in front of `unit`, as in "12 bytes spill stores"; 0 where the line has none.
int number_before(std::string_view line, std::string_view unit) {
  const std::size_t at = line.find(unit);
  if (at == std::string_view::npos) return 0;
  std::size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int value = 0;
  std::from_chars(line.data() + begin, line.data() + at, value);
  return value;
}

// The sum, or the largest int where the sum does not fit.
int sum_or_most(int a, int b) {
  constexpr int most = std::numeric_limits<int>::max();
  return a > most - b ? most : a + b;
}

// The text between the first pair of single quotes.
std::string_view quoted(std::string_view line) {
  const std::size_t open = line.find('\'');
  if (open == std::string_view::npos) return {};
  const std::size_t close = line.find('\'', open + 1);
  return line.substr(open + 1, close == std::string_view::npos ? close : close - open - 1);
}

// Whether this is a line of the assembler's report, such as "ptxas info    : Used 10 registers" or
// "ptxas         .     0 bytes stack frame, ..." (the form within a function). Warnings and errors
// do not belong to the report. Neither does information about lost time, which says that products
// run only one at a time.
bool is_account(std::string_view line) {
  if (!line.starts_with("ptxas")) return false;
  if (line.find("Potential Performance Loss") != std::string_view::npos) return false;
  line.remove_prefix(5);
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return line.starts_with("info") || line.starts_with(".");
}

bool is_bytes_line(std::string_view line) {
  return line.find(" bytes spill stores") != std::string_view::npos;
}

}  // namespace

PtxasLog parse_ptxas_log(std::string_view log) {
  PtxasLog result;
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    if (!is_account(line) && !is_bytes_line(line)) {
      if (line.find_first_not_of(" \t\r") != std::string_view::npos || !result.warnings.empty())
        result.warnings.append(line).append("\n");
      continue;
    }
    if (line.find("Compiling entry function") != std::string_view::npos) {
      result.kernels.push_back({std::string(quoted(line)), 0, 0, 0});
    } else if (result.kernels.empty()) {
      continue;  // lines about the module itself
    } else if (is_bytes_line(line)) {
      // Also adds spills of functions that the kernel calls, whose lines follow it.
      int& spilled = result.kernels.back().spill_bytes;
      spilled = sum_or_most(spilled, number_before(line, " bytes spill stores"));
      spilled = sum_or_most(spilled, number_before(line, " bytes spill loads"));
    } else if (line.find(": Used ") != std::string_view::npos) {
      result.kernels.back().registers = number_before(line, " registers");
      result.kernels.back().shared_bytes = number_before(line, " bytes smem");
    }
  }
  while (result.warnings.ends_with("\n\n")) result.warnings.pop_back();
  return result;
}

std::vector<KernelBuild> kernels_of_ptx(std::string_view ptx) {
  std::vector<KernelBuild> kernels;
  while (!ptx.empty()) {
    const std::size_t end = std::min(ptx.find('\n'), ptx.size());
    std::string_view line = ptx.substr(0, end);
    ptx.remove_prefix(std::min(end + 1, ptx.size()));
    for (const std::string_view linkage : {".visible ", ".weak "})
      if (line.starts_with(linkage)) line.remove_prefix(linkage.size());
    constexpr std::string_view directive = ".entry ";
    if (!line.starts_with(directive)) continue;
    line.remove_prefix(directive.size());
    kernels.push_back({std::string(line.substr(0, line.find('('))), 0, 0, 0});
  }
  return kernels;
}

}  // namespace gla_bench
