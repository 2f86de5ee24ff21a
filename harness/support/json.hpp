#pragma once
// JSON documents: how they are parsed, read and compared. Readers carry the file's name and the
// JSON pointer of what they read, so that every error says where it is, what stood there and what
// was expected.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/support/text.hpp"

namespace gla_bench {

/// Keys keep their order, so that files are written the way people read them.
using Json = nlohmann::ordered_json;

/// Parses a whole document. @throws InputError with line and column, or with the pointer of a
/// duplicate key.
Json parse_json(std::string_view text, const std::string& file);

/// The most bytes of a text file that are read where nothing else is said.
constexpr std::uint64_t most_text_bytes = std::uint64_t{64} << 20;

/// The file's content as text. @throws InputError when it cannot be read, or is longer than that
std::string read_text_file(const std::string& path, std::uint64_t most = most_text_bytes);

/// read_text_file() and parse_json(). @throws InputError
Json read_json_file(const std::string& path, std::uint64_t most = most_text_bytes);

/// A key as it stands in a JSON pointer: ~ and / escaped.
std::string escape_pointer(std::string_view key);

/// A finite number as itself; NaN and the infinities, which JSON lacks, as "nan", "inf", "-inf".
Json number_to_json(double value);

/// One value of a document and where it stands. The document must outlive it.
class JsonNode {
 public:
  JsonNode(const Json& value, std::string file, std::string pointer = "");

  const Json& json() const { return *value_; }
  const std::string& pointer() const { return pointer_; }
  const std::string& file() const { return file_; }

  bool is_null() const;
  bool is_string() const;
  bool is_boolean() const;
  bool is_array() const;
  bool is_object() const;

  /// @throws InputError "FILE: POINTER: found WHAT, expected EXPECTED"
  [[noreturn]] void fail(const std::string& expected) const;

  // Each throws InputError where the value is of another kind or out of range.
  std::string text() const;
  bool boolean() const;
  std::int64_t integer(std::int64_t least, std::int64_t most) const;
  std::uint64_t unsigned_integer() const;
  /// A finite number in [least, most].
  double number(double least, double most) const;
  /// Any number, and "nan", "inf", "-inf": what number_to_json() writes.
  double any_number() const;
  /// One of the names; the complaint lists them all and the nearest.
  std::string one_of(const std::vector<std::string>& names, std::string_view what) const;

  /// The array's elements; at least `least` of them.
  std::vector<JsonNode> items(std::size_t least = 0) const;
  /// The object's members in the file's order.
  std::vector<std::pair<std::string, JsonNode>> members() const;
  /// A member that must be there.
  JsonNode at(std::string_view key) const;
  std::optional<JsonNode> find(std::string_view key) const;
  /// Refuses a value that is no object, and keys that are not in the list.
  void expect_keys(const std::vector<std::string>& known) const;

 private:
  const Json* value_;
  std::string file_;
  std::string pointer_;
};

/// Where two documents first differ, as "/pointer: 1 here, 2 there", or nothing.
std::optional<std::string> first_difference(const Json& here, const Json& there,
                                            const std::string& pointer = "");

}  // namespace gla_bench
