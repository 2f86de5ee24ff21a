#pragma once
// What a config says about counters and energy: "policy": {"counters": .., "energy": ..}.

#include <string>
#include <string_view>
#include <vector>

#include "harness/support/json.hpp"

namespace gla_bench {

/// Which of the measured candidates are counted. best: a candidate that is its variant's fastest on
/// the problem so far when its turn comes, so that the final winner is always among them.
enum class Which { none, best, all };
std::string_view name(Which which);

/// Counters check the variant's model of the bytes that a call moves. They take about a fifth of a
/// second per candidate.
struct CounterPolicy {
  Which of = Which::all;
  std::vector<std::string> metrics;  ///< by the profiler's names, besides io_metrics()
};

/// The energy meter moves in steps of a tenth of a second, so a figure takes nearly half a second.
/// That is more than everything else done for a candidate, so by default it is taken only where a
/// variant is at its best.
struct EnergyPolicy {
  Which of = Which::best;
  double seconds =
      0.3;  ///< length of the repeated calls between two movements of the device's meter
};

/// @throws InputError with the pointer, what stood there and what was expected
CounterPolicy read_counter_policy(const JsonNode& node);
Json counter_policy_to_json(const CounterPolicy& policy);

}  // namespace gla_bench
