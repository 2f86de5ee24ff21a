#include "harness/support/json_watch.hpp"

#include <algorithm>
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
class Watch {
 public:
  Watch(const std::string& file, const JsonLimits& limits) : file_(file), limits_(limits) {}

  // The functions that the library calls; a result of true continues.
  bool null() { return enter_value(); }
  bool boolean(bool) { return enter_value(); }
  bool number_integer(std::int64_t) { return enter_value(); }
  bool number_unsigned(std::uint64_t) { return enter_value(); }
  bool number_float(double, const std::string&) { return enter_value(); }
  bool string(const std::string&) { return enter_value(); }
  bool binary(const Json::binary_t&) { return enter_value(); }
  bool start_object(std::size_t) { return enter_level(true); }
  bool start_array(std::size_t) { return enter_level(false); }
  bool end_object() { return leave_level(); }
  bool end_array() { return leave_level(); }

  bool key(const std::string& key) {
    Level& level = levels_.back();
    level.key = key.substr(0, limits_.key_bytes);
    if (key.size() > limits_.key_bytes)
      fail("found a key of " + std::to_string(key.size()) + " bytes, expected at most " +
           std::to_string(limits_.key_bytes));
    if (!level.keys.insert(key).second) fail("the key stands twice, expected it once");
    if (level.keys.size() > limits_.members)
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
    std::set<std::string> keys;
    std::string key;
    std::int64_t index;
  };

  bool enter_value() {
    if (!levels_.empty() && !levels_.back().object) ++levels_.back().index;
    return true;
  }

  bool enter_level(bool object) {
    enter_value();
    if (levels_.size() == limits_.levels)
      fail("found a value " + std::to_string(limits_.levels + 1) +
           " levels deep, expected at most " + std::to_string(limits_.levels));
    levels_.push_back({object, {}, "", -1});
    return true;
  }

  bool leave_level() {
    levels_.pop_back();
    return true;
  }

  /// Names the place where the parser is.
  [[noreturn]] void fail(const std::string& what) const {
    std::string pointer;
    for (const Level& level : levels_) {
      pointer += '/';
      pointer += level.object ? escape_pointer(level.key) : std::to_string(level.index);
    }
    throw InputError(file_ + ": " + printable(pointer, longest_pointer) + ": " + what);
  }

  std::string file_;
  JsonLimits limits_;
  std::vector<Level> levels_;
};

}  // namespace

void watch_json(std::string_view text, const std::string& file, const JsonLimits& limits) {
  // The parser takes a NUL for the end and would never see what follows it.
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
    const auto line =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(nul), '\n');
    throw InputError(file + ": not JSON: a NUL byte in line " + std::to_string(line + 1));
  }
  Watch watch(file, limits);
  Json::sax_parse(text.begin(), text.end(), &watch);
}

}  // namespace gla_bench
