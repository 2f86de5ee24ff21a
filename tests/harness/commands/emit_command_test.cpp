// gla-bench emit as a user calls it. Whether the code compiles is scripts/emit_check.py's to say.

#include <filesystem>

#include "tests/support/run_program.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

namespace fs = std::filesystem;

const std::string emitted_row =
    R"('{"variant":"chunk_fused","backend":"cuda","tile":{"block_v":64,"chunk":32,"residency":1,)"
    R"("stages":2,"terms":1,"warp_v":16,"warps_k":2},"operator":"gla","direction":"forward",)"
    R"("dtype":"bfloat16","layout":"seq_first","shape":{"batch":1,"seq":128,"heads":2,)"
    R"("key_dim":32,"value_dim":64},"gate":"mild","seed":1,"initial_state":false,)"
    R"("final_state":true}')";

TEST(EmitCommand, WritesAFolderAndReplacesNothingUnlessItIsTold) {
  const TemporaryFolder folder;
  const std::string to = " -o " + folder.file("out");
  const Outcome written = program("emit " + emitted_row + to);
  ASSERT_EQ(written.code, 0) << written.text;
  for (const char* file : {"gla_forward.cu", "gla_forward.h", "CMakeLists.txt", "README.md",
                           "test_gla_forward.cu", "golden/cases.txt", "golden/case1.q.bin"})
    EXPECT_TRUE(fs::exists(folder.file("out") + "/" + file)) << file;
  const Outcome again = program("emit " + emitted_row + to);
  EXPECT_EQ(again.code, 2);
  EXPECT_TRUE(again.has("is there already; --force replaces it")) << again.text;
  EXPECT_EQ(program("emit --force " + emitted_row + to).code, 0);
  EXPECT_EQ(program("emit --name mine " + emitted_row + to).code, 2);  // CMakeLists.txt is there
}

TEST(EmitCommand, NamesTheWinnersOfAFileWithSeveralProblems) {
  const TemporaryFolder folder;
  const std::string records = std::string(places::source_dir) + "/results/h200/headline.json";
  if (!fs::exists(records)) GTEST_SKIP() << "no committed records";
  const Outcome several = program("emit " + records + " -o " + folder.file("out"));
  EXPECT_EQ(several.code, 2);
  EXPECT_TRUE(several.has("found the winners of")) << several.text;
  EXPECT_TRUE(several.has("headline.json#")) << several.text;
  EXPECT_FALSE(fs::exists(folder.file("out")));
}

TEST(EmitCommand, RefusesWhatItCannotWrite) {
  const TemporaryFolder folder;
  const std::string to = " -o " + folder.file("out");
  for (const char* bad : {"'{}'", "nothing.json", "'{\"variant\": 3}'"})
    EXPECT_EQ(program(std::string("emit ") + bad + to).code, 2) << bad;
  EXPECT_EQ(program("emit --arch sm_1 " + emitted_row + to).code, 2);
  EXPECT_EQ(program("emit --arch sm_80,sm_90a " + emitted_row + to).code, 2);
  EXPECT_EQ(program("emit --golden-bytes 10 " + emitted_row + to).code, 2);
  EXPECT_FALSE(fs::exists(folder.file("out")));
}

TEST(EmitCommand, WritesAKernelFromOutside) {
  const TemporaryFolder folder;
  ASSERT_EQ(program("init " + folder.file("mine")).code, 0);
  const std::string row =
      R"('{"variant":"mine","backend":"cuda","tile":{"block_v":32},"operator":"gla",)"
      R"("direction":"forward","dtype":"float32","layout":"seq_first","shape":{"batch":1,)"
      R"("seq":40,"heads":2,"key_dim":16,"value_dim":24},"gate":"mild","seed":1,)"
      R"("initial_state":true,"final_state":true}')";
  const Outcome written = program("emit " + row + " --candidates " + folder.file("mine.json") +
                                  " -o " + folder.file("out"));
  EXPECT_EQ(written.code, 0) << written.text;
}

TEST(EmitCommand, TakesTheChoiceOfAuto) {
  const TemporaryFolder folder;
  std::string row = emitted_row;
  row.replace(row.find("chunk_fused"), 11, "auto");
  const std::size_t tile = row.find("{\"block_v");
  row.replace(tile, row.find('}', tile) + 1 - tile, "{}");
  const Outcome written = program("emit " + row + " -o " + folder.file("out"));
  EXPECT_EQ(written.code, 0) << written.text;
  EXPECT_TRUE(written.has("gla_forward.cu")) << written.text;
}

}  // namespace
}  // namespace gla_bench
