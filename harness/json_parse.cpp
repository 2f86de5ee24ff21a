// Text -> JSON: syntax errors with line and column, duplicate keys refused.

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "harness/error.hpp"
#include "harness/json.hpp"

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
  return text;
}

namespace {

/// Follows the parser through the document to find keys that stand twice in one object.
class DuplicateKeys {
 public:
  explicit DuplicateKeys(const std::string& file) : file_(file) {}

  bool operator()(int, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    switch (event) {
      case Event::object_start:
      case Event::array_start:
        enter_value();
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
    levels_.back().key = key;
    if (levels_.back().keys.insert(key).second) return;
    std::string pointer;
    for (const Level& level : levels_) {
      pointer += '/';
      pointer += level.object ? escape_pointer(level.key) : std::to_string(level.index);
    }
    throw InputError(file_ + ": " + pointer + ": " + "the key stands twice, expected it once");
  }

  std::string file_;
  std::vector<Level> levels_;
};

}  // namespace

Json parse_json(std::string_view text, const std::string& file) {
  try {
    return Json::parse(text.begin(), text.end(), DuplicateKeys(file));
  } catch (const nlohmann::json::exception& error) {
    std::string_view what = error.what();
    if (const auto end = what.find("] "); end != std::string_view::npos)
      what.remove_prefix(end + 2);
    throw InputError(file + ": not JSON: " + std::string(what));
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
