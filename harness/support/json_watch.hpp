#pragma once
// Checks whether a text is JSON that may be parsed, with or without building the document.

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace gla_bench {

/// Limits on what could let a short text exhaust the stack, the time or the memory of its reader.
/// Copying and comparing recurse once for each level of the document. Finding a member of an object
/// that keeps the file's order looks at all members before it. Every node below a key holds that
/// key in its pointer.
struct JsonLimits {
  std::size_t levels = 0;
  std::size_t members = 0;    ///< keys of an object
  std::size_t key_bytes = 0;  ///< of a key
};

/// Refuses what is not JSON, what exceeds the limits, and a key that stands twice in one object
/// (the parser would keep the last). Takes linear time. The parser accepts everything that this
/// accepts.
/// @throws InputError with line and column, or with the pointer
void watch_json(std::string_view text, const std::string& file, const JsonLimits& limits);

/// The document of a text that watch_json() accepts, in the same pass. @throws InputError as that
nlohmann::ordered_json parse_watched_json(std::string_view text, const std::string& file,
                                          const JsonLimits& limits);

}  // namespace gla_bench
