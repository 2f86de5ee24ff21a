#pragma once
// Makes the columns of a report out of the fields() of a struct (fields.hpp): one for each field
// that names a column (FieldInfo::column). This header is slow to compile; include it only in the
// one source of a folder that makes columns.

#include <functional>
#include <string>
#include <vector>

#include "harness/support/fields/write.hpp"

namespace gla_bench {

/// A value of every `Whole`, under the name that a field of it or of one of its parts declares.
template <class Whole>
struct FieldColumn {
  std::string name;
  bool has_fraction = false;                ///< whether its values are numbers with a fraction
  std::function<Json(const Whole&)> value;  ///< null where a part that holds the field is missing
};

/// A part's name for its column in the place of the "*" of the pattern.
inline std::string put_into(std::string_view pattern, std::string_view name) {
  const std::size_t at = pattern.find('*');
  if (at == std::string_view::npos) return std::string(name);
  return std::string(pattern.substr(0, at)) + std::string(name) +
         std::string(pattern.substr(at + 1));
}

/// What an optional holds, or the type itself.
template <class Type>
struct Held {
  using type = Type;
};
template <class Type>
struct Held<std::optional<Type>> {
  using type = Type;
};

/// A struct with fields of its own.
template <class Type>
constexpr bool is_part =
    std::is_class_v<Type> && !HasCodec<Type> && !std::same_as<Type, std::string> &&
    !is_list<Type> && !is_map<Type> && !is_optional<Type>;

template <class Type>
const Type* address_of(const Type& value) {
  return &value;
}
template <class Type>
const Type* address_of(const std::optional<Type>& value) {
  return value ? &*value : nullptr;
}

/// The visitor that collects the columns of `Struct`, which `find` finds in a `Whole`.
template <class Whole, class Struct>
class ColumnFields {
 public:
  using Find = std::function<const Struct*(const Whole&)>;

  ColumnFields(Find find, std::string pattern, std::vector<FieldColumn<Whole>>& columns)
      : find_(std::move(find)), pattern_(std::move(pattern)), columns_(columns) {}

  void of(std::string_view, std::string_view) const {}

  template <class Member, class... When>
  void operator()(std::string_view, Member Struct::*member, const FieldInfo& info, When...) const {
    if (info.column.empty()) return;
    using Value = typename Held<Member>::type;
    const std::string name = put_into(pattern_, info.column);
    if constexpr (is_part<Value>) {
      const ColumnFields<Whole, Value> visit(
          [find = find_, member](const Whole& whole) {
            const Struct* owner = find(whole);
            return owner != nullptr ? address_of(owner->*member) : nullptr;
          },
          name, columns_);
      fields(visit, Of<Value>());
    } else {
      columns_.push_back(
          {name, std::same_as<Value, double>, [find = find_, member](const Whole& whole) -> Json {
             const Struct* owner = find(whole);
             return owner != nullptr ? field_to_json(owner->*member) : Json(nullptr);
           }});
    }
  }

  // Fields that are made of several members have no columns, nor have structs that are inlined.
  template <class Get, class Set, class... When>
  void computed(std::string_view, Get, Set, const FieldInfo&, When...) const {}
  template <class Get, class... When>
  void derived(std::string_view, Get, const FieldInfo&, When...) const {}
  template <class Get, class Set>
  void inlined(Get, Set) const {}
  template <class Function>
  void check(Function) const {}
  void rule(std::string_view) const {}

 private:
  Find find_;
  std::string pattern_;
  std::vector<FieldColumn<Whole>>& columns_;
};

/// The columns that the fields of a struct declare, in the order of the fields.
template <class Whole>
std::vector<FieldColumn<Whole>> field_columns() {
  std::vector<FieldColumn<Whole>> columns;
  const ColumnFields<Whole, Whole> visit([](const Whole& whole) { return &whole; }, "*", columns);
  fields(visit, Of<Whole>());
  return columns;
}

}  // namespace gla_bench
