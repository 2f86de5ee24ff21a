#pragma once
// The bytes that stand in outputs and workspaces before a run, so that what a run leaves out shows.

#include <bit>
#include <cstdint>

namespace gla_bench {

/// Whether an element still holds the poison of Workset::poison_outputs(), or a NaN that looks like
/// it.
inline bool is_poison(float value) {
  // Bytes of 0xff as they come back from float32, bfloat16 and float16.
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return bits == 0xffffffffu || bits == 0xffff0000u || bits == 0xffffe000u;
}

}  // namespace gla_bench
