// Text -> JSON: syntax errors with line and column, duplicate keys refused. What a short text could
// make exhaust the stack, the memory or the time of who reads it is refused as well.

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "harness/error.hpp"
#include "harness/json.hpp"
#include "harness/printable.hpp"

namespace gla_bench {

std::string escape_pointer(std::string_view key) {
  std::string text;
  for (char c : key) {
    if (c == '~')
      text += "~0";
    else if (c == '/')
      text += "~1";
    else
      text += c;
  }
  return printable(text, text.size());
}

namespace {

// No document of this program comes near them. Copying and comparing go down a level of the stack
// for each level of the document; a member is found by looking at all before it; every node below
// a key holds it in its pointer.
constexpr std::size_t deepest = 64;
constexpr std::size_t most_members = 1000;
constexpr std::size_t longest_key = 256;
constexpr std::size_t longest_pointer = 1000;  // in a message

/// Follows the parser through the document to find keys that stand twice in one object, and what is
/// beyond the limits.
class Watch {
 public:
  explicit Watch(const std::string& file) : file_(file) {}

  bool operator()(int, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    switch (event) {
      case Event::object_start:
      case Event::array_start:
        enter_value();
        if (levels_.size() == deepest)
          fail("found a value " + std::to_string(deepest + 1) + " levels deep, expected at most " +
               std::to_string(deepest));
        levels_.push_back({event == Event::object_start, {}, "", -1});
        break;
      case Event::object_end:
      case Event::array_end:
        levels_.pop_back();
        break;
      case Event::key:
        see_key(parsed.get_ref<const std::string&>());
        break;
      case Event::value:
        enter_value();
        break;
    }
    return true;
  }

 private:
  struct Level {
    bool object;
    std::set<std::string> keys;
    std::string key;
    int index;
  };

  void enter_value() {
    if (!levels_.empty() && !levels_.back().object) ++levels_.back().index;
  }

  void see_key(const std::string& key) {
    Level& level = levels_.back();
    level.key = key.substr(0, longest_key);
    if (key.size() > longest_key)
      fail("found a key of " + std::to_string(key.size()) + " bytes, expected at most " +
           std::to_string(longest_key));
    if (!level.keys.insert(key).second) fail("the key stands twice, expected it once");
    if (level.keys.size() > most_members)
      fail("found more than " + std::to_string(most_members) + " keys, expected fewer");
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
  std::vector<Level> levels_;
};

}  // namespace

Json parse_json(std::string_view text, const std::string& file) {
  // The parser takes a NUL for the end and would never see what stands behind it.
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
    const auto line =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(nul), '\n');
    throw InputError(file + ": not JSON: a NUL byte in line " + std::to_string(line + 1));
  }
  try {
    return Json::parse(text.begin(), text.end(), Watch(file));
  } catch (const nlohmann::json::exception& error) {
    std::string_view what = error.what();
    if (const auto end = what.find("] "); end != std::string_view::npos)
      what.remove_prefix(end + 2);
    throw InputError(file + ": not JSON: " + printable_ascii(what, 300));
  }
}

std::string read_text_file(const std::string& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) {
    // An empty file sets failbit on the insertion, yet is read well.
    if (!in.is_open() || errno != 0)
      throw InputError(path + ": can not be read: " + (errno ? std::strerror(errno) : "unknown"));
  }
  return text.str();
}

Json read_json_file(const std::string& path) {
  return parse_json(read_text_file(path), path);
}

}  // namespace gla_bench
