#include "harness/commands/shared/regret_limits.hpp"

#include <cmath>

namespace gla_bench::commands {

void RegretLimits::add_to(CLI::App& command) {
  command.add_option("--most-median", most_median,
                     "with --evaluate, --exhaustive-of and --fit: exit with 1 above this median "
                     "regret, percent; with the first two also where a choice has no time");
  command.add_option("--most-worst", most_worst, "the same for the worst regret");
}

bool RegretLimits::hold(std::size_t judged, std::size_t unknown, double median,
                        double worst) const {
  if (!std::isfinite(most_median) && !std::isfinite(most_worst)) return true;
  // A problem without a time cannot be below a limit. Nor can NaN.
  return judged > 0 && unknown == 0 && 100 * median <= most_median && 100 * worst <= most_worst;
}

}  // namespace gla_bench::commands
