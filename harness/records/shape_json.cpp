#include "harness/records/shape_json.hpp"

#include <nlohmann/json.hpp>

#include "core/extents.hpp"

namespace gla_bench {

void refuse_huge(const JsonNode& node, const Shape& shape) {
  if (!(largest_tensor(shape) <= most_elements))
    node.fail("a shape of at most 2^48 elements per tensor");
}

Shape read_shape(const JsonNode& node) {
  std::vector<std::string> names;
  for (const ExtentAxis& axis : extent_axes) names.emplace_back(axis.name);
  node.expect_keys(names);
  const bool rows = node.find("columns").has_value();
  Shape shape;
  for (const ExtentAxis& axis : extent_axes) {
    const bool needed =
        axis.stated == Stated::always || (axis.stated == Stated::with_tokens && !rows);
    if (const auto value = node.find(axis.name))
      shape.*axis.extent = value->integer(1, axis.most);
    else if (needed)
      node.at(axis.name);
  }
  refuse_huge(node, shape);
  return shape;
}

Json shape_to_json(const Shape& shape) {
  Json json;
  for (const ExtentAxis& axis : extent_axes)
    if (is_stated(axis, shape)) json[std::string(axis.name)] = shape.*axis.extent;
  return json;
}

Json shape_schema() {
  Json schema{{"type", "object"},
              {"properties", Json::object()},
              {"required", {"batch"}},
              {"additionalProperties", false}};
  for (const ExtentAxis& axis : extent_axes)
    schema["properties"][std::string(axis.name)] = {
        {"type", "integer"}, {"minimum", 1}, {"maximum", axis.most}};
  Json of_tokens = Json::array();
  for (const ExtentAxis& axis : extent_axes)
    if (axis.stated == Stated::with_tokens) of_tokens.push_back(axis.name);
  schema["anyOf"] =
      Json::array({Json{{"required", {"columns"}}}, Json{{"required", std::move(of_tokens)}}});
  return schema;
}

}  // namespace gla_bench
