#include "harness/config_shapes.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace gla_bench {
namespace {

struct Axis {
  std::string_view name;
  std::int64_t Shape::*extent;
  std::int64_t most;
};

constexpr std::array<Axis, 5> axes{{{"batch", &Shape::batch, 1 << 20},
                                    {"seq", &Shape::seq, std::int64_t{1} << 32},
                                    {"heads", &Shape::heads, 1 << 16},
                                    {"key_dim", &Shape::key_dim, 512},
                                    {"value_dim", &Shape::value_dim, 512}}};

constexpr double most_elements = 0x1p48;

void refuse_huge(const JsonNode& node, const Shape& s) {
  const double elements = static_cast<double>(s.batch) * static_cast<double>(s.seq) *
                          static_cast<double>(s.heads) *
                          static_cast<double>(std::max(s.key_dim, s.value_dim));
  if (!(elements <= most_elements)) node.fail("a shape of at most 2^48 elements per tensor");
}

Shape read_tuple(const JsonNode& node) {
  const auto items = node.items();
  if (items.size() != axes.size())
    node.fail("[batch, seq, heads, key_dim, value_dim], five integers");
  Shape shape;
  for (std::size_t i = 0; i < axes.size(); ++i)
    shape.*axes[i].extent = items[i].integer(1, axes[i].most);
  refuse_huge(node, shape);
  return shape;
}

/// The values of each axis, in the order of `axes`: a number stands for a list of one.
std::vector<std::vector<std::int64_t>> read_axes(const JsonNode& node) {
  node.expect_keys({"batch", "seq", "heads", "key_dim", "value_dim"});
  std::vector<std::vector<std::int64_t>> lists;
  for (const Axis& axis : axes) {
    const JsonNode values = node.at(axis.name);
    auto& list = lists.emplace_back();
    if (!values.is_array()) {
      list.push_back(values.integer(1, axis.most));
      continue;
    }
    for (const JsonNode& value : values.items(1)) list.push_back(value.integer(1, axis.most));
  }
  return lists;
}

std::vector<Shape> product(const JsonNode& node) {
  const auto lists = read_axes(node);
  std::vector<Shape> shapes{{}};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::vector<Shape> wider;
    for (const Shape& shape : shapes)
      for (const std::int64_t value : lists[i]) {
        wider.push_back(shape);
        wider.back().*axes[i].extent = value;
      }
    shapes = std::move(wider);
  }
  return shapes;
}

std::vector<Shape> zip(const JsonNode& node) {
  const auto lists = read_axes(node);
  std::size_t length = 1;
  for (const auto& list : lists) length = std::max(length, list.size());
  std::vector<Shape> shapes(length);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (lists[i].size() != 1 && lists[i].size() != length)
      node.at(axes[i].name)
          .fail("a list of " + std::to_string(length) + " values, as the longest, or a single one");
    for (std::size_t row = 0; row < length; ++row)
      shapes[row].*axes[i].extent = lists[i][lists[i].size() == 1 ? 0 : row];
  }
  return shapes;
}

}  // namespace

Shape read_shape(const JsonNode& node) {
  node.expect_keys({"batch", "seq", "heads", "key_dim", "value_dim"});
  Shape shape;
  for (const Axis& axis : axes) shape.*axis.extent = node.at(axis.name).integer(1, axis.most);
  refuse_huge(node, shape);
  return shape;
}

std::vector<Shape> read_shapes(const JsonNode& node) {
  std::vector<Shape> shapes;
  if (node.is_array()) {
    for (const JsonNode& item : node.items(1))
      shapes.push_back(item.is_array() ? read_tuple(item) : read_shape(item));
    return shapes;
  }
  if (!node.is_object()) node.fail("a list of shapes, {\"product\": {...}} or {\"zip\": {...}}");
  node.expect_keys({"product", "zip"});
  if (node.json().size() != 1) node.fail("either \"product\" or \"zip\"");
  const auto [kind, lists] = node.members().front();
  shapes = kind == "product" ? product(lists) : zip(lists);
  for (const Shape& shape : shapes) refuse_huge(lists, shape);
  return shapes;
}

Json shape_to_json(const Shape& shape) {
  Json json;
  for (const Axis& axis : axes) json[std::string(axis.name)] = shape.*axis.extent;
  return json;
}

}  // namespace gla_bench
