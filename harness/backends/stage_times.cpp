#include "harness/backends/stage_times.hpp"

#include <algorithm>

#include "harness/support/statistics/statistics.hpp"

namespace gla_bench {

std::vector<StageTime> medians_of_stages(std::span<const std::string> names,
                                         std::span<const std::vector<double>> calls) {
  std::vector<StageTime> stages;
  for (const std::string& stage : names) {
    const auto known = [&](const StageTime& time) { return time.name == stage; };
    if (std::any_of(stages.begin(), stages.end(), known)) continue;
    std::vector<double> sums;
    for (const std::vector<double>& parts : calls) {
      double sum = 0;
      for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == stage) sum += parts.at(i);
      sums.push_back(sum);
    }
    stages.push_back({stage, median(sums)});
  }
  return stages;
}

}  // namespace gla_bench
