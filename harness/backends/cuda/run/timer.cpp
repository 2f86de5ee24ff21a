#include "harness/backends/cuda/run/timer.hpp"

#include <algorithm>
#include <atomic>

#include "core/error.hpp"
#include "harness/backends/cuda/device/check.hpp"

namespace gla_bench::cuda {
namespace {

constexpr std::uint64_t hold_timeout_ns = 10'000'000'000;

// The most work items that may wait in a held stream. The driver's queue takes about a thousand. An
// enqueue that finds the queue full would wait for the stream, while the stream waits for the host.
constexpr std::size_t queue_depth = 256;

// Reading four times the cache's size leaves nothing else in the cache, even if it does not evict
// the oldest line first or has two halves.
constexpr std::size_t flush_factor = 4;

}  // namespace

// Holds the stream from construction until release(), or at the latest until destruction.
class Timer::Hold {
 public:
  Hold(const Timer& timer) : flags_(timer.flags_) {
    std::atomic_ref(flags_[0]).store(0);
    std::atomic_ref(flags_[1]).store(0);
    timer.helpers_.hold_stream(flags_, flags_ + 1, hold_timeout_ns, timer.stream_);
  }
  ~Hold() { release(); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  void release() { std::atomic_ref(flags_[0]).store(1); }
  bool timed_out() const { return std::atomic_ref(flags_[1]).load() != 0; }

 private:
  unsigned* flags_;
};

Timer::Timer(const Helpers& helpers, cudaStream_t stream, std::size_t l2_bytes)
    : helpers_(helpers),
      stream_(stream),
      clean_bytes_(std::max(flush_factor * l2_bytes, std::size_t{64} << 20) / 16 * 16),
      clean_(clean_bytes_, "emptying the cache") {
  check(cudaMemsetAsync(clean_.data(), 0, clean_bytes_, stream_), "cudaMemsetAsync");
  check(cudaHostAlloc(reinterpret_cast<void**>(&flags_), 2 * sizeof(unsigned), cudaHostAllocMapped),
        "cudaHostAlloc");
  check(cudaEventCreate(&begin_), "cudaEventCreate");
  check(cudaEventCreate(&end_), "cudaEventCreate");
  { const Hold hold(*this); }  // a first launch of each, so that none is loaded within a sample
  empty_cache();
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

Timer::~Timer() {
  if (begin_ != nullptr) ignore(cudaEventDestroy(begin_));
  if (end_ != nullptr) ignore(cudaEventDestroy(end_));
  if (flags_ != nullptr) ignore(cudaFreeHost(flags_));
}

void Timer::empty_cache() {
  check(cudaCtxResetPersistingL2Cache(), "cudaCtxResetPersistingL2Cache");
  helpers_.read_buffer(clean_.data(), clean_bytes_, stream_);
}

double Timer::between_events(std::size_t calls, std::size_t launches, bool warm,
                             const std::function<void()>& call) {
  Hold hold(*this);
  if (warm) call();
  check(cudaEventRecord(begin_, stream_), "cudaEventRecord");
  for (std::size_t i = 0; i < calls; ++i) {
    call();
    if ((i + 2) * launches > queue_depth) hold.release();
  }
  check(cudaEventRecord(end_, stream_), "cudaEventRecord");
  hold.release();
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize after a timed call");
  if (hold.timed_out())
    throw RunError("the stream was held for more than 10 s: enqueuing waits for the stream itself");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
  return static_cast<double>(milliseconds) * 1e-3 / static_cast<double>(calls);
}

double Timer::sample(CacheState cache, int calls, std::size_t launches,
                     const std::function<void()>& call, const std::function<void()>& restore) {
  const auto count = static_cast<std::size_t>(std::max(calls, 1));
  const bool hot = cache == CacheState::hot;
  if (hot && !restore) return between_events(count, launches, true, call);
  if (hot) call();  // brings in what is not restored
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (restore) restore();
    if (!hot) empty_cache();
    sum += between_events(1, launches, false, call);
  }
  return sum / static_cast<double>(count);
}

double Timer::round_and_round(std::size_t calls, int rounds, std::size_t launches,
                              const std::function<void()>& call) {
  for (std::size_t i = 0; i < calls; ++i) call();
  return between_events(calls * static_cast<std::size_t>(std::max(rounds, 1)), launches, false,
                        call);
}

// An event that exists only while one call is split into parts.
class Timer::Event {
 public:
  Event() { check(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~Event() { ignore(cudaEventDestroy(event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "cudaEventRecord"); }
  double seconds_since(const Event& begin) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin.event_, event_), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

std::vector<double> Timer::split(CacheState cache, std::size_t parts, std::size_t launches,
                                 const std::function<void(std::size_t part)>& enqueue) {
  std::vector<Event> events(parts + 1);
  if (cache == CacheState::cold) empty_cache();
  Hold hold(*this);
  const bool warm = cache == CacheState::hot;
  if ((warm ? 2 : 1) * launches + parts > queue_depth) hold.release();
  for (std::size_t i = 0; warm && i < parts; ++i) enqueue(i);
  events[0].record(stream_);
  for (std::size_t i = 0; i < parts; ++i) {
    enqueue(i);
    events[i + 1].record(stream_);
  }
  hold.release();
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize after a timed call");
  if (hold.timed_out())
    throw RunError("the stream was held for more than 10 s: enqueuing waits for the stream itself");
  std::vector<double> seconds(parts);
  for (std::size_t i = 0; i < parts; ++i) seconds[i] = events[i + 1].seconds_since(events[i]);
  return seconds;
}

}  // namespace gla_bench::cuda
