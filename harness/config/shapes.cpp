#include "harness/config/shapes.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "harness/support/text.hpp"

namespace gla_bench {
namespace {

struct Axis {
  std::string_view name;
  std::int64_t Shape::*extent;
  std::int64_t most;
};

constexpr std::array<Axis, 10> all_axes{{{"batch", &Shape::batch, 1 << 20},
                                         {"seq", &Shape::seq, std::int64_t{1} << 32},
                                         {"heads", &Shape::heads, 1 << 16},
                                         {"key_dim", &Shape::key_dim, 512},
                                         {"value_dim", &Shape::value_dim, 512},
                                         {"key_seq", &Shape::key_seq, std::int64_t{1} << 32},
                                         {"key_heads", &Shape::key_heads, 1 << 16},
                                         {"model_dim", &Shape::model_dim, 1 << 20},
                                         {"columns", &Shape::columns, 1 << 24},
                                         {"sequences", &Shape::sequences, 1 << 20}}};
constexpr std::size_t token_axes = 5;  // batch .. value_dim

constexpr std::size_t most_shapes = 20000;  // a few short lists multiply to more than memory holds

void refuse_huge(const JsonNode& node, const Shape& shape) {
  if (!(largest_tensor(shape) <= most_elements))
    node.fail("a shape of at most 2^48 elements per tensor");
}

const Axis& axis_of(std::string_view name) {
  return *std::find_if(all_axes.begin(), all_axes.end(),
                       [&](const Axis& axis) { return axis.name == name; });
}

std::vector<std::string> names_of(const Operator& op) {
  std::vector<std::string> names = op.extents;
  names.insert(names.end(), op.optional_extents.begin(), op.optional_extents.end());
  return names;
}

Shape read_tuple(const JsonNode& node, const Operator& op) {
  const auto items = node.items();
  if (items.size() != op.extents.size())
    node.fail("[" + join(op.extents) + "], " + std::to_string(op.extents.size()) + " integers");
  Shape shape;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Axis& axis = axis_of(op.extents[i]);
    shape.*axis.extent = items[i].integer(1, axis.most);
  }
  return shape;
}

/// An axis and its values: a number stands for a list of one.
struct AxisValues {
  Axis axis;
  std::vector<std::int64_t> values;
};

/// The operator's axes in its order; optional ones only where they are given.
std::vector<AxisValues> read_axes(const JsonNode& node, const Operator& op) {
  node.expect_keys(names_of(op));
  for (const std::string& name : op.extents) node.at(name);
  std::vector<AxisValues> lists;
  for (const std::string& name : names_of(op)) {
    const auto values = node.find(name);
    if (!values) continue;
    AxisValues& list = lists.emplace_back(AxisValues{axis_of(name), {}});
    if (!values->is_array()) {
      list.values.push_back(values->integer(1, list.axis.most));
      continue;
    }
    for (const JsonNode& value : values->items(1))
      list.values.push_back(value.integer(1, list.axis.most));
  }
  return lists;
}

std::vector<Shape> product(const JsonNode& node, const Operator& op) {
  std::vector<Shape> shapes{{}};
  for (const auto& [axis, values] : read_axes(node, op)) {
    if (shapes.size() > most_shapes / values.size())
      node.fail("lists whose product is at most " + std::to_string(most_shapes) + " shapes");
    std::vector<Shape> wider;
    for (const Shape& shape : shapes)
      for (const std::int64_t value : values) {
        wider.push_back(shape);
        wider.back().*axis.extent = value;
      }
    shapes = std::move(wider);
  }
  return shapes;
}

std::vector<Shape> zip(const JsonNode& node, const Operator& op) {
  const auto lists = read_axes(node, op);
  std::size_t length = 1;
  for (const auto& list : lists) length = std::max(length, list.values.size());
  std::vector<Shape> shapes(length);
  for (const auto& [axis, values] : lists) {
    if (values.size() != 1 && values.size() != length)
      node.at(axis.name).fail("a list of " + std::to_string(length) +
                              " values, as the longest, or a single one");
    for (std::size_t row = 0; row < length; ++row)
      shapes[row].*axis.extent = values[values.size() == 1 ? 0 : row];
  }
  return shapes;
}

Shape read_object(const JsonNode& node, const Operator& op) {
  Shape shape;
  for (const auto& [axis, values] : read_axes(node, op)) {
    if (values.size() != 1) node.at(axis.name).fail("an integer");
    shape.*axis.extent = values.front();
  }
  return shape;
}

}  // namespace

double largest_tensor(const Shape& s) {
  const auto product = [](auto... extents) { return (static_cast<double>(extents) * ... * 1.0); };
  const std::int64_t seq = std::max(s.seq, s.key_seq), states = std::max(s.batch, s.sequences);
  const std::int64_t dim = std::max(s.key_dim, s.value_dim);
  return std::max({product(s.batch, seq, s.heads, dim), product(s.batch, s.seq, s.model_dim),
                   product(s.model_dim, s.heads, dim), product(s.batch, s.columns),
                   product(states, s.heads, s.key_dim, s.value_dim)});
}

Shape read_shape(const JsonNode& node) {
  std::vector<std::string> names;
  for (const Axis& axis : all_axes) names.emplace_back(axis.name);
  node.expect_keys(names);
  const bool rows = node.find("columns").has_value();
  Shape shape;
  for (std::size_t i = 0; i < all_axes.size(); ++i) {
    const Axis& axis = all_axes[i];
    const bool needed = i == 0 || (i < token_axes && !rows);
    if (const auto value = node.find(axis.name))
      shape.*axis.extent = value->integer(1, axis.most);
    else if (needed)
      node.at(axis.name);
  }
  refuse_huge(node, shape);
  return shape;
}

std::vector<Shape> read_shapes(const JsonNode& node, const Operator& op) {
  std::vector<Shape> shapes;
  if (node.is_array()) {
    for (const JsonNode& item : node.items(1)) {
      shapes.push_back(item.is_array() ? read_tuple(item, op) : read_object(item, op));
      refuse_huge(item, shapes.back());
    }
    return shapes;
  }
  if (!node.is_object()) node.fail("a list of shapes, {\"product\": {...}} or {\"zip\": {...}}");
  node.expect_keys({"product", "zip"});
  if (node.json().size() != 1) node.fail("either \"product\" or \"zip\"");
  const auto [kind, lists] = node.members().front();
  shapes = kind == "product" ? product(lists, op) : zip(lists, op);
  for (const Shape& shape : shapes) refuse_huge(lists, shape);
  return shapes;
}

Json shape_to_json(const Shape& shape) {
  Json json;
  for (std::size_t i = 0; i < all_axes.size(); ++i) {
    const std::int64_t extent = shape.*all_axes[i].extent;
    const bool written = i == 0 || (i < token_axes ? shape.columns == 0 : extent > 0);
    if (written) json[std::string(all_axes[i].name)] = extent;
  }
  return json;
}

}  // namespace gla_bench
