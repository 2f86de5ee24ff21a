#pragma once
// The arguments of a kernel that takes several, as bytes: one slot for each.

#include <cstddef>
#include <span>

#include "core/variant.hpp"

namespace gla_bench::cuda {

/// Bytes from one argument to the next; the largest argument fills it.
constexpr std::size_t argument_slot = 8;

/// The bytes that the kernel declares for it: 8 for an address and an int64, 4 for the others.
std::size_t size_of(const Argument& argument);

/// Every argument at the beginning of its slot, as it lies in memory.
ParamBytes bytes_of(std::span<const Argument> arguments, const Address& address);

}  // namespace gla_bench::cuda
