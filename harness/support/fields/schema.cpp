#include "harness/support/fields/schema.hpp"

namespace gla_bench {

Json SchemaParts::number(const FieldInfo& info) {
  if (!info.least && !info.most) return unbounded(false);
  Json schema{{"type", "number"}};
  add_bounds(schema, info);
  return schema;
}

/// A number that may be NaN or infinite, which are written as text.
Json SchemaParts::unbounded(bool or_null) {
  if (!parts_.contains("number"))
    parts_["number"] = {
        {"description", "A number; NaN and the infinities, which JSON lacks, stand as text."},
        {"oneOf", Json::array({Json{{"type", "number"}},
                               Json{{"enum", Json::array({"nan", "inf", "-inf"})}}})}};
  if (!or_null) return {{"$ref", "#/$defs/number"}};
  if (!parts_.contains("optional_number"))
    parts_["optional_number"] = {
        {"description", "A number, or null where there is none."},
        {"oneOf", Json::array({Json{{"type", "null"}}, Json{{"$ref", "#/$defs/number"}}})}};
  return {{"$ref", "#/$defs/optional_number"}};
}

}  // namespace gla_bench
