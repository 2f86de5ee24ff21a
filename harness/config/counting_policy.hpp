#pragma once
// What a config says about counters and energy: "policy": {"counters": .., "energy": ..}.

#include <string>
#include <string_view>
#include <vector>

#include "harness/support/json.hpp"

namespace gla_bench {

/// Which of the measured candidates. best: those that are their variant's fastest on the problem so
/// far when their turn comes, so that whatever wins in the end is among them.
enum class Which { none, best, all };
std::string_view name(Which which);

/// What a call moves is a check of the variant's model, at about a fifth of a second a candidate.
struct CounterPolicy {
  Which of = Which::all;
  std::vector<std::string> metrics;  ///< by the profiler's names, besides io_metrics()
};

/// The meter's steps are a tenth of a second, so a figure takes nearly half a second: more than all
/// else of a candidate, and of interest where a variant is at its best.
struct EnergyPolicy {
  Which of = Which::best;
  double seconds = 0.3;  ///< of repeated calls between two movements of the device's meter
};

/// @throws InputError with the pointer, what stood there and what was expected
CounterPolicy read_counter_policy(const JsonNode& node);
Json counter_policy_to_json(const CounterPolicy& policy);

}  // namespace gla_bench
