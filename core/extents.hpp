#pragma once
// The extents of a problem's shape: their names, and how large they may be.

#include <array>
#include <cstdint>
#include <string_view>

#include "core/problem.hpp"

namespace gla_bench {

/// An extent by the name that it has in configs, records and operators.
struct ExtentAxis {
  std::string_view name;
  std::int64_t Shape::*extent;
  std::int64_t most;  ///< the largest value that is taken
};

/// Every extent, in the order in which shapes are written.
inline constexpr std::array<ExtentAxis, 10> extent_axes{
    {{"batch", &Shape::batch, 1 << 20},
     {"seq", &Shape::seq, std::int64_t{1} << 32},
     {"heads", &Shape::heads, 1 << 16},
     {"key_dim", &Shape::key_dim, 512},
     {"value_dim", &Shape::value_dim, 512},
     {"key_seq", &Shape::key_seq, std::int64_t{1} << 32},
     {"key_heads", &Shape::key_heads, 1 << 16},
     {"model_dim", &Shape::model_dim, 1 << 20},
     {"columns", &Shape::columns, 1 << 24},
     {"sequences", &Shape::sequences, 1 << 20}}};

/// The axis of that name. @throws std::out_of_range for a name that is none
const ExtentAxis& extent_axis(std::string_view name);

/// No tensor may have more elements, so that their offsets in bytes fit 64 bits with room to spare.
constexpr double most_elements = 0x1p48;

/// Elements of the largest tensor, or product of tensors' extents, that an operator may make of
/// a shape.
double largest_tensor(const Shape& shape);

}  // namespace gla_bench
