#pragma once
// The extents of a problem's shape: their names, meanings and largest values. To add an extent, add
// a member to Shape and a line here.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/problem.hpp"

namespace gla_bench {

/// Which shapes state the extent.
enum class Stated {
  always,
  with_tokens,  ///< all but softmax rows, which have columns instead of tokens
  where_given   ///< shapes in which it is not 0
};

/// Everything about an extent. All code that reads, writes or shows shapes uses this table.
struct ExtentAxis {
  std::string_view name;    ///< in configs, records and operators
  std::string_view symbol;  ///< in messages, tables and the axes of tensors
  std::int64_t Shape::*extent;
  std::int64_t most;  ///< the largest value allowed
  Stated stated;
  std::int64_t usual;  ///< its value in a typical problem; 0: not given there
  std::string_view meaning;
};

/// All extents, in the order in which shapes are written.
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
/// @param before is the text in front of each symbol, @param between that after the symbol
std::string extents_text(const Shape& shape, std::string_view before, std::string_view between);

/// The extent with this name. @throws std::out_of_range for an unknown name
const ExtentAxis& extent_axis(std::string_view name);

/// The largest number of elements that a tensor may have, so that byte offsets safely fit 64 bits.
constexpr double most_elements = 0x1p48;

/// The number of elements of the largest tensor, or product of tensor extents, that an operator may
/// form for a shape.
double largest_tensor(const Shape& shape);

}  // namespace gla_bench
