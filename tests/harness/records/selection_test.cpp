#include "harness/records/selection.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/commands/shared/tools.hpp"
#include "harness/records/record_file.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/toy.hpp"

namespace gla_bench {
namespace {

Record record() {
  Record r;
  r.problem.op = "gla";
  r.problem.dtype = DType::bfloat16;
  r.problem.layout = Layout::head_first;
  r.problem.shape = {2, 100, 3, 64, 32};
  r.problem.gate = "resets";
  r.problem.seed = 18446744073709551615ULL;
  r.problem.initial_state = true;
  r.problem.scale = 0.125;
  r.problem.options = {{"in_place", "true"}};
  r.variant = "chunk_fused";
  r.backend = BackendId::cuda;
  r.tile = {{"chunk", 64}, {"block_v", 32}};
  return r;
}

std::string error_of(const std::string& text) {
  try {
    read_selection(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Selection, IsReadBackAsItWasWritten) {
  for (Record r : {record(), Record{}}) {
    if (r.variant.empty()) r.problem = toy::problem();
    const Selection s = read_selection(selection_text(selection_of(r)));
    EXPECT_EQ(s.problem, r.problem);
    EXPECT_EQ(s.variant, r.variant);
    EXPECT_EQ(s.backend, r.backend);
    EXPECT_EQ(s.tile, r.tile);
  }
}

TEST(Selection, RealInputIsReadBackToo) {
  Record r = record();
  r.problem.tensors = "it's here/in.safetensors";
  r.problem.tensor_names = {{"q", "model.q"}};
  EXPECT_EQ(read_selection(selection_text(selection_of(r))).problem, r.problem);
  EXPECT_NE(repeat_command(r).find("it'\\''s here"), std::string::npos) << repeat_command(r);
}

TEST(Selection, IsARowOfAFileCountedFromOne) {
  const TemporaryFolder folder;
  const std::string path = folder.file("with#hash.json");
  Record other = record();
  other.variant = "recurrent";
  {
    RecordFile file = RecordFile::create(path, {}, Json{{"sweeps", Json::array()}});
    file.append(record());
    file.append(other);
    other.peer = true;
    other.variant = "somebody.else";
    file.append(other);
  }
  EXPECT_EQ(read_selection(path + "#1").variant, "chunk_fused");
  EXPECT_EQ(read_selection(path + "#2").variant, "recurrent");
  EXPECT_NE(error_of(path + "#3").find("peer"), std::string::npos);
  EXPECT_NE(error_of(path + "#4").find("expected a number from 1 to 3"), std::string::npos);
  EXPECT_NE(error_of(path + "#0").find("expected a number from 1 to 3"), std::string::npos);
  EXPECT_NE(error_of(path + "#1x").find("found row \"1x\""), std::string::npos);
  EXPECT_NE(error_of(folder.file("absent.json") + "#1"), "");
}

TEST(Selection, SaysWhatIsWrong) {
  EXPECT_NE(error_of("run.json").find("expected FILE#ROW"), std::string::npos);
  EXPECT_NE(error_of("{"), "");
  EXPECT_NE(error_of("{\"variant\": \"x\", \"more\": 1}").find("more"), std::string::npos);
  std::string text = selection_text(selection_of(record()));
  text.replace(text.find("\"cuda\""), 6, "\"tpu\"");
  EXPECT_NE(error_of(text).find("a backend: host, cuda"), std::string::npos) << error_of(text);
}

TEST(Selection, FindsTheCandidateOrSaysWhyNot) {
  const Catalog catalog = toy::catalog();
  Selection s{toy::problem(), "fast", BackendId::cuda, {{"chunk", 64}, {"warps", 2}}};
  EXPECT_EQ(find_candidate(s, catalog, {}).variant->name, "fast");
  const auto complaint = [&] {
    try {
      find_candidate(s, catalog, {});
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  s.tile["warps"] = 1;
  EXPECT_NE(complaint().find("chunk 64 needs 2 warps"), std::string::npos);
  s.tile["warps"] = 3;
  EXPECT_NE(complaint().find("no such tile"), std::string::npos);
  s.variant = "gone";
  EXPECT_NE(complaint().find("no variant 'gone'"), std::string::npos);
}

TEST(Selection, QuotesForAShell) {
  EXPECT_EQ(shell_quoted("plain-1.2/x=y"), "plain-1.2/x=y");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
  EXPECT_EQ(shell_quoted("{\"a\":'b'}"), "'{\"a\":'\\''b'\\''}'");
}

TEST(Tools, AreFoundInThePathFirstAndElseWhereToolkitsPutThem) {
  const auto in = [](std::string there) {
    return [there](const std::string& path) { return path == there; };
  };
  EXPECT_EQ(find_tool("ncu", "/a:/b", in("/b/ncu")), "/b/ncu");
  EXPECT_EQ(find_tool("ncu", "", in("/usr/local/cuda/bin/ncu")), "/usr/local/cuda/bin/ncu");
  try {
    find_tool("ncu", "/a", in("/c/ncu"));
    FAIL() << "found";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("ncu is not installed"), std::string::npos);
  }
}

TEST(Tools, LookAtOneCallAndLeaveTheClocksAlone) {
  const std::vector<std::string> repeat{"--device", "1", "{}"};
  EXPECT_EQ(ncu_command("/x/ncu", "gla-bench", repeat, "", {}),
            (std::vector<std::string>{"/x/ncu", "--clock-control", "none", "--profile-from-start",
                                      "off", "--set", "full", "gla-bench", "repeat", "--profile",
                                      "--device", "1", "{}"}));
  EXPECT_EQ(ncu_command("/x/ncu", "gla-bench", repeat, "row", {"--metrics", "m"}),
            (std::vector<std::string>{"/x/ncu", "--clock-control", "none", "--profile-from-start",
                                      "off", "--force-overwrite", "-o", "row", "--metrics", "m",
                                      "gla-bench", "repeat", "--profile", "--device", "1", "{}"}));
  EXPECT_EQ(sanitizer_command("/x/cs", "gla-bench", repeat, "racecheck", {}),
            (std::vector<std::string>{"/x/cs", "--tool", "racecheck", "--error-exitcode", "1",
                                      "gla-bench", "repeat", "--profile", "--device", "1", "{}"}));
}

}  // namespace
}  // namespace gla_bench
