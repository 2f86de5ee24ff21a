#pragma once
// Exhaustive records made up with the noise that an H200's have: spread of half a per cent and some
// tenths of a microsecond, now and then a sample that is far too slow, neighbours that are alike.

#include <cmath>
#include <random>
#include <string>

#include "harness/search/replay.hpp"

namespace gla_bench::search {

class Synthetic {
 public:
  explicit Synthetic(std::uint64_t seed) : random_(seed) {}

  /// A problem of `variants` variants with 3 axes of 4 values each, each axis with its own slope.
  RecordedProblem problem(int variants, double fastest_seconds) {
    RecordedProblem made;
    made.problem.op = "made up";
    for (int variant = 0; variant < variants; ++variant) {
      const double base = fastest_seconds * (1 + 0.6 * variant * uniform());
      const double slopes[] = {0.05 + 0.1 * uniform(), 0.1 + 0.3 * uniform(),
                               0.3 + 0.9 * uniform()};
      const double valleys[] = {3 * uniform(), 3 * uniform(), 3 * uniform()};
      for (int point = 0; point < 64; ++point) {
        const int at[] = {point / 16, point / 4 % 4, point % 4};
        double time = base * (1 + 0.05 * uniform());
        for (int axis = 0; axis < 3; ++axis)
          time *= 1 + slopes[axis] * std::abs(at[axis] - valleys[axis]);
        made.candidates.push_back(
            {"variant" + std::to_string(variant), {{"a", at[0]}, {"b", at[1]}, {"c", at[2]}}, 1e8});
        made.samples.push_back(samples(time));
        made.compile_seconds.push_back(1);
      }
    }
    return made;
  }

 private:
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }
  std::vector<double> samples(double time) {
    std::vector<double> list;
    for (int i = 0; i < (time > 2e-3 ? 10 : 20); ++i) {
      double sample = time * (1 + 0.005 * normal()) + 2e-7 * std::abs(normal());
      if (uniform() < 0.02) sample *= 1 + 0.2 * uniform();
      list.push_back(sample);
    }
    return list;
  }

  std::mt19937_64 random_;
};

}  // namespace gla_bench::search
