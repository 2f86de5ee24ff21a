#pragma once
// What a caller asks for: an operator on tensors that lie somewhere already. The problem, with its
// layout and how its inputs lie, is read off the tensors.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/operator.hpp"

namespace gla_bench::calls {

/// A tensor as the caller has it. Axes are in logical order, [B,T,H,D], whatever the layout is.
struct GivenTensor {
  std::string called;  ///< what messages call it
  DType dtype = DType::float32;
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> strides;  ///< elements from one index of each axis to the next
};

struct Question {
  std::string op;
  Direction direction = Direction::forward;
  std::map<std::string, std::string> options;  ///< those that the tensors do not tell
  std::optional<double> scale;                 ///< nothing: the operator's default
  /// All inputs and outputs by the operator's names. An initial or final state is one of the
  /// problem where it is among them.
  std::map<std::string, GivenTensor> tensors;
};

/// A tensor has another dtype than the others ask for.
struct DtypeError : InputError {
  using InputError::InputError;
};

/// The operator has no such direction, as softmax has no backward.
struct NoSuchDirection : InputError {
  using InputError::InputError;
};

/// The strides of a tensor's memory in a problem's layout, axes in logical order.
std::vector<std::int64_t> strides_of(const TensorSpec& spec, Layout layout);

/// The problem that the tensors are of. The layout, and the options that say how tensors lie in
/// memory (packed, state_layout) or what they are stored in (gate_dtype, state_dtype), are found by
/// trying. Its regime is "file", as of other tensors whose values are the user's.
/// @throws InputError for an unknown operator, option or value, for tensors that no problem has
/// (naming one, what it is and what was expected) and for a problem that the operator refuses;
/// DtypeError
Problem problem_of(const Question& question);

}  // namespace gla_bench::calls
