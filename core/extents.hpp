#pragma once
// The extents of a problem's shape: their names, meanings and largest values. To add an extent, add
// a member to Shape and a line to the table.

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace gla_bench {

/// The extents of a problem. An operator names the ones that it has (Operator::extents), and the
/// others keep their defaults. Extents from key_seq on are 0 if not given.
struct Shape {
  std::int64_t batch = 1;       ///< B; the number of rows for softmax
  std::int64_t seq = 1;         ///< T; the total over all sequences if they are concatenated
  std::int64_t heads = 1;       ///< H; query heads, where keys have fewer
  std::int64_t key_dim = 64;    ///< K, per head
  std::int64_t value_dim = 64;  ///< V, per head
  std::int64_t key_seq = 0;     ///< tokens of keys and values; 0: as many as `seq`
  std::int64_t key_heads = 0;   ///< heads of keys and values, a divisor of `heads`; 0: as many
  std::int64_t model_dim = 0;   ///< d, of a layer's input and output
  std::int64_t columns = 0;     ///< of a row, for softmax
  /// N, the number of ragged sequences that are concatenated in `seq` tokens, with batch 1. 0:
  /// none.
  std::int64_t sequences = 0;
  auto operator<=>(const Shape&) const = default;

  std::int64_t keys_seq() const { return key_seq > 0 ? key_seq : seq; }
  std::int64_t keys_heads() const { return key_heads > 0 ? key_heads : heads; }
};

/// Which shapes state the extent.
enum class Stated {
  always,
  with_tokens,  ///< all but softmax rows, which have columns instead of tokens
  where_given   ///< shapes in which it is not 0
};

/// What the extent is to a launch. Tuned tables decide by it which problems are alike
/// (harness/tuned_table/bucket.hpp), and labels say equal head dimensions once.
enum class ExtentRole {
  blocks,         ///< a factor of the number of independent pieces of work
  amount,         ///< of what a piece walks through; about the same number makes problems alike
  dimension,      ///< alike only where it is the same
  head_dimension  ///< a dimension that tiles are cut to
};

/// Everything about an extent. All code that reads, writes or shows shapes uses this table; only
/// what computes with an extent names it.
struct ExtentAxis {
  std::string_view name;    ///< in configs, records and operators
  std::string_view symbol;  ///< in messages, tables, labels and the axes of tensors
  std::int64_t Shape::*extent;
  std::int64_t most;  ///< the largest value allowed
  Stated stated;
  ExtentRole role;
  std::int64_t usual;  ///< its value in a typical problem; 0: not given there
  std::string_view meaning;
};

/// All extents, in the order in which shapes are written.
inline constexpr std::array<ExtentAxis, 10> extent_axes{
    {{"batch", "B", &Shape::batch, 1 << 20, Stated::always, ExtentRole::blocks, 8,
      "sequences, or rows of a softmax"},
     {"seq", "T", &Shape::seq, std::int64_t{1} << 32, Stated::with_tokens, ExtentRole::amount, 4096,
      "tokens"},
     {"heads", "H", &Shape::heads, 1 << 16, Stated::with_tokens, ExtentRole::blocks, 16,
      "heads of the queries"},
     {"key_dim", "K", &Shape::key_dim, 512, Stated::with_tokens, ExtentRole::head_dimension, 128,
      "of a head"},
     {"value_dim", "V", &Shape::value_dim, 512, Stated::with_tokens, ExtentRole::head_dimension,
      128, "of a head"},
     {"key_seq", "Tk", &Shape::key_seq, std::int64_t{1} << 32, Stated::where_given,
      ExtentRole::amount, 0, "tokens of keys and values; 0: as many as seq"},
     {"key_heads", "Hk", &Shape::key_heads, 1 << 16, Stated::where_given, ExtentRole::blocks, 0,
      "heads of keys and values; 0: as many as heads"},
     {"model_dim", "d", &Shape::model_dim, 1 << 20, Stated::where_given, ExtentRole::dimension,
      2048, "of a layer's input and output"},
     {"columns", "columns", &Shape::columns, 1 << 24, Stated::where_given, ExtentRole::amount, 4096,
      "of a row of a softmax"},
     {"sequences", "N", &Shape::sequences, 1 << 20, Stated::where_given, ExtentRole::amount, 0,
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

/// Whether kernels are compiled for the extent's value; the others may differ from call to call.
constexpr bool is_dimension(const ExtentAxis& axis) {
  return axis.role == ExtentRole::dimension || axis.role == ExtentRole::head_dimension;
}

/// "blocks", "amount", "dimension" or "head_dimension", as the page's data have it.
std::string_view name(ExtentRole role);

/// The extents that a shape states by their symbols: "B=8 T=4096 H=16 K=128 V=128".
/// @param before is the text in front of each symbol, @param between that after the symbol
std::string extents_text(const Shape& shape, std::string_view before, std::string_view between);

/// The extent with this name. @throws std::out_of_range for an unknown name
const ExtentAxis& extent_axis(std::string_view name);

/// The largest number of elements that a tensor may have, so that byte offsets safely fit 64 bits.
constexpr double most_elements = 0x1p48;

/// The number of elements of the largest tensor, or product of tensor extents, that an operator may
/// form for a shape. A new extent that is an axis of tensors has to be named there, unless its
/// largest value is below 2^10: then byte offsets fit all the same.
double largest_tensor(const Shape& shape);

}  // namespace gla_bench
