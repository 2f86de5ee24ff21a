#include "harness/backends/sources/ptxas_log.hpp"

#include <gtest/gtest.h>

namespace gla_bench {
namespace {

constexpr const char* log_of_two = R"(k.cu(12): warning #177-D: variable "unused" was declared
   int unused = 3;
       ^

ptxas info    : 4 bytes gmem, 8 bytes cmem[4]
ptxas info    : Compiling entry function 'plain' for 'sm_80'
ptxas info    : Function properties for plain
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 1 barriers, 360 bytes cmem[0]
ptxas info    : Compile time = 2.027 ms
ptxas info    : Compiling entry function 'spill' for 'sm_80'
ptxas info    : Function properties for spill
ptxas         .     688 bytes stack frame, 1692 bytes spill stores, 1656 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 144 bytes smem, 376 bytes cmem[0]
ptxas info    : Function properties for _Z1fPfi
    8 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas warning : Local memory used for function 'spill', size 688 bytes
)";

TEST(PtxasLog, ReadsEachKernel) {
  const PtxasLog log = parse_ptxas_log(log_of_two);
  ASSERT_EQ(log.kernels.size(), 2u);
  EXPECT_EQ(log.kernels[0].entry, "plain");
  EXPECT_EQ(log.kernels[0].registers, 10);
  EXPECT_EQ(log.kernels[0].spill_bytes, 0);
  EXPECT_EQ(log.kernels[0].shared_bytes, 0);
  EXPECT_EQ(log.kernels[1].entry, "spill");
  EXPECT_EQ(log.kernels[1].registers, 32);
  EXPECT_EQ(log.kernels[1].spill_bytes, 1692 + 1656 + 4 + 8);  // with the function that it calls
  EXPECT_EQ(log.kernels[1].shared_bytes, 144);
}

TEST(PtxasLog, KernelsOfPtxAreItsEntries) {
  const auto kernels = kernels_of_ptx(
      ".version 9.0\n.target sm_90a\n\n.visible .func helper(\n\t.param .b64 p\n)\n"
      "\t// .globl\tplain\n.visible .entry plain(\n\t.param .b64 p_0\n)\n{\n\tret;\n}\n"
      ".weak .entry _Z1fPfi(\n)\n.entry idle()\n");
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0].entry, "plain");
  EXPECT_EQ(kernels[1].entry, "_Z1fPfi");
  EXPECT_EQ(kernels[2].entry, "idle");
  EXPECT_TRUE(kernels_of_ptx("").empty());
}

TEST(PtxasLog, KeepsWarningsAndNothingElse) {
  EXPECT_EQ(parse_ptxas_log(log_of_two).warnings,
            "k.cu(12): warning #177-D: variable \"unused\" was declared\n   int unused = 3;\n"
            "       ^\n\nptxas warning : Local memory used for function 'spill', size 688 bytes\n");
  EXPECT_EQ(parse_ptxas_log("ptxas info    : 0 bytes gmem\n").warnings, "");
  EXPECT_TRUE(parse_ptxas_log("").kernels.empty());
}

TEST(PtxasLog, ProductsThatRunOneAtATimeAreNoMereInformation) {
  const std::string line =
      "ptxas info    : (C7512) Potential Performance Loss: wgmma.mma_async instructions are "
      "serialized due to insufficient register resources for the function 'k'\n";
  const PtxasLog log = parse_ptxas_log(line + log_of_two);
  EXPECT_EQ(log.kernels.size(), 2u);
  EXPECT_TRUE(log.warnings.starts_with(line)) << log.warnings;
}

}  // namespace
}  // namespace gla_bench
