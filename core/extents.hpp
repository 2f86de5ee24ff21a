#pragma once
// The extents of a problem's shape: their names, what they mean and how large they may be. A new
// extent is a member of Shape and a line here.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/problem.hpp"

namespace gla_bench {

/// Which shapes state an extent.
enum class Stated {
  always,
  with_tokens,  ///< all but rows of a softmax, which have columns in place of tokens
  where_given   ///< those in which it is not 0
};

/// What is to be known of an extent: everything that reads, writes or shows shapes goes by this.
struct ExtentAxis {
  std::string_view name;    ///< in configs, records and operators
  std::string_view symbol;  ///< in messages, tables and the axes of tensors
  std::int64_t Shape::*extent;
  std::int64_t most;  ///< the largest value that is taken
  Stated stated;
  std::int64_t usual;  ///< of a problem that stands for all; 0: not given there
  std::string_view meaning;
};

/// Every extent, in the order in which shapes are written.
inline constexpr std::array<ExtentAxis, 10> extent_axes{
    {{"batch", "B", &Shape::batch, 1 << 20, Stated::always, 8, "sequences, or rows of a softmax"},
     {"seq", "T", &Shape::seq, std::int64_t{1} << 32, Stated::with_tokens, 4096, "tokens"},
     {"heads", "H", &Shape::heads, 1 << 16, Stated::with_tokens, 16, "heads of the queries"},
     {"key_dim", "K", &Shape::key_dim, 512, Stated::with_tokens, 128, "of a head"},
     {"value_dim", "V", &Shape::value_dim, 512, Stated::with_tokens, 128, "of a head"},
     {"key_seq", "Tk", &Shape::key_seq, std::int64_t{1} << 32, Stated::where_given, 0,
      "tokens of keys and values; 0: as many as seq"},
     {"key_heads", "Hk", &Shape::key_heads, 1 << 16, Stated::where_given, 0,
      "heads of keys and values; 0: as many as heads"},
     {"model_dim", "d", &Shape::model_dim, 1 << 20, Stated::where_given, 2048,
      "of a layer's input and output"},
     {"columns", "columns", &Shape::columns, 1 << 24, Stated::where_given, 4096,
      "of a row of a softmax"},
     {"sequences", "N", &Shape::sequences, 1 << 20, Stated::where_given, 0,
      "ragged ones, one behind the other in seq tokens; 0: none are ragged"}}};

/// Whether a shape states the extent.
constexpr bool is_stated(const ExtentAxis& axis, const Shape& shape) {
  switch (axis.stated) {
    case Stated::always:
      return true;
    case Stated::with_tokens:
      return shape.columns == 0;
    case Stated::where_given:
      break;
  }
  return shape.*axis.extent > 0;
}

/// The extents that a shape states by their symbols: "B=8 T=4096 H=16 K=128 V=128".
/// @param before in front of each, @param between a symbol and its value
std::string extents_text(const Shape& shape, std::string_view before, std::string_view between);

/// The axis of that name. @throws std::out_of_range for a name that is none
const ExtentAxis& extent_axis(std::string_view name);

/// No tensor may have more elements, so that their offsets in bytes fit 64 bits with room to spare.
constexpr double most_elements = 0x1p48;

/// Elements of the largest tensor, or product of tensors' extents, that an operator may make of
/// a shape.
double largest_tensor(const Shape& shape);

}  // namespace gla_bench
