#include "harness/records/comparability.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "core/error.hpp"
#include "harness/support/text.hpp"

namespace gla_bench {
namespace {

using enum Severity;

constexpr std::array rules{
    ComparabilityRule{"backend", refuse, "the host and a GPU run different code"},
    ComparabilityRule{"device", refuse, "another device"},
    ComparabilityRule{"compute_capability", refuse, "another device"},
    ComparabilityRule{"multiprocessors", refuse, "another device, or a part of one"},
    ComparabilityRule{"l2_bytes", refuse, "another device, or a part of one"},
    ComparabilityRule{"mig", refuse, "a part of a device"},
    ComparabilityRule{"ecc", refuse, "error correction takes memory bandwidth"},
    ComparabilityRule{"power_limit_watts", refuse, "the power cap sets the clocks under load"},
    ComparabilityRule{"max_clock_mhz", refuse, "the clocks are capped differently"},
    ComparabilityRule{"application_clock_mhz", refuse, "the clocks are set differently"},
    ComparabilityRule{"memory_clock_mhz", refuse, "another memory"},
    ComparabilityRule{"architecture", refuse, "compiled for another architecture"},
    ComparabilityRule{"cores", refuse, "another machine"},
    ComparabilityRule{"threads", refuse, "another number of threads"},
    ComparabilityRule{"last_level_cache_bytes", refuse, "another machine"},
    ComparabilityRule{"driver", label, "the assembler's last step and the clocks are the driver's"},
    ComparabilityRule{"driver_cuda", label, "another driver"},
    ComparabilityRule{"runtime", label, "another toolkit"},
    ComparabilityRule{"toolkit", label, "another toolkit"},
    ComparabilityRule{"nvrtc", label, "another compiler of kernels"},
    ComparabilityRule{"cublas", label, "another library of products"},
    ComparabilityRule{"blas", label, "another library of products"},
    ComparabilityRule{"compiler", label, "another compiler"},
    ComparabilityRule{"openmp", label, "another compiler"},
    ComparabilityRule{"memory_bytes", label, "another device or machine"},
    ComparabilityRule{"uuid", label, "another GPU of the same kind: chips differ by some percent"},
    ComparabilityRule{"host", label, "another machine"},
    ComparabilityRule{"least_call_us", label,
                      "every cold call takes so much by the clock, even one that does nothing",
                      0.5},
    ComparabilityRule{"git_dirty", label, "one program was built from uncommitted sources"},
    ComparabilityRule{"host_compiler", note, "another compiler of the host's code"},
    ComparabilityRule{"program_version", note, "another version of this program"},
    ComparabilityRule{"git_commit", note, "another version of this program"},
};

std::string text_of(const Facts& facts, std::string_view key) {
  const auto found = facts.find(key);
  if (found == facts.end()) return "";
  std::ostringstream text;
  text.precision(15);
  if (const auto* flag = std::get_if<bool>(&found->second))
    text << (*flag ? "true" : "false");
  else if (const auto* number = std::get_if<double>(&found->second))
    text << *number;
  else
    text << std::get<std::string>(found->second);
  return text.str();
}

/// Of a fact that is measured: within its rule's distance, or known of one side alone.
bool are_alike(const Facts& base, const Facts& fresh, const ComparabilityRule& rule) {
  const std::string key(rule.key);
  return !base.contains(key) || !fresh.contains(key) ||
         std::abs(fact_number(base, key) - fact_number(fresh, key)) <= rule.alike;
}

}  // namespace

std::string_view name(Severity severity) {
  return severity == refuse ? "refuse" : severity == label ? "label" : "note";
}

std::span<const ComparabilityRule> comparability_rules() {
  return rules;
}

std::vector<Difference> differences(const Facts& base, const Facts& fresh,
                                    const std::set<std::string>& allowed) {
  std::vector<Difference> list;
  for (const ComparabilityRule& rule : rules) {
    const std::string before = text_of(base, rule.key), now = text_of(fresh, rule.key);
    if (before == now || (rule.measured() && are_alike(base, fresh, rule))) continue;
    Severity severity = rule.severity;
    const bool lenient = before.empty() || now.empty() || allowed.contains(std::string(rule.key));
    if (severity == refuse && lenient) severity = label;
    list.push_back({std::string(rule.key), before, now, severity, std::string(rule.why)});
  }
  return list;
}

void expect_known_facts(std::span<const std::string> allowed) {
  for (const std::string& key : allowed) {
    std::vector<std::string> known;
    for (const ComparabilityRule& rule : rules) known.emplace_back(rule.key);
    if (std::find(known.begin(), known.end(), key) == known.end())
      throw InputError("--allow: found \"" + key + "\", expected one of: " + join(known));
  }
}

std::string describe(const Difference& difference) {
  const auto shown = [](const std::string& value) { return value.empty() ? "unknown" : value; };
  return difference.key + ": " + shown(difference.base) + " before, " + shown(difference.fresh) +
         " now (" + difference.why + ")";
}

}  // namespace gla_bench
