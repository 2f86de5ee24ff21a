#include "harness/workers/signals.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace gla_bench {
namespace {

std::optional<int> wait_for(SignalWatch& watch) {
  for (int i = 0; i < 2000; ++i) {
    if (const auto signal = watch.take()) return signal;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return std::nullopt;
}

TEST(SignalWatch, TakesASignalOfItsOwnThread) {
  SignalWatch watch;
  EXPECT_EQ(watch.take(), std::nullopt);
  ::pthread_kill(::pthread_self(), SIGTERM);
  EXPECT_EQ(pending_signal(), SIGTERM);
  EXPECT_EQ(wait_for(watch), SIGTERM);
  EXPECT_EQ(pending_signal(), std::nullopt);
}

// A library's thread, such as those of OpenBLAS, which is there before main().
TEST(SignalWatch, TakesASignalThatAnEarlierThreadGets) {
  std::atomic<bool> over = false;
  std::thread earlier([&] {
    while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  {
    SignalWatch watch;
    for (const int signal : {SIGINT, SIGTERM}) {
      ::pthread_kill(earlier.native_handle(), signal);
      EXPECT_EQ(wait_for(watch), signal);
    }
  }
  over = true;
  earlier.join();
}

TEST(SignalWatch, PutsTheActionsBack) {
  struct sigaction before {
  }, behind{};
  ::sigaction(SIGINT, nullptr, &before);
  { const SignalWatch watch; }
  ::sigaction(SIGINT, nullptr, &behind);
  EXPECT_EQ(before.sa_handler, behind.sa_handler);
}

}  // namespace
}  // namespace gla_bench
