#include "harness/backends/emulated/threads.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace gla_bench::emulated {
namespace {

/// A kernel's side of the exchange, as device/cuda.hpp has it.
class EmulatedThreads : public testing::Test {
 protected:
  static constexpr unsigned threads = 64;

  unsigned thread() const { return exchange_.place->thread.x; }
  int& word(unsigned i) { return reinterpret_cast<int*>(exchange_.shared)[i]; }
  void sync() const {
    int nothing = 0;
    exchange_.runtime->meet_block(
        &nothing, [](void* const*, int) {}, "__syncthreads");
  }

  /// What the kernel leaves in the first words, one for each thread.
  std::vector<int> words(std::uint64_t order, const std::function<void()>& kernel,
                         std::size_t shared_bytes = 2 * threads * sizeof(int)) {
    run_grid({{1, 1, 1}, {threads, 1, 1}, shared_bytes, order}, exchange_, kernel);
    const int* const first = reinterpret_cast<const int*>(exchange_.shared);
    return {first, first + threads};
  }

  std::string error_of(const std::function<void()>& kernel) {
    try {
      words(0, kernel);
    } catch (const RunError& error) {
      return error.what();
    }
    return "none";
  }

  std::vector<unsigned char> memory_ = std::vector<unsigned char>(shared_room_bytes);
  Exchange exchange_{nullptr, nullptr, memory_.data() + shared_begin};
};

TEST_F(EmulatedThreads, ABarrierMakesEveryOrderAlike) {
  const auto kernel = [&] {
    word(threads + thread()) = static_cast<int>(thread());
    sync();
    word(thread()) = word(threads + (thread() + 1) % threads);
  };
  const std::vector<int> first = words(0, kernel);
  EXPECT_EQ(first[0], 1);
  EXPECT_EQ(first[threads - 1], 0);
  for (const std::uint64_t order : {1, 2, 3}) EXPECT_EQ(words(order, kernel), first);
}

TEST_F(EmulatedThreads, WithoutItTheOrderShows) {
  const auto kernel = [&] {
    word(threads + thread()) = static_cast<int>(thread());
    word(thread()) = word(threads + (thread() + 1) % threads);
  };
  EXPECT_NE(words(0, kernel), words(1, kernel));
}

TEST_F(EmulatedThreads, LanesMeetWithWhatEachBrings) {
  const auto sum = [](void* const* all, int count) {
    int total = 0;
    for (int i = 0; i < count; ++i) total += *static_cast<int*>(all[i]);
    for (int i = 0; i < count; ++i) *static_cast<int*>(all[i]) = total;
  };
  const std::vector<int> found = words(2, [&] {
    int mine = static_cast<int>(thread());
    exchange_.runtime->meet_lanes(0xffffffffu, &mine, sum, "sum");
    word(thread()) = mine;
  });
  EXPECT_EQ(found[0], 31 * 32 / 2);
  EXPECT_EQ(found[63], 31 * 32 / 2 + 32 * 32);
}

TEST_F(EmulatedThreads, ThreadsThatWaitForEverAreNamed) {
  const auto act = [](void* const*, int) {};
  EXPECT_EQ(error_of([&] {
              int mine = 0;
              if (thread() == 40)
                exchange_.runtime->meet_lanes(0xffffffffu, &mine, act, "ldmatrix");
              else
                sync();
            }),
            "threads of a block wait for each other for ever: thread 0 waits at __syncthreads, "
            "thread 40 waits at ldmatrix");
}

TEST_F(EmulatedThreads, ACopyHappensWhenItIsWaitedFor) {
  static const int source = 7;
  const std::vector<int> found = words(0, [&] {
    int& to = word(threads + thread());
    exchange_.runtime->copy(&to, &source, sizeof source, sizeof source);
    exchange_.runtime->commit_copies();
    const int before = to;
    exchange_.runtime->wait_copies(0);
    word(thread()) = before == -1 ? to : 0;  // -1: what shared memory begins with
  });
  EXPECT_EQ(found, std::vector<int>(threads, 7));
}

TEST_F(EmulatedThreads, WorkIsPutOffUntilNobodyGoesOnWithoutIt) {
  struct Data {
    int* done;
  };
  for (const std::uint64_t order : {0, 1, 2}) {
    const std::vector<int> found = words(order, [&] {
      int& done = word(threads);
      if (thread() == 0) {
        done = 0;
        const Data data{&done};
        exchange_.runtime->later([](const void* d) { *static_cast<const Data*>(d)->done = 1; },
                                 &data, sizeof data);
      }
      sync();
      const int early = done;
      exchange_.runtime->wait_until([](void* d) { return *static_cast<int*>(d) == 1; }, &done,
                                    "mbarrier.try_wait");
      word(thread()) = early == 0 ? done : -1;
    });
    EXPECT_EQ(found, std::vector<int>(threads, 1)) << order;
  }
}

TEST_F(EmulatedThreads, WhatIsNeverOverIsNamed) {
  EXPECT_EQ(error_of([&] {
              exchange_.runtime->wait_until([](void*) { return false; }, nullptr,
                                            "mbarrier.try_wait");
            }),
            "threads of a block wait for each other for ever: thread 0 waits at mbarrier.try_wait");
}

TEST_F(EmulatedThreads, ABarrierByItsNumberCountsThoseThatDoNotWait) {
  const std::vector<int> found = words(1, [&] {
    const bool waits = thread() < 32;
    if (!waits) word(threads + thread()) = 5;
    const bool any = exchange_.runtime->meet_named(3, threads, waits, thread() == 63, "barrier");
    word(thread()) = waits ? word(2 * threads - 1) + static_cast<int>(any) : 0;
  });
  EXPECT_EQ(found[0], 6);
  EXPECT_EQ(found[31], 6);
}

TEST_F(EmulatedThreads, BytesGoOutWhenTheyAreWaitedFor) {
  struct Data {
    int *from, *to;
  };
  const std::vector<int> found = words(0, [&] {
    int& from = word(threads + thread());
    from = 1;
    const Data data{&from, &word(thread())};
    exchange_.runtime->out(
        [](const void* d) {
          const auto& copy = *static_cast<const Data*>(d);
          *copy.to = *copy.from;
        },
        &data, sizeof data);
    exchange_.runtime->commit_out();
    from = 2;  // too early
    exchange_.runtime->wait_out(0);
  });
  EXPECT_EQ(found, std::vector<int>(threads, 2));
}

TEST_F(EmulatedThreads, WritesBehindSharedMemoryAreSeen) {
  EXPECT_EQ(error_of([&] {
              if (thread() == 0) word(2 * threads) = 1;
            }),
            "a block wrote outside of its shared memory");
}

TEST_F(EmulatedThreads, AGridThatClustersDoNotFillIsRefused) {
  try {
    run_grid({{3, 1, 1}, {threads, 1, 1}, 0, 0, 2}, exchange_, [] {});
    ADD_FAILURE() << "no error";
  } catch (const RunError& error) {
    EXPECT_EQ(std::string(error.what()), "a grid of 3 blocks has no clusters of 2");
  }
}

TEST_F(EmulatedThreads, BlocksOfAClusterWaitForEachOther) {
  static std::vector<unsigned> seen;
  for (const std::uint64_t order : {0, 1, 2}) {
    seen.clear();
    run_grid({{4, 1, 1}, {threads, 1, 1}, 0, order, 2}, exchange_, [&] {
      if (thread() == 0) seen.push_back(exchange_.place->block.x);
      exchange_.runtime->arrive_cluster();
      exchange_.runtime->wait_cluster("barrier.cluster.wait");
      if (thread() == 0) seen.push_back(exchange_.place->block.x);
    });
    ASSERT_EQ(seen.size(), 8u);
    for (const std::size_t half : {0, 2, 4, 6})  // a pair before the barrier, and behind it
      EXPECT_EQ(seen[half] + seen[half + 1], half < 4 ? 1u : 5u) << order;
  }
}

TEST_F(EmulatedThreads, AFailureEndsTheKernel) {
  EXPECT_EQ(error_of([&] { exchange_.runtime->fail("no such instruction"); }),
            "no such instruction");
}

}  // namespace
}  // namespace gla_bench::emulated
