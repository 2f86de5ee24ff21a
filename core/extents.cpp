// Extents by name, and the size of the tensors that a shape implies.

#include "core/extents.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace gla_bench {

const ExtentAxis& extent_axis(std::string_view name) {
  const auto found = std::find_if(extent_axes.begin(), extent_axes.end(),
                                  [&](const ExtentAxis& axis) { return axis.name == name; });
  if (found == extent_axes.end())
    throw std::out_of_range("no extent has the name " + std::string(name));
  return *found;
}

std::string extents_text(const Shape& shape, std::string_view before, std::string_view between) {
  std::string text;
  for (const ExtentAxis& axis : extent_axes)
    if (is_stated(axis, shape))
      text.append(before)
          .append(axis.symbol)
          .append(between)
          .append(std::to_string(shape.*axis.extent));
  return text;
}

std::string_view name(ExtentRole role) {
  switch (role) {
    case ExtentRole::blocks:
      return "blocks";
    case ExtentRole::amount:
      return "amount";
    case ExtentRole::dimension:
      return "dimension";
    case ExtentRole::head_dimension:
      break;
  }
  return "head_dimension";
}

double largest_tensor(const Shape& s) {
  const auto product = [](auto... extents) { return (static_cast<double>(extents) * ... * 1.0); };
  const std::int64_t seq = std::max(s.seq, s.key_seq), states = std::max(s.batch, s.sequences);
  const std::int64_t dim = std::max(s.key_dim, s.value_dim);
  return std::max({product(s.batch, seq, s.heads, dim), product(s.batch, s.seq, s.model_dim),
                   product(s.model_dim, s.heads, dim), product(s.batch, s.columns),
                   product(states, s.heads, s.key_dim, s.value_dim)});
}

}  // namespace gla_bench
