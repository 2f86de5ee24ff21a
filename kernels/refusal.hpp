#pragma once
// Reasons for refusing a tile that CUDA variants of every family share. All are total: they never
// throw.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/variant.hpp"

namespace gla_bench {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// The tile's choice for an axis, or 0 where it has none.
int choice(const Tile& tile, std::string_view axis);

/// "block_v=48 is not one of 32, 64" for the first axis whose choice the space does not list, or
/// nothing.
std::optional<std::string> refuse_choice(const TileSpace& space, const Tile& tile);

/// A compute capability below sm_80, which lacks asynchronous copies and tf32, or nothing.
std::optional<std::string> refuse_architecture(const Limits& limits);

/// Shared memory beyond the limit, in bytes, or nothing.
std::optional<std::string> refuse_shared(std::int64_t bytes, const Limits& limits);

/// More blocks than one grid axis holds, or nothing.
std::optional<std::string> refuse_blocks(double blocks);

/// Workspace beyond the memory limit (0: unknown), or nothing.
std::optional<std::string> refuse_workspace(double bytes, const Limits& limits);

/// terms=3 for a problem that is not float32, or nothing.
std::optional<std::string> refuse_terms(const Problem& problem, int terms);

/// What tensor-core products declare: the problem's 16-bit dtype; for float32 tf32 with one term,
/// float32 with three.
Arithmetic product_arithmetic(const Problem& problem, int terms);

}  // namespace gla_bench
