#pragma once
// The mixer of fingerprints and of sign patterns. helpers.cuh has a copy for the device.

#include <cstdint>

namespace gla_bench {

/// A bijection of 64-bit words in which every input bit affects every output bit.
inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ULL;
  x = (x ^ (x >> 29)) * 0xa0761d6478bd642fULL;
  return x ^ (x >> 32);
}

}  // namespace gla_bench
