#pragma once
// What choices may cost over the best at most: a command that judges choices fails above it.

#include <CLI/CLI.hpp>
#include <limits>

namespace gla_bench::commands {

/// In percent.
struct RegretLimits {
  double most_median = std::numeric_limits<double>::infinity();
  double most_worst = std::numeric_limits<double>::infinity();

  void add_to(CLI::App& command);

  /// Whether the regrets of so many problems, as shares, are within the limits. Where there is a
  /// limit, something must have been judged, and no problem may be unknown.
  bool hold(std::size_t judged, std::size_t unknown, double median, double worst) const;
};

}  // namespace gla_bench::commands
