// No command replaces what it reads, nor one output by another; devices and links stay what they
// are.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "harness/records/journal.hpp"
#include "harness/records/record_file.hpp"
#include "harness/support/json.hpp"
#include "harness/tensors/safetensors.hpp"
#include "tests/support/run_program.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

namespace fs = std::filesystem;

class Overwrite : public testing::Test {
 protected:
  /// A config with tensors and tolerances of its own, and the results of verifying it.
  void SetUp() override {
    std::vector<SafetensorsTensor> tensors;
    for (const std::string name : {"q", "k", "v", "g"})
      tensors.push_back(
          {name, DType::float32, {1, 2, 1, 2}, std::vector<float>(4, name == "g" ? -1.0F : 1.0F)});
    write_safetensors(file("in.safetensors"), tensors);
    std::ofstream(file("c.json")) << R"({"backend": "host", "sweeps": [{"operator": "gla",
      "variants": ["recurrent"], "max_tiles": 1, "tensors": {"file": "in.safetensors"}}]})";
    const Outcome made = program("verify " + file("c.json") + " -o " + file("a.json"));
    ASSERT_EQ(made.code, 0) << made.text;
    fs::copy_file(file("a.json"), file("b.json"));
    fs::create_hard_link(file("a.json"), file("hard.json"));
    fs::create_symlink("a.json", file("soft.json"));
    fs::create_directory(file("sub"));
  }

  std::string file(const std::string& name) const { return folder_.file(name); }

  /// Words that name a file of the folder become its path.
  std::string in_folder(const std::string& arguments) const {
    std::string text = " " + arguments;
    for (std::size_t at = text.find(" @"); at != std::string::npos; at = text.find(" @", at))
      text.replace(at, 2, " " + folder_.path().string() + "/");
    for (std::size_t at = text.find("=@"); at != std::string::npos; at = text.find("=@", at))
      text.replace(at, 2, "=" + folder_.path().string() + "/");
    return text;
  }

  std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> texts;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder_.path()))
      if (entry.is_regular_file()) texts[entry.path().string()] = read_text_file(entry.path());
    return texts;
  }

  TemporaryFolder folder_;
};

TEST_F(Overwrite, IsRefusedByEveryCommandAndNothingIsLost) {
  const std::string exec = "exec --backend host --variant recurrent @in.safetensors -o ";
  const std::vector<std::string> commands{
      exec + "@in.safetensors",
      exec + "@sub/../in.safetensors",
      "report @a.json --csv @a.json",
      "report @a.json --json @soft.json",
      "report @soft.json --html @a.json",
      "report @a.json --csv @hard.json",
      "report @a.json --csv @a.json.journal",
      "report @a.json --csv @x --json @x",
      "report @a.json --csv @x --json @sub/../x",
      "report @a.json --against @b.json --json @b.json",
      "report @a.json --map --json @a.json",
      "gate @a.json --junit @a.json",
      "gate @a.json --write-baseline @a.json",
      "gate @a.json --junit @x --write-baseline @x",
      "gate @a.json --baseline @b.json --junit @b.json",
      "gate @a.json --baseline @b.json --write-baseline @b.json",
      "gate @a.json --tolerance @b.json --junit @b.json",
      "compare @a.json @b.json --json @a.json",
      "compare @a.json @b.json --junit @b.json",
      "compare @a.json --calibration @b.json --json @b.json",
      "compare @a.json @b.json --json @x --junit @x",
      "export @a.json --t4 @a.json",
      "export @a.json --t4 @soft.json",
      "verify @c.json -o @c.json --force",
      "verify @c.json -o @in.safetensors --force",
      "run @c.json -o @c.json --force",
      "run @c.json -o @c.json --extend",
      "run @c.json --against @a.json -o @a.json --force",
      "run @c.json --tuned @b.json -o @b.json --force",
      "tune @c.json -o @c.json --force",
      "tune @c.json -o @x --tuned @x",
      "tune @c.json -o @x --tuned @in.safetensors",
      "tune --from @a.json -o @a.json",
      "tune --from @a.json -o @x --export-header @x",
      "tune --from @a.json --export-header @a.json",
      "tune --tuned @b.json --export-header @b.json",
      "tune --tuned @b.json --evaluate @a.json --export-header @a.json",
      "bench @c.json --benchmark_out=@c.json",
      "bench @c.json --benchmark_out=@in.safetensors",
  };
  const auto before = contents();
  for (const std::string& command : commands) {
    const Outcome outcome = program(in_folder(command));
    EXPECT_EQ(outcome.code, 2) << command << "\n" << outcome.text;
    EXPECT_TRUE(outcome.has("is the same file as")) << command << "\n" << outcome.text;
    EXPECT_TRUE(contents() == before) << command;
  }
}

TEST_F(Overwrite, OtherFilesAreWritten) {
  for (const std::string command :
       {"report @a.json --csv @new.csv --json @new.json", "gate @a.json --junit @new.xml",
        "verify @c.json -o @a.json --force", "verify @c.json -o @a.json --resume",
        "export @a.json --t4 @a.t4.json", "report @a.json --csv /dev/null --json /dev/null"}) {
    const Outcome outcome = program(in_folder(command));
    EXPECT_EQ(outcome.code, 0) << command << "\n" << outcome.text;
  }
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(Overwrite, ADeviceThatTakesNothingIsAFailureAndStays) {
  const std::string device = file("full");
  const bool own = ::mknod(device.c_str(), S_IFCHR | 0666, makedev(1, 7)) == 0;  // as root
  const std::string full = own ? device : "/dev/full";
  for (const std::string& command :
       {"exec --backend host --variant recurrent @in.safetensors -o " + full,
        "report @a.json --csv " + full, "report @a.json --html " + full,
        "gate @a.json --junit " + full, "compare @a.json @b.json --no-times --json " + full,
        "export @a.json --t4 " + full, std::string("report @a.json --csv - >/dev/full")}) {
    const Outcome outcome = program(in_folder(command));
    EXPECT_EQ(outcome.code, 5) << command << "\n" << outcome.text;
    EXPECT_FALSE(outcome.has("written to")) << outcome.text;
    EXPECT_TRUE(fs::is_character_file(full)) << command;
  }
  const Outcome run = program(in_folder("verify @c.json --force -o " + full));
  EXPECT_EQ(run.code, 2) << run.text;
  EXPECT_TRUE(run.has("is no regular file")) << run.text;
  EXPECT_TRUE(fs::is_character_file(full));
}

TEST_F(Overwrite, PipesAndOpenDescriptorsAreWrittenThrough) {
  const std::string pipe = file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const Outcome piped = program(in_folder("report @a.json --csv " + pipe + " & cat " + pipe));
  EXPECT_TRUE(piped.has("recurrent")) << piped.text;
  EXPECT_TRUE(fs::is_fifo(pipe));

  const Outcome out = program(in_folder("report @a.json --csv /dev/stdout"));
  EXPECT_EQ(out.code, 0) << out.text;
  EXPECT_TRUE(out.has("recurrent")) << out.text;
  // What another program wrote to the same file before stays.
  const std::string log = file("log");
  const Outcome logged = program(in_folder("--version >" + log + "; " + places::program +
                                           " report @a.json --csv /dev/stdout >>" + log));
  EXPECT_EQ(logged.code, 0) << logged.text;
  const std::string text = read_text_file(log);
  EXPECT_TRUE(text.starts_with("0.") && text.find("recurrent") != std::string::npos) << text;
}

TEST_F(Overwrite, LinksAreFollowed) {
  fs::create_symlink("real.csv", file("link.csv"));
  ASSERT_EQ(program(in_folder("report @a.json --csv @link.csv")).code, 0);
  EXPECT_TRUE(fs::is_symlink(file("link.csv")));
  EXPECT_NE(read_text_file(file("real.csv")).find("recurrent"), std::string::npos);

  const std::string before = read_text_file(file("a.json"));
  ASSERT_EQ(program(in_folder("verify @c.json --force -o @soft.json")).code, 0);
  EXPECT_TRUE(fs::is_symlink(file("soft.json")));
  EXPECT_NE(read_text_file(file("a.json")), before);
  EXPECT_EQ(journal_path(file("soft.json")), journal_path(file("a.json")));
}

}  // namespace
}  // namespace gla_bench
