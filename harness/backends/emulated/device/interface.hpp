#pragma once
// What an emulated kernel and the program that runs it know of each other. The kernel is a shared
// object that includes device/cuda.hpp; the program's side is threads.hpp.

namespace gla_bench::emulated {

struct Index {
  unsigned x = 1, y = 1, z = 1;
};

/// Where the thread that runs at the moment is.
struct Place {
  Index thread, block, block_extents, grid;
};

/// What the last of several threads to arrive does for all of them. `all` has what each brought,
/// null for those that take no part: 32 lanes of a warp, or the threads of a block.
using Act = void (*)(void* const* all, int count);

/// A tensor for bulk tensor copies, in the place of the 128 bytes that a driver encodes.
struct TensorBox {
  unsigned char* first;
  long long strides[4];  ///< elements, of each axis after the first
  int extents[5];        ///< elements
  short box[5];          ///< elements of one copy
  short axes, element_bytes, swizzle_bytes;
  bool is_bfloat16;
};
static_assert(sizeof(TensorBox) <= 128);

/// Work that is put off: what does it, and a copy of its data.
using Work = void (*)(const void* data);
inline constexpr int most_work_bytes = 64;

/// Called by kernels. Each of these may run other threads of the cluster before it returns.
struct Runtime {
  /// Waits for the lanes of the mask. The last one acts.
  void (*meet_lanes)(unsigned mask, void* mine, Act act, const char* instruction);
  /// Waits for all threads of the block that still run. The last one acts.
  void (*meet_block)(void* mine, Act act, const char* instruction);
  /// Waits for the 128 threads of this thread's warpgroup. The last one acts.
  void (*meet_warpgroup)(void* mine, Act act, const char* instruction);
  /// Arrives at a barrier of so many threads by its number, and waits for them, if asked to.
  /// Returns whether one of them has brought `any`.
  bool (*meet_named)(int number, int threads, bool waits, bool any, const char* instruction);
  /// Waits until `is_over(data)`.
  void (*wait_until)(bool (*is_over)(void* data), void* data, const char* instruction);
  /// Does the work when no thread of the cluster can go on, in any order.
  void (*later)(Work work, const void* data, unsigned long bytes);
  /// Adds the work to this thread's open group, closes the group, and waits for all groups but the
  /// newest. The work is done when it is waited for.
  void (*out)(Work work, const void* data, unsigned long bytes);
  void (*commit_out)();
  void (*wait_out)(int pending);
  /// An asynchronous copy of `bytes` bytes, the first `read` of which come from `from` and the rest
  /// are zeros. It happens as late as the kernel allows it: when it is waited for.
  void (*copy)(void* to, const void* from, int bytes, int read);
  void (*commit_copies)();
  void (*wait_copies)(int pending);
  /// Arrives at the barrier of all threads of the cluster; waits for the others' arrival.
  void (*arrive_cluster)();
  void (*wait_cluster)(const char* instruction);
  /// The dynamic shared memory of a block of this cluster. It fails where that block has ended.
  unsigned char* (*shared_of)(unsigned rank);
  /// Ends the kernel with an error.
  void (*fail)(const char* reason);
};

/// Shared memory of a block: its variables, then what the launch asks for, at the most so much and
/// watched on both sides. In bytes.
inline constexpr int most_variables_bytes = 49152;
inline constexpr int most_shared_bytes = 232448;
inline constexpr int shared_guard_bytes = 4096;
/// Of all of it: where the launch's begins, and where it ends.
inline constexpr int shared_begin = most_variables_bytes + shared_guard_bytes;
inline constexpr int shared_room_bytes = shared_begin + most_shared_bytes + shared_guard_bytes;

/// The one symbol besides the kernels that a shared object has ("gla_bench_emulated").
struct Exchange {
  const Runtime* runtime;
  const Place* place;     ///< of the thread that runs
  unsigned char* shared;  ///< the dynamic shared memory of its block, at first of this object
};

}  // namespace gla_bench::emulated
