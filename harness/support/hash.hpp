#pragma once
// A stable 64-bit hash of text, for names of cache files and source_hash. It does not protect
// against an adversary.

#include <cstdint>
#include <string>
#include <string_view>

namespace gla_bench {

/// FNV-1a of the bytes, continued from `state`.
constexpr std::uint64_t hash_bytes(std::string_view bytes,
                                   std::uint64_t state = 0xcbf29ce484222325ULL) {
  for (char byte : bytes) state = (state ^ static_cast<unsigned char>(byte)) * 0x100000001b3ULL;
  return state;
}

/// 16 hexadecimal digits.
std::string hex(std::uint64_t value);

}  // namespace gla_bench
