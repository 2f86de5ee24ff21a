#pragma once
// Makes JSON Schemas of structs, by their fields() (fields.hpp). This header is slow to compile;
// include it only in the one source of a folder that describes.

#include <cmath>
#include <concepts>

#include "harness/support/fields/read.hpp"
#include "harness/support/fields/write.hpp"

namespace gla_bench {

/// The parts of a schema that structs make, under the names that of() gives them.
class SchemaParts {
 public:
  /// With `defaults`, a field that may be missing states its default, as a config's fields do.
  explicit SchemaParts(bool defaults) : defaults_(defaults) {}

  /// Gives {"$ref": ...} to the part of a struct, and makes that part if it does not exist yet.
  template <class Struct>
  Json reference();

  /// The schema of a field's value.
  template <class Type>
  Json of(const FieldInfo& info);

  bool defaults() const { return defaults_; }
  /// All parts made so far, as "$defs" has them.
  const Json& parts() const { return parts_; }

 private:
  Json number(const FieldInfo& info);
  Json unbounded(bool or_null);

  bool defaults_;
  Json parts_ = Json::object();
};

/// A bound as it is written: whole numbers without a fraction.
inline Json bound_to_json(double bound) {
  if (bound == std::floor(bound) && std::abs(bound) < 0x1p62)
    return static_cast<std::int64_t>(bound);
  return bound;
}

inline void add_bounds(Json& schema, const FieldInfo& info) {
  if (info.least && *info.least > least_finite) schema["minimum"] = bound_to_json(*info.least);
  if (info.most && *info.most < most_finite) schema["maximum"] = bound_to_json(*info.most);
}

/// The visitor that adds a struct's fields to the properties of its part.
template <class Struct>
class FieldSchema {
 public:
  FieldSchema(SchemaParts& parts, Json& schema, bool whole = true)
      : parts_(parts), schema_(schema), whole_(whole) {}

  void of(std::string_view, std::string_view about) const {
    if (whole_) schema_["description"] = about;
  }

  template <class Member, class When = Whenever>
  void operator()(std::string_view key, Member Struct::*member, const FieldInfo& info,
                  When = {}) const {
    Json& property = add<Member>(key, info, std::same_as<When, Whenever>);
    if constexpr (std::is_arithmetic_v<Member> || std::is_enum_v<Member>)
      if (parts_.defaults() && info.presence == Presence::added)
        property["default"] = field_to_json(Struct{}.*member);
  }

  template <class Get, class Set, class When = Whenever>
  void computed(std::string_view key, Get, Set, const FieldInfo& info, When = {}) const {
    add<std::remove_cvref_t<std::invoke_result_t<Get, const Struct&>>>(
        key, info, std::same_as<When, Whenever>);
  }

  template <class Get, class When = Whenever>
  void derived(std::string_view key, Get, const FieldInfo& info, When = {}) const {
    add<std::remove_cvref_t<std::invoke_result_t<Get, const Struct&>>>(
        key, info, std::same_as<When, Whenever>);
  }

  template <class Get, class Set>
  void inlined(Get, Set) const {
    using Part = std::remove_cvref_t<std::invoke_result_t<Get, const Struct&>>;
    FieldSchema<Part> visit(parts_, schema_, false);
    fields(visit, Of<Part>());
  }

  template <class Function>
  void check(Function) const {}

  void rule(std::string_view text) const { schema_.update(parse_json(text, "a schema's rule")); }

 private:
  template <class Type>
  Json& add(std::string_view key, const FieldInfo& info, bool whenever) const {
    Json& property = schema_["properties"][std::string(key)];
    property = parts_.of<Type>(info);
    property["description"] = std::string(info.about) +
                              (info.unit.empty() ? "" : " Unit: " + std::string(info.unit) + ".");
    if (info.presence == Presence::always && whenever) schema_["required"].push_back(key);
    return property;
  }

  SchemaParts& parts_;
  Json& schema_;
  bool whole_;
};

/// The visitor that takes a struct's name, and nothing else.
template <class Struct>
struct FieldName {
  std::string name = {};

  void of(std::string_view given, std::string_view) { name = given; }
  template <class Member, class... When>
  void operator()(std::string_view, Member Struct::*, const FieldInfo&, When...) const {}
  template <class Get, class Set, class... When>
  void computed(std::string_view, Get, Set, const FieldInfo&, When...) const {}
  template <class Get, class... When>
  void derived(std::string_view, Get, const FieldInfo&, When...) const {}
  template <class Get, class Set>
  void inlined(Get, Set) const {}
  template <class Function>
  void check(Function) const {}
  void rule(std::string_view) const {}
};

template <class Struct>
Json SchemaParts::reference() {
  FieldName<Struct> named;
  fields(named, Of<Struct>());
  if (!parts_.contains(named.name)) {
    parts_[named.name] = nullptr;  // its place, before those of the structs within
    Json schema{{"description", ""},
                {"type", "object"},
                {"properties", Json::object()},
                {"required", Json::array()},
                {"additionalProperties", false}};
    FieldSchema<Struct> visit(*this, schema);
    fields(visit, Of<Struct>());
    parts_[named.name] = std::move(schema);
  }
  return {{"$ref", "#/$defs/" + named.name}};
}

template <class Type>
Json SchemaParts::of(const FieldInfo& info) {
  if constexpr (HasCodec<Type>) {
    return Codec<Type>::schema(*this);
  } else if constexpr (std::same_as<Type, double>) {
    return number(info);
  } else if constexpr (std::same_as<Type, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::integral<Type>) {
    Json schema{{"type", "integer"}};
    add_bounds(schema, info);
    if (std::unsigned_integral<Type>) schema["minimum"] = 0;
    return schema;
  } else if constexpr (std::same_as<Type, std::string>) {
    if (!info.names.empty()) {
      Json names = Json::array();
      for (const std::string_view text : info.names) names.push_back(text);
      return {{"enum", std::move(names)}};
    }
    Json schema{{"type", "string"}};
    if (info.filled) schema["minLength"] = 1;
    if (!info.letters.empty()) schema["pattern"] = "^[" + std::string(info.letters) + "]*$";
    return schema;
  } else if constexpr (std::is_enum_v<Type>) {
    return {{"enum", enum_names<Type>()}};
  } else if constexpr (is_optional<Type>) {
    using Value = typename Type::value_type;
    if (info.presence == Presence::sparse) return of<Value>(info);
    if (std::same_as<Value, double> && !info.least && !info.most) return unbounded(true);
    return {{"oneOf", Json::array({Json{{"type", "null"}}, of<Value>(info)})}};
  } else if constexpr (is_list<Type>) {
    Json schema{{"type", "array"}, {"items", of<typename Type::value_type>(info)}};
    if (info.presence == Presence::sparse) schema["minItems"] = 1;
    return schema;
  } else if constexpr (is_map<Type>) {
    return {{"type", "object"}, {"additionalProperties", of<typename Type::mapped_type>(info)}};
  } else {
    return reference<Type>();
  }
}

}  // namespace gla_bench
