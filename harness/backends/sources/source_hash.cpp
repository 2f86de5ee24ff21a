#include "harness/backends/sources/source_hash.hpp"

#include <cinttypes>
#include <cstdio>

#include "core/error.hpp"
#include "harness/support/hash.hpp"

namespace gla_bench {

std::string hex(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016" PRIx64, value);
  return text;
}

std::string source_hash(const Variant& variant, const SourceStore& store) {
  if (variant.sources.empty()) throw InputError("variant '" + variant.name + "' names no sources");
  std::uint64_t state = hash_bytes("gla-bench sources");
  for (const Source& source : store.closure(variant.sources)) {
    // The lengths keep text from moving between a path and its neighbour unnoticed.
    state = hash_bytes(std::to_string(source.path.size()) + ":", state);
    state = hash_bytes(source.path, state);
    state = hash_bytes(std::to_string(source.text.size()) + ":", state);
    state = hash_bytes(source.text, state);
  }
  return hex(state);
}

std::string source_hash(const Variant& variant) {
  static const SourceStore store;
  return source_hash(variant, store);
}

}  // namespace gla_bench
