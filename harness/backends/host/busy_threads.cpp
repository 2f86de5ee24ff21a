#include "harness/backends/host/busy_threads.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace gla_bench {
namespace {

constexpr std::size_t copied_bytes = std::size_t{4} << 20;

void copy_until(const std::atomic<bool>& done) {
  std::vector<unsigned char> from(copied_bytes, 1), to(copied_bytes, 2);
  while (!done) {
    std::memcpy(to.data(), from.data(), copied_bytes);
    std::swap(from, to);
  }
}

}  // namespace

BusyThreads::BusyThreads(int candidate_threads) {
  const int count = std::max(candidate_threads / 2, 1);
  for (int i = 0; i < count; ++i) threads_.emplace_back([this] { copy_until(done_); });
}

BusyThreads::~BusyThreads() {
  done_ = true;
  for (std::thread& thread : threads_) thread.join();
}

}  // namespace gla_bench
