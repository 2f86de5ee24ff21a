#include "harness/backends/emulated/kernels.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/error.hpp"
#include "harness/backends/emulated/threads.hpp"

namespace gla_bench::emulated {
namespace {

/// What a block of 32 threads with this body ends with: an error's text, or "none".
std::string outcome_of(const std::string& body, const std::string& before = "") {
  static Compiler compiler("", 1);
  const auto texts = std::make_shared<std::map<std::string, std::string>>();
  (*texts)["k.cuh"] = before + "extern \"C\" __global__ void k() {\n" + body + "\n}\n";
  const Unit unit{"k.cuh", "// " + body + "\n#include \"k.cuh\"\n", texts};
  try {
    const KernelsPtr kernels = compiler.get(unit);
    // Whoever takes it for its own afterwards crashes.
    struct Forgotten {
      Exchange& exchange;
      ~Forgotten() { exchange.runtime = nullptr; }
    } const forgotten{kernels->exchange()};
    auto* const kernel = reinterpret_cast<void (*)()>(kernels->entry("k"));
    run_grid({{1, 1, 1}, {32, 1, 1}, 64, 0}, kernels->exchange(), [&] { kernel(); });
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
