#include "harness/config/config_schema.hpp"

#include <algorithm>

#include "core/extents.hpp"
#include "harness/config/config_schema_frame.hpp"
#include "harness/config/policy_fields.hpp"
#include "harness/support/fields/schema.hpp"

namespace gla_bench {
namespace {

Json one_or_list(const Json& schema) {
  const Json list{{"type", "array"}, {"items", schema}, {"minItems", 1}};
  return {{"oneOf", Json::array({schema, list})}};
}

Json extent(const std::string& name) {
  return {{"type", "integer"}, {"minimum", 1}, {"maximum", extent_axis(name).most}};
}

Json object_of(Json properties, const std::vector<std::string>& required) {
  Json schema{{"type", "object"}};
  if (!required.empty()) schema["required"] = required;
  schema["additionalProperties"] = false;
  schema["properties"] = std::move(properties);
  return schema;
}

/// A list of shapes, {"product": axes} or {"zip": axes}.
Json shapes(const Operator& op) {
  const std::vector<std::string> names = all_extents(op);
  Json single = Json::object(), several = Json::object(), ordered = Json::array();
  for (const std::string& name : names) {
    single[name] = extent(name);
    several[name] = one_or_list(extent(name));
  }
  for (const std::string& name : op.extents) ordered.push_back(extent(name));
  const Json tuple{{"type", "array"},
                   {"prefixItems", ordered},
                   {"items", false},
                   {"minItems", op.extents.size()}};
  Json forms =
      Json::array({Json{{"type", "array"},
                        {"items", {{"oneOf", Json::array({object_of(single, op.extents), tuple})}}},
                        {"minItems", 1}}});
  const Json axes = object_of(several, op.extents);
  for (const char* kind : {"product", "zip"}) {
    Json form{{"type", "object"}};
    form["properties"][kind] = axes;
    form["required"] = {kind};
    form["additionalProperties"] = false;
    forms.push_back(std::move(form));
  }
  return {{"oneOf", std::move(forms)}};
}

Json options(const Operator& op) {
  Json properties = Json::object();
  for (const OptionAxis& axis : op.options) {
    Json values = axis.values;
    for (const std::string& text : axis.values) {
      const Json plain = Json::parse(text, nullptr, false);  // of "float32" nothing
      if (plain.is_boolean() || plain.is_number_integer()) values.push_back(plain);
    }
    Json& property = properties[axis.name] = one_or_list({{"enum", std::move(values)}});
    property["description"] = axis.meaning;
  }
  return object_of(std::move(properties), {});
}

Json all_or_some(const Json& item) {
  const Json some{{"type", "array"}, {"items", item}, {"minItems", 1}};
  return {{"oneOf", Json::array({Json{{"const", "all"}}, some})}};
}

Json variant_name(VariantNames names, const std::vector<std::string>& known) {
  if (names == VariantNames::known) return {{"enum", known}};
  return {{"type", "string"}, {"pattern", "^[a-z][a-z0-9_]*$"}};
}

Json tensors(const Operator& op) {
  Json properties{{"file", {{"type", "string"}, {"minLength", 1}}}};
  for (const std::string& input : input_names(op)) properties[input] = {{"type", "string"}};
  return object_of(std::move(properties), {"file"});
}

/// Names of an operator's variants in any direction, each once, in the list's order.
std::vector<std::string> variants_of(const Catalog& catalog, const Operator& op) {
  std::vector<std::string> names;
  for (const Variant& variant : catalog.variants)
    if (variant.op == op.name && std::find(names.begin(), names.end(), variant.name) == names.end())
      names.push_back(variant.name);
  return names;
}

/// What a sweep of one operator must satisfy besides what all sweeps must.
Json sweep_of(const Catalog& catalog, const Operator& op, VariantNames names) {
  std::vector<std::string> directions, variants = variants_of(catalog, op);
  for (const Direction direction : op.directions) directions.emplace_back(name(direction));
  const Json tiles{{"type", "object"}, {"propertyNames", variant_name(names, variants)}};
  variants.emplace_back(auto_variant);
  Json properties;
  properties["direction"] = one_or_list({{"enum", directions}});
  properties["variants"] = all_or_some(variant_name(names, variants));
  properties["gates"] = all_or_some({{"enum", op.gates}});
  properties["shapes"] = shapes(op);
  properties["options"] = options(op);
  properties["tiles"] = tiles;
  properties["tensors"] = tensors(op);
  return {{"properties", std::move(properties)}};
}

}  // namespace

Json config_schema(const Catalog& catalog, VariantNames names) {
  Json schema = parse_json(config_schema_frame, "the frame of the config schema");
  SchemaParts policies(true);
  policies.reference<Policy>();
  Json& parts = schema["$defs"];
  parts.update(policies.parts());
  parts["sweep"]["properties"]["operator"] = one_or_list({{"enum", catalog.operator_names()}});
  parts["sweep"]["allOf"] = Json::array();
  for (const Operator& op : catalog.operators) {
    const std::string part = "sweep_of_" + op.name;
    parts["sweep"]["allOf"].push_back(
        {{"if", {{"properties", {{"operator", {{"const", op.name}}}}}}},
         {"then", {{"$ref", "#/$defs/" + part}}}});
    parts[part] = sweep_of(catalog, op, names);
  }
  return schema;
}

}  // namespace gla_bench
