#include "harness/support/output_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "core/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(OutputFile, MakesItsFolder) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a/b/out.txt");
  write_output(path, "text");
  EXPECT_EQ(text_of(path), "text");
  write_output(path, "other");
  EXPECT_EQ(text_of(path), "other");
}

TEST(OutputFile, AFolderIsNoFile) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.file("a"));
  EXPECT_THROW(write_output(folder.file("a"), "text"), InputError);
  EXPECT_TRUE(std::filesystem::is_directory(folder.file("a")));
}

TEST(OutputFile, AFileInThePlaceOfItsFolderIsAFailureOfTheMachine) {
  const TemporaryFolder folder;
  write_output(folder.file("a"), "kept");
  try {
    write_output(folder.file("a/out.txt"), "text");
    FAIL();
  } catch (const OutputError& error) {
    EXPECT_NE(std::string(error.what()).find("a/out.txt: its folder cannot be made: "),
              std::string::npos)
        << error.what();
  }
  EXPECT_EQ(text_of(folder.file("a")), "kept");
}

std::string complaint(const std::vector<NamedFile>& inputs, const std::vector<NamedFile>& outputs) {
  try {
    expect_apart(inputs, outputs);
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

TEST(ExpectApart, KnowsAFileByAnyOfItsNames) {
  const TemporaryFolder folder;
  write_output(folder.file("a"), "a");
  write_output(folder.file("b"), "b");
  std::filesystem::create_hard_link(folder.file("a"), folder.file("hard"));
  std::filesystem::create_symlink("a", folder.file("soft"));
  std::filesystem::create_symlink("soft", folder.file("softer"));
  std::filesystem::create_symlink("not_yet", folder.file("dangling"));
  const NamedFile input{"the config", folder.file("a")};
  for (const char* same : {"a", "hard", "soft", "softer", "./a"})
    EXPECT_EQ(complaint({input}, {{"-o", folder.file(same)}}),
              "-o " + folder.file(same) + ": is the same file as the config " + folder.file("a") +
                  ", which is read; expected another file, and nothing was written");
  for (const char* other : {"b", "c", "a/b"})
    EXPECT_EQ(complaint({input}, {{"-o", folder.file(other)}}), "none") << other;
  EXPECT_NE(complaint({}, {{"--csv", folder.file("dangling")}, {"--json", folder.file("not_yet")}}),
            "none");
  EXPECT_NE(complaint({}, {{"--csv", folder.file("c")}, {"--json", folder.file("c")}}), "none");
  EXPECT_EQ(complaint({{"a", ""}, {"b", "-"}, {"c", "/dev/null"}},
                      {{"d", ""}, {"e", "-"}, {"f", "/dev/null"}, {"g", "-"}, {"h", "/dev/null"}}),
            "none");
}

TEST(OutputFile, LinksAreFollowedAlsoToWhatIsNotThereYet) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("sub/real", folder.file("link"));
  write_output(folder.file("link"), "text");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link")));
  EXPECT_EQ(text_of(folder.file("sub/real")), "text");
  write_output(folder.file("link"), "other");
  EXPECT_EQ(text_of(folder.file("sub/real")), "other");
  std::filesystem::create_symlink("loop", folder.file("loop"));
  EXPECT_THROW(write_output(folder.file("loop"), "text"), OutputError);
}

TEST(OutputFile, AnOpenDescriptorKeepsItsPlaceInTheFile) {
  const TemporaryFolder folder;
  const int descriptor =
      ::open(folder.file("log").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(::write(descriptor, "before ", 7), 7);
  write_output("/dev/fd/" + std::to_string(descriptor), "text");
  ASSERT_EQ(::write(descriptor, " after", 6), 6);
  ::close(descriptor);
  EXPECT_EQ(text_of(folder.file("log")), "before text after");
}

}  // namespace
}  // namespace gla_bench
