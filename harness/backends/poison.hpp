#pragma once
// The bytes that fill outputs and workspaces before a run, to reveal elements that a run does not
// write.

#include <bit>
#include <cstdint>

namespace gla_bench {

/// Whether an element still holds the poison of Workset::poison_outputs(), or a NaN with the same
/// bits.
inline bool is_poison(float value) {
  // What bytes of 0xff become when converted from float32, bfloat16 and float16.
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return bits == 0xffffffffu || bits == 0xffff0000u || bits == 0xffffe000u;
}

}  // namespace gla_bench
