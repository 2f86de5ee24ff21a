#pragma once
// The noise floor: the change that an A/A run shows, in which a program is compared with itself.

#include <cstddef>
#include <optional>
#include <string>

#include "harness/judge/comparison.hpp"

namespace gla_bench {

struct NoiseFloor {
  std::string file;
  double effect = 0;     ///< the smallest minimum effect that may be asked for
  std::size_t rows = 0;  ///< how many rows it was computed from
};

/// Fewer rows are not enough for a calibration.
constexpr std::size_t least_calibration_rows = 20;

/// The floor from a file of `run --against` the same program. The whole intervals of 99 % of its
/// rows lie within it (of all rows where there are fewer than 100).
/// @throws InputError for a file without rounds, with too few, or of two programs
NoiseFloor noise_floor(const Results& rounds, const BootstrapPolicy& policy);

/// The minimum effect to judge by: the requested one, or else the larger of the default and the
/// floor. @throws InputError where the requested one is below the floor
double gate_effect(std::optional<double> asked, const std::optional<NoiseFloor>& floor);

}  // namespace gla_bench
