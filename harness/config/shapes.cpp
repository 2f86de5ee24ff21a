#include "harness/config/shapes.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/extents.hpp"
#include "harness/records/shape_json.hpp"
#include "harness/support/text.hpp"

namespace gla_bench {
namespace {

constexpr std::size_t most_shapes = 20000;  // a few short lists multiply to more than memory holds

Shape read_tuple(const JsonNode& node, const Operator& op) {
  const auto items = node.items();
  if (items.size() != op.extents.size())
    node.fail("[" + join(op.extents) + "], " + std::to_string(op.extents.size()) + " integers");
  Shape shape;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const ExtentAxis& axis = extent_axis(op.extents[i]);
    shape.*axis.extent = items[i].integer(1, axis.most);
  }
  return shape;
}

/// An axis and its values: a number stands for a list of one.
struct AxisValues {
  ExtentAxis axis;
  std::vector<std::int64_t> values;
};

/// The operator's axes in its order; optional ones only where they are given.
std::vector<AxisValues> read_axes(const JsonNode& node, const Operator& op) {
  node.expect_keys(all_extents(op));
  for (const std::string& name : op.extents) node.at(name);
  std::vector<AxisValues> lists;
  for (const std::string& name : all_extents(op)) {
    const auto values = node.find(name);
    if (!values) continue;
    AxisValues& list = lists.emplace_back(AxisValues{extent_axis(name), {}});
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

}  // namespace gla_bench
