#include "harness/emit/launcher.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "harness/backends/sources/architecture.hpp"
#include "harness/emit/golden.hpp"
#include "harness/engine/exec.hpp"

namespace gla_bench {
namespace {

Candidate launched(const std::string& op, const std::string& variant,
                   Direction direction = Direction::forward) {
  Problem problem;
  problem.op = op;
  problem.direction = direction;
  problem.dtype = DType::bfloat16;
  problem.shape.batch = 2;
  problem.shape.seq = 1024;
  problem.shape.heads = 4;
  problem.gate = default_gate(*find_operator(op));
  const Variant* found = find_variant(op, variant, BackendId::cuda, direction);
  return {found, problem, choose_tile(*found, problem, {}, limits_of(90))};
}

Launcher launcher_for(const Candidate& candidate, const std::string& name = "my_gla",
                      int arch = 90) {
  static const SourceStore store;
  const Limits limits = limits_of(arch);
  return launcher_of({*find_operator(candidate.problem.op), candidate, limits, store, name});
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(Launcher, IsOneFileThatIncludesNothingOfThisProgram) {
  const Launcher launcher = launcher_for(launched("gla", "chunk_sm90"));
  EXPECT_EQ(count_of(launcher.cuda, "#include \""), 1u);  // its own header
  EXPECT_EQ(count_of(launcher.cuda, "#include \"my_gla.h\""), 1u);
  EXPECT_EQ(count_of(launcher.cuda, "struct TokenStrides {"), 1u);
  EXPECT_EQ(count_of(launcher.cuda, "#pragma once"), 0u);
  EXPECT_NE(launcher.cuda.find("constexpr int key_dim = 64;"), std::string::npos);
  EXPECT_NE(launcher.cuda.find("CU_TENSOR_MAP_SWIZZLE_128B"), std::string::npos);
  EXPECT_EQ(launcher.struct_name, "MyGlaProblem");
}

TEST(Launcher, SaysForWhichSizesItHolds) {
  const Launcher launcher = launcher_for(launched("gla", "chunk_materialized"));
  EXPECT_NE(launcher.header.find("long long seq; /* tokens; 1 to "), std::string::npos);
  EXPECT_NE(launcher.header.find("const void* q; /* bfloat16 [batch, seq, heads, 64] */"),
            std::string::npos)
      << launcher.header;
  EXPECT_NE(launcher.header.find("float32 [batch, heads, 64, 64]"), std::string::npos);
  EXPECT_NE(launcher.header.find("float scale; /* the operator's own is 0.125 */"),
            std::string::npos);
  EXPECT_NE(launcher.cuda.find("at.chunk_states"), std::string::npos);
  EXPECT_NE(launcher.cuda.find("return \"seq is not from 1 to "), std::string::npos);
}

TEST(Launcher, LeavesOutWhatAKernelDoesNotNeed) {
  const Launcher plain = launcher_for(launched("gla", "chunk_fused"), "f", 80);
  EXPECT_EQ(plain.cuda.find("cuTensorMapEncodeTiled"), std::string::npos);
  EXPECT_EQ(plain.cuda.find("__CUDA_ARCH_FEAT"), std::string::npos);
}

TEST(Launcher, GivesWordsOfCAnotherName) {
  const Launcher launcher = launcher_for(launched("attention", "flash2", Direction::backward));
  EXPECT_NE(launcher.header.find("const void* do_;"), std::string::npos);
  EXPECT_EQ(member_name("q"), "q");
  EXPECT_NE(launcher.cuda.find("cudaMemsetAsync(at.dq_sums"), std::string::npos);
}

TEST(Launcher, RefusesANameThatIsNone) {
  for (const char* bad : {"", "My", "1st", "a-b", "a b", "x\"y"})
    EXPECT_THROW(launcher_for(launched("gla", "recurrent"), bad), InputError) << bad;
}

TEST(Golden, IsSmallOddAndWithinTheRanges) {
  const Candidate candidate = launched("gla", "chunk_fused");
  const RunTimeCall call = launcher_for(candidate).run_time;
  const std::vector<Extents> extents = golden_extents(call);
  ASSERT_EQ(extents.size(), 2u);
  EXPECT_NE(extents[0], extents[1]);
  for (const Extents& values : extents) EXPECT_TRUE(takes(call, values));
  const Operator& op = *find_operator("gla");
  const auto cases = golden_cases(op, candidate, call, 64e6);
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0].lines.find("case case1\nextent batch 2\nextent seq 201\nextent heads 3\n"),
            0u);
  for (const auto& [name, content] : cases[0].files)
    if (name == "case1.o.bin") {
      EXPECT_EQ(content.size(), 8u * 2 * 201 * 3 * 64);
    }
  try {
    golden_cases(op, candidate, call, 1000);
    ADD_FAILURE() << "1000 bytes are enough";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("--golden-bytes"), std::string::npos);
  }
}

}  // namespace
}  // namespace gla_bench
