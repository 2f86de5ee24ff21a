#pragma once
// What is true: an operator's tensors, its least work, its float64 definition. One per operator, in
// reference/.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/device_reference.hpp"
#include "core/problem.hpp"
#include "core/tensor.hpp"

namespace gla_bench {

/// A choice that a problem makes besides its sizes: {"causal", {"true", "false"}, ..}. The first
/// value is the default.
struct OptionAxis {
  std::string name;
  std::vector<std::string> values;
  std::string meaning;  ///< one line for `gla-bench list`
};

/// The axis's value that a text stands for: the value itself or, where the values are dtypes,
/// another name of one (parse_dtype). Nothing for any other text.
std::optional<std::string> option_value(const OptionAxis& axis, std::string_view text);

/// The operator's own cost, whatever the variant.
struct Work {
  double floor_bytes = 0;  ///< each input read once, each output written once
  double flops = 0;        ///< of the recurrence: the least that any form does
};

struct Operator {
  std::string name;
  std::string summary;  ///< one line for `gla-bench list`
  std::vector<Direction> directions;
  /// Regimes of its inputs that matter to it (gates, logits).
  std::vector<std::string> gates;
  /// The regime of a problem of which nothing is said; empty: the first of `gates`.
  std::string usual_gate = {};
  /// Extents by their names in Shape: those that each of its problems has, and those it may have.
  std::vector<std::string> extents{"batch", "seq", "heads", "key_dim", "value_dim"};
  std::vector<std::string> optional_extents;
  std::vector<OptionAxis> options;
  /// Why there is no such problem ("heads is not a multiple of key_heads"), or nothing.
  std::function<std::optional<std::string>(const Problem&)> refuse;
  std::function<double(const Problem&)> default_scale;
  std::function<std::vector<TensorSpec>(const Problem&)> tensors;
  std::function<Work(const Problem&)> work;
  /// Drawn inputs, rounded to each tensor's dtype: a pure function of the problem.
  std::function<HostTensors(const Problem&)> draw;
  /// The definition in float64, by the recurrence.
  std::function<ReferenceTensors(const Problem&, const HostTensors&)> reference;
  /// The same by another route (quadratic in seq), to check the reference itself.
  std::function<ReferenceTensors(const Problem&, const HostTensors&)> second_form;
  /// A plain computation in the arithmetic given, outputs rounded to their dtypes: its error sets
  /// the bound.
  std::function<HostTensors(const Problem&, const HostTensors&, Arithmetic)> baseline;
  /// `reference` and `baseline` for a CUDA device; without it they run on the host.
  std::optional<DeviceReference> device_reference = {};
};

/// The only list of operators (reference/operators.cpp).
std::span<const Operator> operators();

/// The regime of an operator's problem of which nothing is said; "none" for one without regimes.
std::string default_gate(const Operator& op);

/// Nothing for an unknown name.
const Operator* find_operator(std::string_view name);

/// The problem's scale, or the operator's default.
double scale_of(const Operator& op, const Problem& problem);

/// The problem's choice for an option, or the operator's default.
/// @throws std::out_of_range for an option that the operator lacks
const std::string& option(const Operator& op, const Problem& problem, std::string_view name);

/// The same by the problem's own operator; "" for an operator or option that is not in the list, so
/// that families can ask for options which only some of their members have.
std::string option(const Problem& problem, std::string_view name);

/// Whether that is "true".
bool flag(const Problem& problem, std::string_view name);

}  // namespace gla_bench
