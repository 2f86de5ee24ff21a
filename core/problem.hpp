#pragma once
// The question that a measurement answers: one point of a sweep. It holds only values, which can be
// printed, compared, and converted to and from JSON (json.hpp).

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/extents.hpp"

namespace gla_bench {

/// The element type of a tensor. int32 is for index tensors (cu_seqlens). It is never a problem's
/// dtype.
enum class DType { float32, bfloat16, float16, int32 };

/// The dtypes that a problem may have.
inline constexpr std::array<DType, 3> problem_dtypes{DType::float32, DType::bfloat16,
                                                     DType::float16};

/// Storage order of a tensor with token axes: seq_first is [B,T,H,D], head_first is [B,H,T,D].
enum class Layout { seq_first, head_first };

/// What is computed of an operator: its outputs, their gradients, or both one after the other,
/// which is what a step of training pays.
enum class Direction { forward, backward, training };

/// All of them, in their order.
inline constexpr std::array<Direction, 3> directions{Direction::forward, Direction::backward,
                                                     Direction::training};

/// Whether the gradients of the inputs are computed, from given gradients of the outputs.
constexpr bool has_gradients(Direction direction) {
  return direction != Direction::forward;
}

/// The precision that a candidate declares for its products. It decides which error bound applies.
enum class Arithmetic { float32, tf32, bfloat16, float16 };

/// One problem: an operator, its extents and the origin of its inputs.
struct Problem {
  std::string op;
  Direction direction = Direction::forward;
  DType dtype = DType::float32;
  Layout layout = Layout::seq_first;
  Shape shape;
  std::string gate = "mild";    ///< regime of the inputs (Operator::gates), or "file"
  bool initial_state = false;   ///< an initial state is an input
  bool final_state = true;      ///< the final state is an output
  std::optional<double> scale;  ///< nothing: the operator's default
  std::uint64_t seed = 1;       ///< inputs depend only on the problem and the seed
  std::string tensors;          ///< path of a .safetensors file; empty: inputs are drawn
  /// Maps the operator's tensor names to names in that file: {"q": "model.q"}. A tensor not listed
  /// keeps its own name.
  std::map<std::string, std::string> tensor_names;
  /// The operator's options that differ from their defaults: {"normalize": "true"}. Read them with
  /// option() (operator.hpp).
  std::map<std::string, std::string> options;
  auto operator<=>(const Problem&) const = default;
};

std::size_t size_of(DType dtype);

/// Names as written in configs and records. The parse_* functions return nothing for an unknown
/// name.
std::string_view name(DType dtype);
std::string_view name(Layout layout);
std::string_view name(Direction direction);
std::string_view name(Arithmetic arithmetic);
/// One of problem_dtypes by its name or by another common name: fp32 and float, bf16, fp16 and
/// half. Output always uses name().
std::optional<DType> parse_dtype(std::string_view text);
std::optional<Layout> parse_layout(std::string_view text);
std::optional<Direction> parse_direction(std::string_view text);
std::vector<std::string> names_of_directions();

/// The same problem in another direction.
Problem in_direction(Problem problem, Direction direction);

/// One line for messages: "gla forward bfloat16 seq_first B=8 T=4096 H=16 K=128 V=128 gate=mild
/// seed=1".
std::string describe(const Problem& problem);

/// Rounds to the nearest value of the dtype (ties to even), returned as the float that equals it
/// exactly.
float round_to(DType dtype, double value);

}  // namespace gla_bench
