#pragma once
// The threads of an emulated grid. Each is a context of its own on one thread of the host; they
// take turns where they wait for each other, and so do the blocks of a cluster. Clusters, or blocks
// that form none, run one after the other, in their order.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "harness/backends/emulated/device/interface.hpp"

namespace gla_bench::emulated {

struct Grid {
  Index blocks, threads;
  std::size_t shared_bytes = 0;
  /// In which order threads that could all run do so: 0 ascending, 1 descending, any other number
  /// random orders that follow from it. Right kernels leave the same whatever the order.
  std::uint64_t order = 0;
  unsigned cluster = 1;  ///< blocks, neighbours along x, that form a cluster
};

/// Runs `kernel` for every thread of the grid. Before each block its shared memory is filled with
/// 0xff. @throws RunError when threads wait for others that never arrive, when a kernel
/// writes behind its shared memory, or when it fails
void run_grid(const Grid& grid, Exchange& exchange, const std::function<void()>& kernel);

}  // namespace gla_bench::emulated
