#pragma once
// The definition of correctness: an operator's tensors, its minimal work and its float64
// definition. Each operator is defined in reference/.

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/device_reference.hpp"
#include "core/problem.hpp"
#include "core/tensor.hpp"

namespace gla_bench {

/// A choice that a problem makes besides its sizes, such as {"causal", {"true", "false"}, ..}. The
/// first value is the default.
struct OptionAxis {
  std::string name;
  std::vector<std::string> values;
  std::string meaning;  ///< one line for `gla-bench list`
  /// Whether kernels are compiled for the choice. False where it only decides what inputs hold or
  /// where tensors lie.
  bool compiled = true;
};

/// The value of the axis that a text means: the value itself or, where the values are dtypes,
/// another name of it (parse_dtype). Returns nothing for any other text.
std::optional<std::string> option_value(const OptionAxis& axis, std::string_view text);

/// The minimal cost of the operator, independent of the variant.
struct Work {
  /// Each input read once, each output written once. Of training this is the sum of its two passes:
  /// a loss lies between them, so that none of the second may begin before the first is finished.
  double floor_bytes = 0;
  double flops = 0;  ///< of the recurrence, the least of any form
  /// The part of `flops` that has no effect on the outputs where decays leave nothing of far
  /// tokens. A variant may leave it out for such inputs.
  double skippable_flops = 0;
  /// The part of `floor_bytes` that the outputs may not depend on: inputs of queries that see no
  /// key, and far keys of which decays may leave nothing. A variant need not read them.
  double skippable_bytes = 0;
  /// The part of `floor_bytes` that is read for the second time, which a cache may have kept.
  double repeated_bytes = 0;

  /// What any candidate has to move.
  double least_bytes() const { return floor_bytes - skippable_bytes - repeated_bytes; }
};

struct Operator;

/// Ways to compute an operator's `reference` and `baseline`, for another that contains it.
struct References {
  std::function<ReferenceTensors(const Operator&, const Problem&, const HostTensors&)> reference;
  std::function<HostTensors(const Operator&, const Problem&, const HostTensors&, Arithmetic)>
      baseline;
};

struct Operator {
  std::string name;
  std::string summary;  ///< one line for `gla-bench list`
  std::vector<Direction> directions;
  /// The input regimes (gates, logits) that matter for this operator.
  std::vector<std::string> gates;
  /// The regime of a problem that does not name one. If empty, it is the first of `gates`.
  std::string usual_gate = {};
  /// Names of extents in Shape: those that every problem has, and those that a problem may have.
  std::vector<std::string> extents{"batch", "seq", "heads", "key_dim", "value_dim"};
  std::vector<std::string> optional_extents;
  std::vector<OptionAxis> options;
  /// Says why such a problem does not exist ("heads is not a multiple of key_heads"), or returns
  /// nothing.
  std::function<std::optional<std::string>(const Problem&)> refuse;
  std::function<double(const Problem&)> default_scale;
  std::function<std::vector<TensorSpec>(const Problem&)> tensors;
  std::function<Work(const Problem&)> work;
  /// Draws the inputs, rounded to each tensor's dtype. A pure function of the problem.
  std::function<HostTensors(const Problem&)> draw;
  /// The inputs in which the sign of every single element may be flipped: what comes of it is as
  /// good a problem as the one before. Gates are none of them, nor is what other inputs decide.
  /// Empty: there are none.
  std::function<std::vector<std::string>(const Problem&)> signed_inputs = {};
  /// The definition in float64, by the recurrence.
  std::function<ReferenceTensors(const Problem&, const HostTensors&)> reference;
  /// TensorSpec::sum_size of outputs, by name. Of outputs that are not named, errors count against
  /// their own size alone. May be empty.
  std::function<std::map<std::string, double>(const Problem&, const HostTensors&)> sum_sizes = {};
  /// Of outputs, by name, for each element the size of terms that every candidate forms in float32
  /// and that may cancel. Each is a sum over the value channels. Their roundings are no error of
  /// the candidate, whatever is left of the terms. Outputs that are not named have none. May be
  /// empty.
  std::function<HostTensors(const Problem&, const HostTensors&)> cancelling_sizes = {};
  /// The same result in another way (quadratic in seq), to check the reference itself.
  std::function<ReferenceTensors(const Problem&, const HostTensors&)> second_form;
  /// A plain computation in the given arithmetic, with outputs in float32: not rounded to their
  /// dtypes. Its error sets the bound for candidates.
  std::function<HostTensors(const Problem&, const HostTensors&, Arithmetic)> baseline;
  /// `reference` and `baseline` on a CUDA device. Without it they run on the host.
  std::optional<DeviceReference> device_reference = {};
  /// Of an operator that contains another: `reference` and `baseline` with those of the other by
  /// the given functions, of which a device may have faster ones. Empty where it contains none.
  std::function<ReferenceTensors(const Problem&, const HostTensors&, const References& inner)>
      reference_around = {};
  std::function<HostTensors(const Problem&, const HostTensors&, Arithmetic,
                            const References& inner)>
      baseline_around = {};
};

/// The only list of operators (reference/operators.cpp).
std::span<const Operator> operators();

/// The regime of a problem that does not name one; "none" for an operator without regimes.
std::string default_gate(const Operator& op);

/// Returns nothing for an unknown name.
const Operator* find_operator(std::string_view name);

/// The problem's scale, or the operator's default.
double scale_of(const Operator& op, const Problem& problem);

/// The names of all extents that the operator's problems have, those that they may have at the end.
std::vector<std::string> all_extents(const Operator& op);

/// The problem's choice for an option, or the operator's default. @throws std::out_of_range for an
/// option that the operator lacks
const std::string& option(const Operator& op, const Problem& problem, std::string_view name);

/// The same, with the operator looked up by the problem's own name. Returns "" for an unknown
/// operator or option, so that families may ask for options that only some of their members have.
std::string option(const Problem& problem, std::string_view name);

/// Whether the option is "true".
bool flag(const Problem& problem, std::string_view name);

}  // namespace gla_bench
