#pragma once
// What a prediction of a candidate's time goes by: numbers out of its problem, its tile, and the
// launches, bytes and operations that its variant states.

#include <string>
#include <string_view>
#include <vector>

#include "core/variant.hpp"
#include "harness/cost_model/device_rates.hpp"

namespace gla_bench::cost_model {

struct Feature {
  std::string name;
  double value = 0;
};

/// The value of a feature that a candidate lacks, such as an option of another operator.
constexpr double missing_feature = -1;

struct Features {
  /// The time that the device's rates allow at best for the variant's own bytes, operations and
  /// launches, in seconds, on as many multiprocessors as have a block. Predictions are factors of
  /// it.
  double bound = 0;
  std::vector<Feature> list;
};

/// A pure function. Candidates of one variant, direction, operator and regime of the inputs have
/// features of the same names, but for the one that names the kernel which does most of the work.
Features features_of(const Candidate& candidate, const DeviceRates& rates);

/// The features of a candidate among those of other variants: its own, and which variant it is.
Features choice_features(Features features, const Variant& variant);

}  // namespace gla_bench::cost_model
