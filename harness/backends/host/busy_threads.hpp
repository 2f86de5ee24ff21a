#pragma once
// Other work beside a candidate on the host.

#include <atomic>
#include <thread>
#include <vector>

namespace gla_bench {

/// Threads that copy memory back and forth for as long as it lives: half as many as candidates
/// have, at least one. Each copies more than a core's own caches hold.
class BusyThreads {
 public:
  explicit BusyThreads(int candidate_threads);
  ~BusyThreads();
  BusyThreads(const BusyThreads&) = delete;
  BusyThreads& operator=(const BusyThreads&) = delete;

 private:
  std::atomic<bool> done_ = false;
  std::vector<std::thread> threads_;  // last: they use the flag
};

}  // namespace gla_bench
