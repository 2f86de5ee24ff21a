#include "kernels/softmax_attention/sm90/divide.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/softmax_attention/sm90/order.h"

namespace gla_bench::softmax_attention {

/// The share of the time undivided below which walks are divided: parts need memory.
constexpr double worthwhile = 0.95;

int best_parts(const Walks& walks, const DivisionCosts& costs) {
  const auto time_with = [&](int parts) {
    const double rounds = static_cast<double>(walks.blocks * parts) / resident_blocks;
    const double longest = walks.longest / parts + costs.beside;
    const double joined = parts > 1 ? costs.of_all + costs.of_part * parts : 0;
    if (walks.longest == walks.mean) return std::ceil(rounds) * longest + joined;
    // The blocks with the most steps start first, so that work comes out even.
    return std::max(longest, rounds * (walks.mean / parts + costs.beside)) + joined;
  };
  int best = 1;
  for (int parts = 2; parts <= std::min<double>(costs.most, walks.longest); ++parts)
    if (time_with(parts) < (best == 1 ? worthwhile * time_with(1) : time_with(best))) best = parts;
  return best;
}

}  // namespace gla_bench::softmax_attention
