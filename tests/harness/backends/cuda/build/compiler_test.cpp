#include "harness/backends/cuda/build/compiler.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "core/error.hpp"
#include "tests/support/own_process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench::cuda {
namespace {

namespace fs = std::filesystem;

constexpr const char* kernel = R"(#pragma once
#include "part.cuh"
struct Params { const io_t* in; float* out; };
extern "C" __global__ void copy(const __grid_constant__ Params p) {
  __shared__ float line[tile::block];
  line[threadIdx.x] = static_cast<float>(p.in[threadIdx.x]);
  __syncthreads();
  p.out[threadIdx.x] = line[tile::block - 1 - threadIdx.x] * factor;
}
)";

// 96 values live over a loop, at 64 registers a thread: they cannot all stay in registers.
constexpr const char* spilling_kernel = R"(
extern "C" __global__ void __launch_bounds__(1024, 1) spill(const float* in, float* out, int n) {
  float r[96];
#pragma unroll
  for (int i = 0; i < 96; ++i) r[i] = in[i * 1024 + threadIdx.x];
  for (int k = 0; k < n; ++k) {
#pragma unroll
    for (int i = 0; i < 96; ++i) r[i] = r[i] * r[(i * 7 + 1) % 96] + in[k + i];
  }
#pragma unroll
  for (int i = 0; i < 96; ++i) out[i * 1024 + threadIdx.x] = r[i];
}
)";

class CompilerTest : public testing::Test {
 protected:
  CompilerTest() {
    write("family/kernel.cuh", kernel);
    write("family/part.cuh", "#pragma once\n#include \"kernels/device/deep.cuh\"\n");
    write("device/deep.cuh", "#pragma once\nconstexpr float factor = 2.0f;\n");
    write("family/spill.cuh", spilling_kernel);
    options_.source_dir = (folder_.path() / "kernels").string();
    options_.cache_dir = (folder_.path() / "cache").string();
    options_.compile_threads = 2;
  }

  void write(const std::string& path, const std::string& text) {
    const fs::path file = folder_.path() / "kernels" / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  Compiler compiler() {
    return Compiler(options_, [](const std::string& text) { FAIL() << text; });
  }

  static std::string text(int block = 64, const std::string& source = "family/kernel.cuh") {
    return "#include <cuda_bf16.h>\nusing io_t = __nv_bfloat16;\nnamespace tile { constexpr int "
           "block = " +
           std::to_string(block) + "; }\n#include \"" + source + "\"\n";
  }

  TemporaryFolder folder_;
  CudaOptions options_;
};

TEST_F(CompilerTest, BuildsForEachArchitecture) {
  Compiler c = compiler();
  for (int arch : {80, 90}) {
    const CodePtr code = c.get(text(), "family/kernel.cuh", arch);
    EXPECT_EQ(code->cubin.substr(1, 3), "ELF");
    ASSERT_EQ(code->kernels.size(), 1u);
    EXPECT_EQ(code->kernels[0].entry, "copy");
    EXPECT_GT(code->kernels[0].registers, 0);
    EXPECT_EQ(code->kernels[0].spill_bytes, 0);
    EXPECT_EQ(code->kernels[0].shared_bytes, 256);
    EXPECT_EQ(code->warnings, "");
    EXPECT_FALSE(code->cached);
  }
}

TEST_F(CompilerTest, SpillsAreReported) {
  const CodePtr code = compiler().get(text(64, "family/spill.cuh"), "family/spill.cuh", 90);
  ASSERT_EQ(code->kernels.size(), 1u);
  EXPECT_EQ(code->kernels[0].registers, 64);
  EXPECT_GT(code->kernels[0].spill_bytes, 100);
}

TEST_F(CompilerTest, WarningsAreKeptAlsoThroughTheCache) {
  write("family/spill.cuh", "extern \"C\" __global__ void idle() { int unused = 3; }\n");
  for (bool cached : {false, true}) {
    const CodePtr code = compiler().get(text(64, "family/spill.cuh"), "family/spill.cuh", 90);
    EXPECT_EQ(code->cached, cached);
    EXPECT_NE(code->warnings.find("unused"), std::string::npos);
  }
}

TEST_F(CompilerTest, AnErrorHasTheLogWithTheSourcesNameAndLine) {
  write("device/deep.cuh", "#pragma once\nconstexpr float factor = tile::absent;\n");
  Compiler c = compiler();
  for (int again = 0; again < 2; ++again) try {
      c.get(text(), "family/kernel.cuh", 90);
      FAIL() << "compiled";
    } catch (const BuildError& error) {
      const std::string log = error.what();
      EXPECT_NE(log.find("device/deep.cuh(2): error"), std::string::npos) << log;
      EXPECT_NE(log.find("absent"), std::string::npos) << log;
    }
  EXPECT_THROW(c.get(text(64, "family/no.cuh"), "family/no.cuh", 90), BuildError);
}

TEST_F(CompilerTest, TheSecondRunFindsTheBinaryOnDisk) {
  const CodePtr first = compiler().get(text(), "family/kernel.cuh", 90);
  const CodePtr second = compiler().get(text(), "family/kernel.cuh", 90);
  EXPECT_FALSE(first->cached);
  EXPECT_TRUE(second->cached);
  EXPECT_EQ(first->cubin, second->cubin);
  EXPECT_EQ(second->kernels[0].registers, first->kernels[0].registers);
}

TEST_F(CompilerTest, EveryPartOfTheKeyCounts) {
  compiler().get(text(), "family/kernel.cuh", 90);
  EXPECT_FALSE(compiler().get(text(), "family/kernel.cuh", 80)->cached) << "architecture";
  EXPECT_FALSE(compiler().get(text(32), "family/kernel.cuh", 90)->cached) << "constant";
  const std::string before = compiler().key(text(), "family/kernel.cuh", 90);
  EXPECT_NE(before.find(nvrtc_version()), std::string::npos);
  for (const std::string& option : nvrtc_options(90))
    EXPECT_NE(before.find(option), std::string::npos) << option;
  write("family/spill.cuh", "// of no concern\n");
  EXPECT_TRUE(compiler().get(text(), "family/kernel.cuh", 90)->cached) << "unrelated source";
  write("device/deep.cuh", "#pragma once\nconstexpr float factor = 3.0f;\n");
  EXPECT_FALSE(compiler().get(text(), "family/kernel.cuh", 90)->cached) << "included source";
}

TEST_F(CompilerTest, AQuickBinaryIsNeverTakenForAnOptimisedOne) {
  in_a_process_of_its_own([&] {
    compiler().get(text(), "family/kernel.cuh", 90);
    options_.quick = true;
    const CodePtr quick = compiler().get(text(), "family/kernel.cuh", 90);
    EXPECT_FALSE(quick->cached);
    EXPECT_EQ(quick->kernels.size(), 1u);
    EXPECT_TRUE(compiler().get(text(), "family/kernel.cuh", 90)->cached);
    EXPECT_NE(nvrtc_options(90, Depth::quick), nvrtc_options(90));
    // NVRTC 13.0 goes on as quickly in the same process, with other spills and other registers.
    options_.quick = false;
    EXPECT_TRUE(compiler().get(text(), "family/kernel.cuh", 90)->cached);
    EXPECT_THROW(compiler().get(text(32), "family/kernel.cuh", 90), BuildError);
  });
}

TEST_F(CompilerTest, QuicklyTheFirstOfAKindGetsMachineCodeAndTheOthersPtx) {
  in_a_process_of_its_own([&] {
    options_.quick = true;
    const auto get = [](Compiler& c, int block, const std::string& kind) {
      return c.get(text(block), "family/kernel.cuh", 90, {}, kind);
    };
    const auto is_ptx = [](const Code& code) {
      return code.cubin.empty() && code.kernels.size() == 1 && code.kernels[0].entry == "copy" &&
             code.kernels[0].registers == 0;
    };
    Compiler first = compiler();
    for (const std::string kind : {"a", "b"}) {
      const CodePtr code = get(first, kind == "a" ? 16 : 32, kind);
      EXPECT_EQ(code->cubin.substr(1, 3), "ELF") << kind;
      EXPECT_GT(code->kernels.at(0).registers, 0) << kind;
    }
    first.start(text(64), "family/kernel.cuh", 90, {}, "a");
    EXPECT_TRUE(is_ptx(*get(first, 64, "a")));
    EXPECT_FALSE(get(first, 64, "a")->cached);
    EXPECT_EQ(get(first, 16, "a")->cubin.substr(1, 3), "ELF") << "asked for again";

    // In the cache, too, neither is taken for the other.
    Compiler second = compiler();
    EXPECT_FALSE(get(second, 64, "a")->cached);
    EXPECT_EQ(get(second, 64, "a")->cubin.substr(1, 3), "ELF");
    EXPECT_FALSE(get(second, 16, "a")->cached);
    EXPECT_TRUE(is_ptx(*get(second, 16, "a")));
    Compiler third = compiler();
    EXPECT_TRUE(get(third, 16, "a")->cached);
    EXPECT_TRUE(get(third, 64, "a")->cached);
    EXPECT_TRUE(is_ptx(*get(third, 64, "a")));
  });
}

TEST_F(CompilerTest, PtxHasTheWarningsAndErrorsOfTheLanguage) {
  in_a_process_of_its_own([&] {
    options_.quick = true;
    write("family/spill.cuh",
          "extern \"C\" __global__ void idle() { int unused = tile::block; }\n");
    for (const bool cached : {false, true}) {
      Compiler c = compiler();
      c.get(text(64, "family/spill.cuh"), "family/spill.cuh", 90);
      const CodePtr code = c.get(text(32, "family/spill.cuh"), "family/spill.cuh", 90);
      EXPECT_TRUE(code->cubin.empty());
      EXPECT_EQ(code->cached, cached);
      EXPECT_NE(code->warnings.find("unused"), std::string::npos);
    }
    write("family/spill.cuh", "static_assert(tile::block == 64, \"no other block\");\n");
    Compiler c = compiler();
    c.get(text(64, "family/spill.cuh"), "family/spill.cuh", 90);
    EXPECT_THROW(c.get(text(32, "family/spill.cuh"), "family/spill.cuh", 90), BuildError);
  });
}

TEST_F(CompilerTest, ADamagedEntryIsBuiltAnew) {
  compiler().get(text(), "family/kernel.cuh", 90);
  for (const auto& entry : fs::directory_iterator(options_.cache_dir))
    fs::resize_file(entry.path(), fs::file_size(entry.path()) / 2);
  const CodePtr code = compiler().get(text(), "family/kernel.cuh", 90);
  EXPECT_FALSE(code->cached);
  EXPECT_EQ(code->cubin.substr(1, 3), "ELF");
  EXPECT_TRUE(compiler().get(text(), "family/kernel.cuh", 90)->cached);
}

TEST_F(CompilerTest, WhatWasStartedAheadIsTheSameObject) {
  Compiler c = compiler();
  for (int block : {16, 32, 64, 128}) c.start(text(block), "family/kernel.cuh", 90);
  std::vector<CodePtr> codes(8);
  std::vector<std::thread> threads;
  for (CodePtr& code : codes)
    threads.emplace_back([&] { code = c.get(text(128), "family/kernel.cuh", 90); });
  for (std::thread& thread : threads) thread.join();
  for (const CodePtr& code : codes) EXPECT_EQ(code, codes[0]) << "compiled more than once";
  for (int block : {16, 32, 64}) {
    EXPECT_EQ(c.get(text(block), "family/kernel.cuh", 90)->kernels[0].shared_bytes, 4 * block);
  }
}

TEST_F(CompilerTest, EndsWithWorkStillQueued) {
  Compiler c = compiler();
  for (int block = 1; block <= 200; ++block) c.start(text(block), "family/kernel.cuh", 90);
}

TEST_F(CompilerTest, AnUnwritableCacheIsAWarningOnly) {
  std::ofstream(folder_.path() / "cache") << "a file where the folder should be";
  int warnings = 0;
  Compiler c(options_, [&](const std::string&) { ++warnings; });
  EXPECT_EQ(c.get(text(16), "family/kernel.cuh", 90)->kernels.size(), 1u);
  EXPECT_EQ(c.get(text(32), "family/kernel.cuh", 90)->kernels.size(), 1u);
  EXPECT_EQ(warnings, 1);
}

TEST(Nvrtc, FindsTheToolkitsHeaders) {
  ASSERT_FALSE(toolkit_include_folders().empty());
  EXPECT_TRUE(fs::exists(fs::path(toolkit_include_folders()[0]) / "cuda_bf16.h"));
}

}  // namespace
}  // namespace gla_bench::cuda
