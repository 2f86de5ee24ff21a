#include "harness/support/json_watch.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "core/error.hpp"
#include "harness/support/json.hpp"
#include "harness/support/printable.hpp"

namespace gla_bench {
namespace {

constexpr std::size_t longest_pointer = 1000;  // in a message

/// Follows the library through the text by its SAX interface. The parser's own callback would look
/// at all elements of a list at the end of each, which is quadratic in the records of a file.
///
/// With Build it also makes the document. Values whose list or object has not ended lie on one
/// stack with their keys on another, so that each list and object is made once, at its size.
template <bool Build>
class Watch {
 public:
  Watch(const std::string& file, const JsonLimits& limits) : file_(file), limits_(limits) {}

  /// The document, after the whole text.
  Json take() { return std::move(values_.back()); }

  // The functions that the library calls; a result of true continues.
  bool null() { return enter_value(nullptr); }
  bool boolean(bool value) { return enter_value(value); }
  bool number_integer(std::int64_t value) { return enter_value(value); }
  bool number_unsigned(std::uint64_t value) { return enter_value(value); }
  bool number_float(double value, const std::string&) { return enter_value(value); }
  bool string(std::string& value) { return enter_value(std::move(value)); }
  bool binary(const Json::binary_t&) { return false; }  // no text has any
  bool start_object(std::size_t) { return enter_level(true); }
  bool start_array(std::size_t) { return enter_level(false); }

  bool end_object() {
    const Level level = leave_level();
    if constexpr (Build) {
      Json::object_t object;
      object.reserve(keys_.size() - level.first_key);
      for (std::size_t key = level.first_key, value = level.first_value; key < keys_.size();)
        object.emplace_back(std::move(keys_[key++]), std::move(values_[value++]));
      values_.resize(level.first_value);
      values_.emplace_back(std::move(object));
    }
    keys_.resize(level.first_key);
    return true;
  }

  bool end_array() {
    const Level level = leave_level();
    if constexpr (Build) {
      const auto first = values_.begin() + static_cast<std::ptrdiff_t>(level.first_value);
      Json::array_t array(std::make_move_iterator(first), std::make_move_iterator(values_.end()));
      values_.resize(level.first_value);
      values_.emplace_back(std::move(array));
    }
    return true;
  }

  bool key(std::string& key) {
    Level& level = levels_.back();
    if (key.size() > limits_.key_bytes) {
      const std::size_t bytes = key.size();
      keys_.push_back(key.substr(0, limits_.key_bytes));
      fail("found a key of " + std::to_string(bytes) + " bytes, expected at most " +
           std::to_string(limits_.key_bytes));
    }
    const bool fresh = is_fresh(level, key);
    keys_.push_back(std::move(key));
    if (!fresh) fail("the key stands twice, expected it once");
    if (const std::size_t members = keys_.size() - level.first_key; members > limits_.members)
      fail("found more than " + std::to_string(limits_.members) + " keys, expected fewer");
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) {
    std::string_view what = error.what();
    if (const auto end = what.find("] "); end != std::string_view::npos)
      what.remove_prefix(end + 2);
    throw InputError(file_ + ": not JSON: " + printable_ascii(what, 300));
  }

 private:
  struct Level {
    bool object;
    std::size_t first_key, first_value;  ///< the level's own, on the stacks
    std::set<std::string> many;          ///< its keys, where they are many
    std::int64_t index = -1;             ///< of the value of a list that the parser is at
  };

  /// Up to here it is faster to look at all keys than to sort them.
  static constexpr std::size_t few_keys = 32;

  bool is_fresh(Level& level, const std::string& key) const {
    const auto first = keys_.begin() + static_cast<std::ptrdiff_t>(level.first_key);
    if (keys_.end() - first < static_cast<std::ptrdiff_t>(few_keys))
      return std::find(first, keys_.end(), key) == keys_.end();
    if (level.many.empty()) level.many.insert(first, keys_.end());
    return level.many.insert(key).second;
  }

  void count_value() {
    if (!levels_.empty() && !levels_.back().object) ++levels_.back().index;
  }

  template <class Value>
  bool enter_value([[maybe_unused]] Value&& value) {
    count_value();
    if constexpr (Build) values_.emplace_back(std::forward<Value>(value));
    return true;
  }

  bool enter_level(bool object) {
    count_value();
    if (levels_.size() == limits_.levels)
      fail("found a value " + std::to_string(limits_.levels + 1) +
           " levels deep, expected at most " + std::to_string(limits_.levels));
    levels_.push_back({object, keys_.size(), values_.size(), {}});
    return true;
  }

  Level leave_level() {
    Level level = std::move(levels_.back());
    levels_.pop_back();
    return level;
  }

  /// Names the place where the parser is: the last key of each object, and each list's index.
  [[noreturn]] void fail(const std::string& what) const {
    std::string pointer;
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      const Level& level = levels_[i];
      const std::size_t end = i + 1 < levels_.size() ? levels_[i + 1].first_key : keys_.size();
      pointer += '/';
      if (!level.object)
        pointer += std::to_string(level.index);
      else if (end > level.first_key)
        pointer += escape_pointer(keys_[end - 1]);
    }
    throw InputError(file_ + ": " + printable(pointer, longest_pointer) + ": " + what);
  }

  std::string file_;
  JsonLimits limits_;
  std::vector<Level> levels_;
  std::vector<std::string> keys_;
  std::vector<Json> values_;  ///< empty without Build
};

/// The parser takes a NUL for the end and would never see what follows it.
void expect_no_nul(std::string_view text, const std::string& file) {
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
    const auto line =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(nul), '\n');
    throw InputError(file + ": not JSON: a NUL byte in line " + std::to_string(line + 1));
  }
}

}  // namespace

void watch_json(std::string_view text, const std::string& file, const JsonLimits& limits) {
  expect_no_nul(text, file);
  Watch<false> watch(file, limits);
  Json::sax_parse(text.begin(), text.end(), &watch);
}

Json parse_watched_json(std::string_view text, const std::string& file, const JsonLimits& limits) {
  expect_no_nul(text, file);
  Watch<true> watch(file, limits);
  Json::sax_parse(text.begin(), text.end(), &watch);
  return watch.take();
}

}  // namespace gla_bench
