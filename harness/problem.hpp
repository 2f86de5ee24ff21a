#pragma once
// What is asked: one point of a sweep. Values only: printable, comparable, JSON both ways (json.hpp).

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gla_bench {

enum class DType { float32, bfloat16, float16 };

/// Storage order of a tensor with token axes: seq_first is [B,T,H,D], head_first is [B,H,T,D].
enum class Layout { seq_first, head_first };

enum class Direction { forward, backward };

/// The precision that a candidate declares for its products; it decides which bound applies.
enum class Arithmetic { float32, tf32, bfloat16, float16 };

/// Extents of a problem: B, T, H, K, V.
struct Shape {
  std::int64_t batch = 1;
  std::int64_t seq = 1;
  std::int64_t heads = 1;
  std::int64_t key_dim = 64;
  std::int64_t value_dim = 64;
  auto operator<=>(const Shape&) const = default;
};

/// One problem: an operator, its extents and how its inputs come about.
struct Problem {
  std::string op;
  Direction direction = Direction::forward;
  DType dtype = DType::float32;
  Layout layout = Layout::seq_first;
  Shape shape;
  std::string gate = "mild";        ///< regime name (reference/inputs.hpp), or "file"
  bool initial_state = false;       ///< an initial state is an input
  bool final_state = true;          ///< the final state is an output
  std::optional<double> scale;      ///< nothing: the operator's default
  std::uint64_t seed = 1;           ///< inputs are a pure function of the problem and this
  std::string tensors;              ///< path of a .safetensors file; empty: inputs are drawn
  /// Names in that file by the operator's: {"q": "model.q"}; a tensor not listed has its own name.
  std::map<std::string, std::string> tensor_names;
  auto operator<=>(const Problem&) const = default;
};

std::size_t size_of(DType dtype);

/// Names as they stand in configs and records. The parse_* functions return nothing for an unknown name.
std::string_view name(DType dtype);
std::string_view name(Layout layout);
std::string_view name(Direction direction);
std::string_view name(Arithmetic arithmetic);
std::optional<DType> parse_dtype(std::string_view text);
std::optional<Layout> parse_layout(std::string_view text);
std::optional<Direction> parse_direction(std::string_view text);

/// One line for messages: "gla forward bfloat16 seq_first B=8 T=4096 H=16 K=128 V=128 gate=mild seed=1".
std::string describe(const Problem& problem);

/// Rounds to the nearest value of the dtype (ties to even), returned as the float that equals it exactly.
float round_to(DType dtype, double value);

}  // namespace gla_bench
