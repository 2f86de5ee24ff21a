// Parses text into JSON.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/support/json.hpp"
#include "harness/support/json_watch.hpp"
#include "harness/support/printable.hpp"

namespace gla_bench {

std::string escape_pointer(std::string_view key) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (std::all_of(key.begin(), key.end(), plain)) return std::string(key);  // as most are
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
  return parse_watched_json(text, file, limits);
}

std::string read_text_file(const std::string& path, std::uint64_t most) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw InputError(path + ": cannot be read: " + std::strerror(errno));
  std::string text;
  // A device or a pipe does not tell its size, and a file may grow: what counts is what comes.
  std::array<char, 65536> chunk;
  ssize_t count = 0;
  int failure = 0;
  while (failure == 0 && text.size() <= most &&
         (count = ::read(file, chunk.data(), chunk.size())) != 0) {
    if (count > 0)
      text.append(chunk.data(), static_cast<std::size_t>(count));
    else if (errno != EINTR)
      failure = errno;
  }
  ::close(file);
  if (failure != 0) throw InputError(path + ": cannot be read: " + std::strerror(failure));
  if (text.size() > most)
    throw InputError(path + ": found more than " + std::to_string(most) +
                     " bytes, expected a file of at most that size");
  return text;
}

Json read_json_file(const std::string& path, std::uint64_t most) {
  return parse_json(read_text_file(path, most), path);
}

}  // namespace gla_bench
