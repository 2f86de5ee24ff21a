#pragma once
// The only timer of the CUDA backend: events round calls that lie in the stream before any of them
// runs.

#include <cuda_runtime_api.h>

#include <functional>
#include <vector>

#include "harness/backends/backend.hpp"
#include "harness/backends/cuda/device/helpers.hpp"

namespace gla_bench::cuda {

class Timer {
 public:
  /// `l2_bytes`: of the device's last-level cache. @throws RunError
  Timer(const Helpers& helpers, cudaStream_t stream, std::size_t l2_bytes);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  /// Mean seconds of `call`, which enqueues `launches` pieces of work on the stream and waits for
  /// nothing; it has run before (a kernel that loads at its first launch may wait for the stream
  /// that is held here). Cold: each call by itself, the cache emptied before it. Hot: all calls
  /// back to back, after one more that is not timed. With `restore`, which enqueues what undoes a
  /// call: also hot each call by itself; it is undone before each, untimed and before the cache is
  /// emptied. A call by itself takes longer than the device works by what lies between two events
  /// (a GPU test holds that under 5 us): times are never too short. @throws RunError also
  /// when the stream was held for longer than ten seconds
  double sample(CacheState cache, int calls, std::size_t launches,
                const std::function<void()>& call, const std::function<void()>& restore = {});

  /// Seconds of each of the parts that make up one call of `launches` pieces of work, by events
  /// between them; the call has run before. Cold: the cache emptied before the first part. Hot:
  /// after one more call that is not timed. An event costs about a microsecond.
  /// @throws RunError as sample() does
  std::vector<double> split(CacheState cache, std::size_t parts, std::size_t launches,
                            const std::function<void(std::size_t part)>& enqueue);

  /// Enqueues what leaves nothing of the problem in the last-level cache, and nothing modified:
  /// reading a clean buffer of several times its size.
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
