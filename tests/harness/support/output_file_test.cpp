#include "harness/support/output_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

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

}  // namespace
}  // namespace gla_bench
