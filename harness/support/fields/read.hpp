#pragma once
// Reads structs from JSON, by their fields() (fields.hpp). This header is slow to compile; include
// it only in the one source of a folder that reads. Every error names the file, the place, what
// stood there and what was expected.

#include <algorithm>
#include <concepts>
#include <limits>

#include "harness/support/fields/fields.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// What null means for a field that may be missing. Either the field counts as missing (records,
/// which write null for nothing), or null is refused like any value of the wrong kind (configs,
/// which people write).
enum class Nulls { missing, refused };

template <class Struct>
Struct read_fields(const JsonNode& node, Nulls nulls);

/// The names of an enumeration's values.
template <class Enum>
std::vector<std::string> enum_names() {
  std::vector<std::string> names;
  for (const Enum value : EnumNames<Enum>::values) names.emplace_back(name(value));
  return names;
}

template <class Enum>
Enum read_enum(const JsonNode& node) {
  static const std::vector<std::string> names = enum_names<Enum>();
  const std::string text = node.one_of(names, EnumNames<Enum>::expected);
  const auto place = std::find(names.begin(), names.end(), text) - names.begin();
  return EnumNames<Enum>::values[static_cast<std::size_t>(place)];
}

inline std::string read_text(const JsonNode& node, const FieldInfo& info) {
  if (!info.names.empty())
    return node.one_of({info.names.begin(), info.names.end()}, info.expected);
  std::string text = node.text();
  if (info.filled && text.empty()) node.fail(std::string(info.expected));
  if (!info.letters.empty() && text.find_first_not_of(info.letters) != std::string::npos)
    node.fail("a text of the letters " + std::string(info.letters));
  return text;
}

template <class Integer>
Integer read_integer(const JsonNode& node, const FieldInfo& info) {
  if constexpr (std::same_as<Integer, std::uint64_t>) {
    return node.unsigned_integer();
  } else {
    using Range = std::numeric_limits<Integer>;
    return static_cast<Integer>(
        node.integer(info.least ? static_cast<std::int64_t>(*info.least) : Range::min(),
                     info.most ? static_cast<std::int64_t>(*info.most) : Range::max()));
  }
}

inline double read_number(const JsonNode& node, const FieldInfo& info) {
  if (!info.least && !info.most) return node.any_number();
  return node.number(info.least.value_or(least_finite), info.most.value_or(most_finite));
}

/// A value of a field: what field_to_json() writes. @throws InputError
template <class Type>
Type read_field(const JsonNode& node, const FieldInfo& info, Nulls nulls) {
  if constexpr (HasCodec<Type>) {
    return Codec<Type>::read(node);
  } else if constexpr (std::same_as<Type, double>) {
    return read_number(node, info);
  } else if constexpr (std::same_as<Type, bool>) {
    return node.boolean();
  } else if constexpr (std::integral<Type>) {
    return read_integer<Type>(node, info);
  } else if constexpr (std::same_as<Type, std::string>) {
    return read_text(node, info);
  } else if constexpr (std::is_enum_v<Type>) {
    return read_enum<Type>(node);
  } else if constexpr (is_optional<Type>) {
    if (node.is_null()) return std::nullopt;
    return read_field<typename Type::value_type>(node, info, nulls);
  } else if constexpr (is_list<Type>) {
    Type list;
    for (const JsonNode& item : node.items())
      list.push_back(read_field<typename Type::value_type>(item, info, nulls));
    return list;
  } else if constexpr (is_map<Type>) {
    Type map;
    for (const auto& [key, item] : node.members())
      map.emplace(key, read_field<typename Type::mapped_type>(item, info, nulls));
    return map;
  } else {
    return read_fields<Type>(node, nulls);
  }
}

/// The visitor that lists the keys of a struct's object.
template <class Struct>
class FieldKeys {
 public:
  explicit FieldKeys(std::vector<std::string>& keys) : keys_(keys) {}

  void of(std::string_view, std::string_view) const {}
  template <class Member, class... When>
  void operator()(std::string_view key, Member Struct::*, const FieldInfo&, When...) const {
    keys_.emplace_back(key);
  }
  template <class Get, class Set, class... When>
  void computed(std::string_view key, Get, Set, const FieldInfo&, When...) const {
    keys_.emplace_back(key);
  }
  template <class Get, class... When>
  void derived(std::string_view key, Get, const FieldInfo&, When...) const {
    keys_.emplace_back(key);
  }
  template <class Get, class Set>
  void inlined(Get, Set) const {
    using Part = std::remove_cvref_t<std::invoke_result_t<Get, const Struct&>>;
    FieldKeys<Part> visit(keys_);
    fields(visit, Of<Part>());
  }
  template <class Function>
  void check(Function) const {}
  void rule(std::string_view) const {}

 private:
  std::vector<std::string>& keys_;
};

/// The visitor that takes a struct's fields out of an object.
template <class Struct>
class FieldReader {
 public:
  FieldReader(Struct& value, const JsonNode& node, Nulls nulls)
      : value_(value), node_(node), nulls_(nulls) {}

  void of(std::string_view, std::string_view) const {}

  template <class Member, class... When>
  void operator()(std::string_view key, Member Struct::*member, const FieldInfo& info,
                  When...) const {
    if (const auto found = find<Member>(key, info))
      value_.*member = read_field<Member>(*found, info, nulls_);
  }

  template <class Get, class Set, class... When>
  void computed(std::string_view key, Get, Set set, const FieldInfo& info, When...) const {
    using Type = std::remove_cvref_t<std::invoke_result_t<Get, const Struct&>>;
    if (const auto found = find<Type>(key, info))
      set(value_, read_field<Type>(*found, info, nulls_));
  }

  template <class Get, class... When>
  void derived(std::string_view, Get, const FieldInfo&, When...) const {}

  template <class Get, class Set>
  void inlined(Get, Set set) const {
    using Part = std::remove_cvref_t<std::invoke_result_t<Get, const Struct&>>;
    Part part;
    FieldReader<Part> visit(part, node_, nulls_);
    fields(visit, Of<Part>());
    set(value_, std::move(part));
  }

  template <class Function>
  void check(Function function) const {
    function(value_, node_);
  }
  void rule(std::string_view) const {}

 private:
  template <class Type>
  std::optional<JsonNode> find(std::string_view key, const FieldInfo& info) const {
    if (info.presence == Presence::always) return node_.at(key);
    auto found = node_.find(key);
    if (found && found->is_null() && nulls_ == Nulls::missing) return std::nullopt;
    return found;
  }

  Struct& value_;
  const JsonNode& node_;
  Nulls nulls_;
};

/// A struct out of an object that may have other members too. @throws InputError
template <class Struct>
Struct read_members(const JsonNode& node, Nulls nulls) {
  Struct value;
  FieldReader<Struct> visit(value, node, nulls);
  fields(visit, Of<Struct>());
  return value;
}

/// A struct out of what fields_to_json() writes. @throws InputError, for unknown keys too
template <class Struct>
Struct read_fields(const JsonNode& node, Nulls nulls) {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> list;
    FieldKeys<Struct> visit(list);
    fields(visit, Of<Struct>());
    return list;
  }();
  node.expect_keys(keys);
  return read_members<Struct>(node, nulls);
}

}  // namespace gla_bench
