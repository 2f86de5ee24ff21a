// Parses text into JSON.

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.hpp"
#include "harness/support/json.hpp"
#include "harness/support/json_watch.hpp"
#include "harness/support/printable.hpp"

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

// No document of this program comes near these limits.
constexpr JsonLimits limits{64, 1000, 256};

}  // namespace

Json parse_json(std::string_view text, const std::string& file) {
  watch_json(text, file, limits);
  return Json::parse(text.begin(), text.end());
}

std::string read_text_file(const std::string& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) {
    // An empty file sets failbit on the insertion, yet is read well.
    if (!in.is_open() || errno != 0)
      throw InputError(path + ": cannot be read: " + (errno ? std::strerror(errno) : "unknown"));
  }
  return text.str();
}

Json read_json_file(const std::string& path) {
  return parse_json(read_text_file(path), path);
}

}  // namespace gla_bench
