#include "harness/support/json.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.hpp"
#include "harness/support/printable.hpp"

namespace gla_bench {
namespace {

/// What stands somewhere, short enough for a message.
std::string shown(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return value.empty() ? "an empty array" : "an array";
  return printable(value.dump(-1, ' ', false, Json::error_handler_t::replace), 60);
}

std::string place(const std::string& file, const std::string& pointer) {
  return file + ": " + (pointer.empty() ? "the whole document" : pointer) + ": ";
}

std::string number_text(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

}  // namespace

Json number_to_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

JsonNode::JsonNode(const Json& value, std::string file, std::string pointer)
    : value_(&value), file_(std::move(file)), pointer_(std::move(pointer)) {}

bool JsonNode::is_null() const {
  return value_->is_null();
}
bool JsonNode::is_string() const {
  return value_->is_string();
}
bool JsonNode::is_boolean() const {
  return value_->is_boolean();
}
bool JsonNode::is_array() const {
  return value_->is_array();
}
bool JsonNode::is_object() const {
  return value_->is_object();
}

void JsonNode::fail(const std::string& expected) const {
  throw InputError(place(file_, pointer_) + "found " + shown(*value_) + ", expected " + expected);
}

std::string JsonNode::text() const {
  if (!value_->is_string()) fail("a string");
  return value_->get<std::string>();
}

bool JsonNode::boolean() const {
  if (!value_->is_boolean()) fail("true or false");
  return value_->get<bool>();
}

std::int64_t JsonNode::integer(std::int64_t least, std::int64_t most) const {
  const auto complain = [&] {
    fail("an integer from " + std::to_string(least) + " to " + std::to_string(most));
  };
  if (!value_->is_number_integer()) complain();
  // Beyond int64 the parser keeps an unsigned number, which get() would wrap.
  const bool wraps = value_->is_number_unsigned() &&
                     value_->get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max();
  if (wraps || value_->get<std::int64_t>() < least || value_->get<std::int64_t>() > most)
    complain();
  return value_->get<std::int64_t>();
}

std::uint64_t JsonNode::unsigned_integer() const {
  if (!value_->is_number_unsigned()) {
    // Values built in memory are signed until they are written and read again.
    if (!value_->is_number_integer() || value_->get<std::int64_t>() < 0)
      fail("an integer that is not negative");
  }
  return value_->get<std::uint64_t>();
}

double JsonNode::number(double least, double most) const {
  const auto complain = [&] {
    fail("a number from " + number_text(least) + " to " + number_text(most));
  };
  if (!value_->is_number()) complain();
  const double value = value_->get<double>();
  if (!(value >= least && value <= most)) complain();
  return value;
}

double JsonNode::any_number() const {
  if (value_->is_number()) return value_->get<double>();
  if (value_->is_string()) {
    const auto& text = value_->get_ref<const std::string&>();
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
  }
  fail("a number, or \"nan\", \"inf\", \"-inf\"");
}

std::string JsonNode::one_of(const std::vector<std::string>& names, std::string_view what) const {
  const auto expected = [&] {
    return std::string(what) + (names.empty() ? " (none is known)" : ": " + join(names));
  };
  if (!value_->is_string()) fail(expected());
  const auto& text = value_->get_ref<const std::string&>();
  if (std::find(names.begin(), names.end(), text) != names.end()) return text;
  const auto near = nearest(text, names);
  fail(expected() + (near ? " (did you mean \"" + *near + "\"?)" : ""));
}

std::vector<JsonNode> JsonNode::items(std::size_t least) const {
  if (!value_->is_array() || value_->size() < least)
    fail(least == 0 ? "an array"
                    : "an array of at least " + std::to_string(least) +
                          (least == 1 ? " element" : " elements"));
  std::vector<JsonNode> nodes;
  nodes.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i)
    nodes.emplace_back((*value_)[i], file_, pointer_ + "/" + std::to_string(i));
  return nodes;
}

std::vector<std::pair<std::string, JsonNode>> JsonNode::members() const {
  if (!value_->is_object()) fail("an object");
  std::vector<std::pair<std::string, JsonNode>> list;
  list.reserve(value_->size());
  for (const auto& [key, value] : value_->items())
    list.emplace_back(key, JsonNode(value, file_, pointer_ + "/" + escape_pointer(key)));
  return list;
}

std::optional<JsonNode> JsonNode::find(std::string_view key) const {
  if (!value_->is_object()) fail("an object");
  const auto found = value_->find(std::string(key));
  if (found == value_->end()) return std::nullopt;
  return JsonNode(*found, file_, pointer_ + "/" + escape_pointer(key));
}

JsonNode JsonNode::at(std::string_view key) const {
  if (auto node = find(key)) return *node;
  throw InputError(place(file_, pointer_) + "found no key \"" + std::string(key) +
                   "\", expected it here");
}

void JsonNode::expect_keys(const std::vector<std::string>& names) const {
  if (!value_->is_object()) fail("an object");
  for (const auto& [key, value] : value_->get_ref<const Json::object_t&>()) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    const auto near = nearest(key, names);
    throw InputError(place(file_, pointer_ + "/" + escape_pointer(key)) +
                     "found the unknown key \"" + printable(key, 60) + "\", expected one of " +
                     join(names) + (near ? " (did you mean \"" + *near + "\"?)" : ""));
  }
}

std::optional<std::string> first_difference(const Json& here, const Json& there,
                                            const std::string& pointer) {
  if (here == there) return std::nullopt;
  if (here.is_object() && there.is_object()) {
    for (const auto& [key, value] : here.items()) {
      const std::string below = pointer + "/" + escape_pointer(key);
      const auto other = there.find(key);
      if (other == there.end()) return below + ": " + shown(value) + " here, nothing there";
      if (auto difference = first_difference(value, *other, below)) return difference;
    }
    for (const auto& [key, value] : there.items())
      if (!here.contains(key))
        return pointer + "/" + escape_pointer(key) + ": nothing here, " + shown(value) + " there";
    return std::nullopt;  // the same members in another order
  }
  if (here.is_array() && there.is_array()) {
    for (std::size_t i = 0; i < std::min(here.size(), there.size()); ++i)
      if (auto difference = first_difference(here[i], there[i], pointer + "/" + std::to_string(i)))
        return difference;
    if (here.size() == there.size()) return std::nullopt;
    return pointer + ": " + std::to_string(here.size()) + " elements here, " +
           std::to_string(there.size()) + " there";
  }
  return pointer + ": " + shown(here) + " here, " + shown(there) + " there";
}

}  // namespace gla_bench
