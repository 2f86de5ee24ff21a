// Verdicts as JUnit XML, for CI systems that show it.

#include <array>
#include <cstdio>
#include <map>

#include "harness/judge/gate.hpp"
#include "harness/support/text.hpp"

namespace gla_bench {
namespace {

/// Text in the form that XML allows: escaped, and without the control characters that XML cannot
/// represent.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&apos;";
        break;
      case '\n':
        out += "&#10;";
        break;
      case '\t':
        out += "&#9;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return out;
}

/// Seconds as XML's attribute, or nothing where they are not known.
std::string time_attribute(double seconds) {
  if (!(seconds > 0)) return "";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), " time=\"%.6f\"", seconds);
  return text.data();
}

std::string test_case(const Verdict& verdict) {
  std::string text = "    <testcase classname=\"" + escaped(verdict.file) + "\" name=\"" +
                     escaped(verdict.subject) + "\"" + time_attribute(verdict.seconds) + ">";
  for (const std::string& failure : verdict.failures)
    text.append("<failure message=\"").append(escaped(failure)).append("\"/>");
  if (verdict.failures.empty() && !verdict.skipped.empty())
    text.append("<skipped message=\"").append(escaped(verdict.skipped)).append("\"/>");
  if (!verdict.warnings.empty())
    text.append("<system-out>")
        .append(escaped(join(verdict.warnings, "; ")))
        .append("</system-out>");
  return text + "</testcase>\n";
}

struct Suite {
  std::size_t tests = 0, failures = 0, skipped = 0;
  double seconds = 0;
  std::string cases;
};

}  // namespace

std::string junit_xml(std::span<const Verdict> verdicts) {
  std::map<std::string, Suite> suites;
  for (const Verdict& verdict : verdicts) {
    Suite& suite = suites[verdict.file];
    ++suite.tests;
    suite.seconds += verdict.seconds;
    if (!verdict.failures.empty())
      ++suite.failures;
    else if (!verdict.skipped.empty())
      ++suite.skipped;
    suite.cases += test_case(verdict);
  }
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const auto& [file, suite] : suites)
    text += "  <testsuite name=\"" + escaped(file) + "\" tests=\"" + std::to_string(suite.tests) +
            "\" failures=\"" + std::to_string(suite.failures) + "\" skipped=\"" +
            std::to_string(suite.skipped) + "\"" + time_attribute(suite.seconds) + ">\n" +
            suite.cases + "  </testsuite>\n";
  return text + "</testsuites>\n";
}

}  // namespace gla_bench
