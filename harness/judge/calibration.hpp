#pragma once
// The noise floor: what an A/A run, the same program against itself, shows as change.

#include <cstddef>
#include <optional>
#include <string>

#include "harness/judge/comparison.hpp"

namespace gla_bench {

struct NoiseFloor {
  std::string file;
  double effect = 0;     ///< the smallest minimum effect that may be asked for
  std::size_t rows = 0;  ///< that it comes from
};

/// Fewer rows are no calibration.
constexpr std::size_t least_calibration_rows = 20;

/// The floor from a file of `run --against` the same program: 99 % of its rows have their whole
/// interval within it (all of them where there are fewer than 100). @throws InputError for a file
/// without rounds, with too few, or of two programs
NoiseFloor noise_floor(const Results& rounds, const BootstrapPolicy& policy);

/// The minimum effect to judge by: the one asked for, or the larger of the default and the floor.
/// @throws InputError where the one asked for is below the floor
double gate_effect(std::optional<double> asked, const std::optional<NoiseFloor>& floor);

}  // namespace gla_bench
