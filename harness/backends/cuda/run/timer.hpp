#pragma once
// The only timer of the CUDA backend. It places events around calls, all of which are in the stream
// before any of them runs.

#include <cuda_runtime_api.h>

#include <functional>
#include <vector>

#include "harness/backends/backend.hpp"
#include "harness/backends/cuda/device/helpers.hpp"

namespace gla_bench::cuda {

class Timer {
 public:
  /// `l2_bytes` is the size of the device's last-level cache. @throws RunError
  Timer(const Helpers& helpers, cudaStream_t stream, std::size_t l2_bytes);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  /// Returns the mean seconds of `call`. The call enqueues `launches` work items on the stream and
  /// does not wait. It must have run before, because a kernel that loads at its first launch may
  /// wait for the stream that is held here.
  ///
  /// Cold: each call runs separately, with the cache emptied before it. Hot: all calls run back to
  /// back, after one untimed call. `restore` enqueues work that undoes a call. If it is given, hot
  /// calls also run separately. Before each call its effects are undone, untimed and before the
  /// cache is emptied.
  ///
  /// A separate call seems longer than the device's work by the time between two events (a GPU test
  /// checks that this is under 5 us), so times are never too short. @throws RunError, also when the
  /// stream was held for more than ten seconds
  double sample(CacheState cache, int calls, std::size_t launches,
                const std::function<void()>& call, const std::function<void()>& restore = {});

  /// Returns the mean seconds of `call`, each of which enqueues `launches` work items, over so many
  /// rounds of `calls` calls back to back. One round before them is not timed. @throws RunError
  /// like sample()
  double round_and_round(std::size_t calls, int rounds, std::size_t launches,
                         const std::function<void()>& call);

  /// Returns the seconds of each of the parts of one call with `launches` work items, from events
  /// between the parts. The call must have run before. Cold: the cache is emptied before the first
  /// part. Hot: the call follows one untimed call. An event takes about a microsecond. @throws
  /// RunError like sample()
  std::vector<double> split(CacheState cache, std::size_t parts, std::size_t launches,
                            const std::function<void(std::size_t part)>& enqueue);

  /// Enqueues work that leaves nothing of the problem and no modified line in the last-level cache.
  /// It reads a clean buffer of several times the cache's size.
  void empty_cache();

 private:
  class Hold;
  class Event;

  double between_events(std::size_t calls, std::size_t launches, bool warm,
                        const std::function<void()>& call);

  const Helpers& helpers_;
  cudaStream_t stream_;
  std::size_t clean_bytes_;
  DeviceMemory clean_;
  unsigned* flags_ = nullptr;  // host memory: release, timed out
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace gla_bench::cuda
