#include "harness/backends/emulated/kernels.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/error.hpp"
#include "tests/harness/backends/emulated/run_text.hpp"

namespace gla_bench::emulated {
namespace {

// A barrier in shared memory that one thread arrives at.
const std::string arrive = R"(asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(0));)";

TEST(EmulatedKernels, RightOnesRun) {
  EXPECT_EQ(outcome_of("__syncthreads();"), "none");
}

TEST(EmulatedKernels, SharedVariablesAreEachKernelsOwn) {
  const auto of_size = [](int size) {
    return "inline int* place() { __shared__ int x[" + std::to_string(size) + "]; return x; }\n";
  };
  EXPECT_EQ(outcome_of("place()[0] = 7;", {.before = of_size(1)}), "none");
  EXPECT_EQ(outcome_of(R"(if (place()[0] == 7) asm volatile("found.what.another.left;");)",
                       {.before = of_size(9000)}),
            "none");
}

TEST(EmulatedKernels, SharedVariablesBeginAsNaNInEachBlock) {
  EXPECT_EQ(outcome_of(R"(__shared__ __align__(16) float x[2];
                          if (threadIdx.x == 0) {
                            if (x[1] == x[1]) asm volatile("found.what.another.left;");
                            x[1] = 1.0f;
                          })"),
            "none");
}

const std::string all_of_cluster = R"(asm volatile("barrier.cluster.arrive.release;\n\t"
                                                   "barrier.cluster.wait.acquire;");)";
const std::string store_in_other = R"(
    unsigned there, barrier;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(32u), "r"(1 - blockIdx.x % 2));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(barrier) : "r"(0u), "r"(1 - blockIdx.x % 2));
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], "
                 "{%2, %3, %4, %5}, [%1];" ::"r"(there), "r"(barrier), "f"(blockIdx.x + 1.0f),
                 "f"(0.0f), "f"(0.0f), "f"(0.0f));)";

TEST(EmulatedKernels, BlocksOfAClusterStoreInEachOther) {
  const std::string init = R"(
      extern __shared__ __align__(16) unsigned char shared[];
      if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(0), "r"(1));)";
  const std::string exchange = "if (threadIdx.x == 0) {" + store_in_other + R"(
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(0), "r"(16)); }
      unsigned passed;
      asm volatile("{\n\t.reg .pred p;\n\t"
                   "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n\t"
                   "selp.u32 %0, 1, 0, p;\n\t}" : "=r"(passed) : "r"(0), "r"(0));
      const float other = blockIdx.x % 2 == 0 ? blockIdx.x + 2.0f : blockIdx.x;
      if (*reinterpret_cast<float*>(shared + 32) != other) asm volatile("found.another.value;");)";
  EXPECT_EQ(outcome_of(init + all_of_cluster + exchange + all_of_cluster, {.cluster = 2}), "none");
}

TEST(EmulatedKernels, ABlockThatHasEndedIsNotReached) {
  EXPECT_EQ(
      outcome_of("if (blockIdx.x % 2 == 1) { asm volatile(\"barrier.cluster.arrive.release;\");"
                 " return; }" +
                     all_of_cluster + "if (threadIdx.x == 0) {" + store_in_other + "}",
                 {.cluster = 2}),
      "block 1 of the cluster is reached, which has ended or is not there");
}

TEST(EmulatedKernels, AnUnknownInstructionIsNamed) {
  EXPECT_EQ(outcome_of(R"(asm volatile("vote.fancy.b32 %0;" ::"r"(1));)"),
            "the emulator does not know the instruction vote.fancy.b32");
}

TEST(EmulatedKernels, AnMbarrierThatNobodyInitialisedIsSeen) {
  EXPECT_EQ(outcome_of(arrive), "an mbarrier is used that was not initialised");
}

TEST(EmulatedKernels, AnInvalidMbarrierIsNoLongerInitialised) {
  const std::string init =
      R"(asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(0), "r"(64));)";
  EXPECT_EQ(outcome_of(init + R"(asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(0));)" +
                       arrive),
            "an mbarrier is used that was not initialised");
}

TEST(EmulatedKernels, MoreArrivalsThanAnMbarrierExpectsAreSeen) {
  EXPECT_EQ(
      outcome_of("if (threadIdx.x == 0) { "
                 R"(asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(0), "r"(2));)"
                 R"(asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], 3;" ::"r"(0)); })"),
      "more threads arrived at an mbarrier than it expects");
}

// The instructions of several kernels have the same functions, each with its own threads.
TEST(EmulatedKernels, OneDoesNotRunWithTheThreadsOfAnother) {
  EXPECT_EQ(outcome_of(arrive + "// one"), "an mbarrier is used that was not initialised");
  EXPECT_EQ(outcome_of(arrive + "// another"), "an mbarrier is used that was not initialised");
}

TEST(EmulatedKernels, WhatDoesNotCompileIsABuildError) {
  EXPECT_THROW(outcome_of("no_such_function();"), BuildError);
}

}  // namespace
}  // namespace gla_bench::emulated
