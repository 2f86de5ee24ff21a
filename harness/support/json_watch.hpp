#pragma once
// Whether a text is JSON that may be parsed, found out without building the document.

#include <cstddef>
#include <string>
#include <string_view>

namespace gla_bench {

/// What a short text could make exhaust the stack, the time or the memory of who reads it. Copying
/// and comparing go down a level of the stack for each level of the document; a member of an object
/// that keeps the file's order is found by looking at all before it; every node below a key holds
/// it in its pointer.
struct JsonLimits {
  std::size_t levels = 0;
  std::size_t members = 0;    ///< keys of an object
  std::size_t key_bytes = 0;  ///< of a key
};

/// Refuses what is not JSON, a key that stands twice in one object (the parser would keep the last)
/// and what is beyond the limits; in linear time. What it takes the parser takes.
/// @throws InputError with line and column, or with the pointer
void watch_json(std::string_view text, const std::string& file, const JsonLimits& limits);

}  // namespace gla_bench
