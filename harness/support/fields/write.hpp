#pragma once
// Writes structs as JSON, by their fields() (fields.hpp). This header is slow to compile; include
// it only in the one source of a folder that writes.

#include <concepts>
#include <nlohmann/json.hpp>

#include "harness/support/fields/fields.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

template <class Struct>
Json fields_to_json(const Struct& value);

/// A value of a field as JSON. Maps and structs become objects, nothing becomes null.
template <class Type>
Json field_to_json(const Type& value) {
  if constexpr (HasCodec<Type>) {
    return Codec<Type>::write(value);
  } else if constexpr (std::same_as<Type, double>) {
    return number_to_json(value);
  } else if constexpr (std::integral<Type> || std::same_as<Type, std::string>) {
    return value;
  } else if constexpr (std::is_enum_v<Type>) {
    return name(value);
  } else if constexpr (is_optional<Type>) {
    return value ? field_to_json(*value) : Json(nullptr);
  } else if constexpr (is_list<Type>) {
    Json list = Json::array();
    for (const auto& item : value) list.push_back(field_to_json(item));
    return list;
  } else if constexpr (is_map<Type>) {
    Json object = Json::object();
    for (const auto& [key, item] : value) object[key] = field_to_json(item);
    return object;
  } else {
    return fields_to_json(value);
  }
}

/// The visitor that adds a struct's fields to an object.
template <class Struct>
class FieldWriter {
 public:
  FieldWriter(const Struct& value, Json& object) : value_(value), object_(object) {}

  void of(std::string_view, std::string_view) const {}

  template <class Member, class When = Whenever>
  void operator()(std::string_view key, Member Struct::*member, const FieldInfo& info,
                  When when = {}) const {
    add(key, value_.*member, info, when);
  }

  template <class Get, class Set, class When = Whenever>
  void computed(std::string_view key, Get get, Set, const FieldInfo& info, When when = {}) const {
    add(key, get(value_), info, when);
  }

  template <class Get, class When = Whenever>
  void derived(std::string_view key, Get get, const FieldInfo& info, When when = {}) const {
    if (when(value_)) add(key, get(value_), info, when);
  }

  template <class Get, class Set>
  void inlined(Get get, Set) const {
    const auto& part = get(value_);
    using Part = std::remove_cvref_t<decltype(part)>;
    FieldWriter<Part> visit(part, object_);
    fields(visit, Of<Part>());
  }

  template <class Function>
  void check(Function) const {}
  void rule(std::string_view) const {}

 private:
  template <class Type, class When>
  void add(std::string_view key, const Type& value, const FieldInfo& info, const When& when) const {
    if (!when(value_) || (info.presence == Presence::sparse && is_blank(value))) return;
    object_[std::string(key)] = field_to_json(value);
  }

  const Struct& value_;
  Json& object_;
};

/// A struct as an object, its fields in the order of their declaration.
template <class Struct>
Json fields_to_json(const Struct& value) {
  Json object = Json::object();
  FieldWriter<Struct> visit(value, object);
  fields(visit, Of<Struct>());
  return object;
}

}  // namespace gla_bench
