#pragma once
// Decides whether two results files may be compared. A pure function of their environments.

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/support/facts.hpp"

namespace gla_bench {

/// note: the difference is what is being compared, such as the commit. label: times may differ
/// because of it; verdicts stand, and mention it. refuse: the times are not of the same thing.
enum class Severity { note, label, refuse };
std::string_view name(Severity severity);

/// What it means that two environments differ in a fact.
struct ComparabilityRule {
  std::string_view key;
  Severity severity;
  std::string_view why;
  /// Numbers that differ by no more are alike, since they are measured; a fact that only one of the
  /// two has then says nothing. 0: the fact is compared as it stands.
  double alike = 0;

  bool measured() const { return alike > 0; }
};

/// The table of facts, severest first. A fact that is not in it (date, command line, measured
/// rates) does not matter. A fact that only one of the two has is at most a label.
std::span<const ComparabilityRule> comparability_rules();

struct Difference {
  std::string key, base, fresh;  ///< values as text; empty where there is none
  Severity severity = Severity::note;
  std::string why;
};

/// The differences, severest first. A fact in `allowed` is a label instead of a refusal.
std::vector<Difference> differences(const Facts& base, const Facts& fresh,
                                    const std::set<std::string>& allowed = {});

/// @throws InputError for a name that is not in the table, with those that are
void expect_known_facts(std::span<const std::string> allowed);

/// "driver: 580.159.04 before, 581.1 now (code and clocks come from it)"
std::string describe(const Difference& difference);

}  // namespace gla_bench
