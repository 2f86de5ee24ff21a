#include "harness/backends/emulated/kernels.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/error.hpp"
#include "harness/backends/emulated/threads.hpp"

namespace gla_bench::emulated {
namespace {

/// What two blocks of 32 threads with this body, or two clusters, end with: an error's text, or
/// "none".
std::string outcome_of(const std::string& body, const std::string& before = "",
                       unsigned cluster = 1) {
  static Compiler compiler("", 1);
  const std::string number = std::to_string(cluster);
  const std::string clusters = cluster > 1 ? "__cluster_dims__(" + number + ", 1, 1)\n" : "";
  const auto texts = std::make_shared<std::map<std::string, std::string>>();
  (*texts)["k.cuh"] = before + "extern \"C\" __global__ void " + clusters +
                      "__launch_bounds__(32, (1)) k() {\n" + body + "\n}\n";
  const std::size_t own = std::hash<std::string>{}((*texts)["k.cuh"]);
  const Unit unit{"k.cuh", "// " + std::to_string(own) + "\n#include \"k.cuh\"\n", texts};
  try {
    const KernelsPtr kernels = compiler.get(unit);
    EXPECT_EQ(kernels->cluster("k"), cluster);
    // Whoever takes it for its own afterwards crashes.
    struct Forgotten {
      Exchange& exchange;
      ~Forgotten() { exchange.runtime = nullptr; }
    } const forgotten{kernels->exchange()};
    auto* const kernel = reinterpret_cast<void (*)()>(kernels->entry("k"));
    run_grid({{2 * cluster, 1, 1}, {32, 1, 1}, 64, 0, kernels->cluster("k")}, kernels->exchange(),
             [&] { kernel(); });
  } catch (const RunError& error) {
    return error.what();
  }
  return "none";
}

// A barrier in shared memory that one thread arrives at.
const std::string arrive = R"(asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(0));)";

TEST(EmulatedKernels, RightOnesRun) {
  EXPECT_EQ(outcome_of("__syncthreads();"), "none");
}

TEST(EmulatedKernels, SharedVariablesAreEachKernelsOwn) {
  const auto of_size = [](int size) {
    return "inline int* place() { __shared__ int x[" + std::to_string(size) + "]; return x; }\n";
  };
  EXPECT_EQ(outcome_of("place()[0] = 7;", of_size(1)), "none");
  EXPECT_EQ(outcome_of(R"(if (place()[0] == 7) asm volatile("found.what.another.left;");)",
                       of_size(9000)),
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
  EXPECT_EQ(outcome_of(init + all_of_cluster + exchange + all_of_cluster, "", 2), "none");
}

TEST(EmulatedKernels, ABlockThatHasEndedIsNotReached) {
  EXPECT_EQ(
      outcome_of("if (blockIdx.x % 2 == 1) { asm volatile(\"barrier.cluster.arrive.release;\");"
                 " return; }" +
                     all_of_cluster + "if (threadIdx.x == 0) {" + store_in_other + "}",
                 "", 2),
      "block 1 of the cluster is reached, which has ended or is not there");
}

TEST(EmulatedKernels, AnUnknownInstructionIsNamed) {
  EXPECT_EQ(outcome_of(R"(asm volatile("vote.fancy.b32 %0;" ::"r"(1));)"),
            "the emulator does not know the instruction vote.fancy.b32");
}

TEST(EmulatedKernels, AnMbarrierThatNobodyInitialisedIsSeen) {
  EXPECT_EQ(outcome_of(arrive), "an mbarrier is used that was not initialised");
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
