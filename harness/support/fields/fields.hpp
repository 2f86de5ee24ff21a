#pragma once
// How a struct declares its JSON once, so that one list of fields writes it (write.hpp), reads it
// (read.hpp), describes it as a JSON Schema (schema.hpp) and makes columns of reports
// (columns.hpp).
//
// Behind the struct stands a function that visits its fields in the order of the file:
//
//   template <class Visitor>
//   void fields(Visitor& visit, Of<Stage>) {
//     visit.of("stage", "One part of a call.");
//     visit("name", &Stage::name, {"The stage's name."});
//     visit("median_ms", &Stage::median_ms, {"Median of its samples.", "milliseconds"});
//   }
//
// A visitor has these members; `when(value)` says whether a field is written.
//   of(name, about)                            the struct's name in the schema, and what it is
//   (key, member, info [, when])               a member, by its pointer
//   computed(key, get, set, info [, when])     a field that is made of several members
//   derived(key, get, info [, when])           written for readers, and ignored when read back
//   inlined(get, set)                          another struct whose keys stand in the same object
//   check(function(Struct&, const JsonNode&))  what must hold between fields once all are read
//   rule(json text)                            further members of the struct's schema

#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/support/json.hpp"

namespace gla_bench {

/// Names a struct in a call of fields().
template <class Struct>
struct Of {};

enum class Presence {
  always,  ///< always written, and refused where it is missing
  added,   ///< always written; where it is missing, the struct's default stands
  sparse   ///< written where it is not empty, zero or nothing; where it is missing, that stands
};

/// What is said of a field besides its name and its member.
struct FieldInfo {
  std::string_view about;      ///< one sentence
  std::string_view unit = {};  ///< "milliseconds"; empty where the number has none
  Presence presence = Presence::always;
  std::optional<double> least = {}, most = {};   ///< of a number, which is then finite
  std::span<const std::string_view> names = {};  ///< the texts that are taken; empty: any
  std::string_view expected = {};                ///< what one of `names` is, for messages
  bool filled = false;                           ///< a text must not be empty
  std::string_view letters = {};                 ///< a text is made of these alone; empty: of any
  /// The name of its column in reports; empty: it has none. Of a field that is a struct it is a
  /// pattern: "hot_*" makes "hot_ms" of the struct's column "ms". A struct without one has no
  /// columns.
  std::string_view column = {};
};

/// `least` and `most` of a number that is neither NaN nor infinite.
constexpr double least_finite = std::numeric_limits<double>::lowest();
constexpr double most_finite = std::numeric_limits<double>::max();

/// The values of an enumeration whose name() stands in files, and what they are, for messages:
/// `expected` and `values`. Specialised for each such enumeration.
template <class Enum>
struct EnumNames;

/// How a type that has no fields() is written, read and described: `write`, `read` and `schema`.
template <class Type>
struct Codec;

template <class Type>
concept HasCodec = requires {
  &Codec<Type>::write;
};

/// Written whatever the value is.
struct Whenever {
  template <class Struct>
  bool operator()(const Struct&) const {
    return true;
  }
};

/// True for what a sparse field leaves out.
template <class Type>
bool is_blank(const Type& value) {
  if constexpr (requires { value.has_value(); })
    return !value.has_value();
  else if constexpr (requires { value.empty(); })
    return value.empty();
  else if constexpr (std::equality_comparable<Type>)
    return value == Type{};
  else
    return false;
}

// Kinds of types that the visitors tell apart.
template <class Type>
constexpr bool is_optional = false;
template <class Type>
constexpr bool is_optional<std::optional<Type>> = true;
template <class Type>
constexpr bool is_list = false;
template <class Type>
constexpr bool is_list<std::vector<Type>> = true;
template <class Type>
constexpr bool is_map = false;
template <class Type>
constexpr bool is_map<std::map<std::string, Type>> = true;

}  // namespace gla_bench
