#include "harness/support/system/shared_library.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

using Names = std::vector<std::string>;

/// The system's library of mathematics, which every program has loaded.
std::string mathematics() {
  return SharedLibrary::open(Names{"libm.so.6"}).path();
}

TEST(SharedLibrary, IsOpenedFromTheLoadersPath) {
  const SharedLibrary library = SharedLibrary::open(Names{"libm.so.6"});
  ASSERT_TRUE(library.is_open());
  EXPECT_TRUE(library.reason().empty());
  EXPECT_TRUE(std::filesystem::exists(library.path()));
  double (*cosine)(double) = nullptr;
  ASSERT_TRUE(library.find(cosine, "cos"));
  EXPECT_EQ(cosine(0), 1);
}

TEST(SharedLibrary, AFunctionThatItLacksIsNull) {
  const SharedLibrary library = SharedLibrary::open(Names{"libm.so.6"});
  void (*function)() = [] {};
  EXPECT_FALSE(library.find(function, "no_such_function"));
  EXPECT_EQ(function, nullptr);
}

TEST(SharedLibrary, IsOpenedFromAFolderAndByALaterName) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink(mathematics(), folder.file("libgla-later.so.2"));
  const SharedLibrary library = SharedLibrary::open(Names{"libgla-later.so.3", "libgla-later.so.2"},
                                                    Names{"/nowhere", folder.path().string()});
  ASSERT_TRUE(library.is_open()) << library.reason();
  EXPECT_EQ(library.path(), mathematics());
}

TEST(SharedLibrary, SaysWhichNamesWereTriedWhere) {
  const SharedLibrary library = SharedLibrary::open(Names{"libgla-none.so.3", "libgla-none.so.2"},
                                                    Names{"/nowhere", "/elsewhere"});
  EXPECT_FALSE(library.is_open());
  EXPECT_TRUE(library.path().empty());
  EXPECT_EQ(library.reason(),
            "libgla-none.so.3 or libgla-none.so.2 is not on the dynamic loader's path nor in "
            "/nowhere, /elsewhere");
}

TEST(SharedLibrary, SaysWhyAFileThatIsThereCannotBeOpened) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("libgla-broken.so.1")) << "no library";
  const SharedLibrary library =
      SharedLibrary::open(Names{"libgla-broken.so.1"}, Names{folder.path().string()});
  EXPECT_FALSE(library.is_open());
  EXPECT_NE(library.reason().find(folder.file("libgla-broken.so.1") + ": "), std::string::npos)
      << library.reason();
}

TEST(SharedLibrary, ACompanionIsOpenFirst) {
  const TemporaryFolder folder;
  // A copy, so that it is a library of its own under a name that only its folder knows.
  std::filesystem::copy_file(mathematics(), folder.file("libgla-companion.so.1"));
  std::filesystem::create_symlink(mathematics(), folder.file("libgla-main.so.1"));
  const auto is_loaded = [&] {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
      if (line.find(folder.file("libgla-companion.so.1")) != std::string::npos) return true;
    return false;
  };
  const Names names{"libgla-main.so.1"}, folders{folder.path().string()};
  ASSERT_TRUE(SharedLibrary::open(names, folders).is_open());
  EXPECT_FALSE(is_loaded());
  ASSERT_TRUE(SharedLibrary::open(names, folders, "libgla-companion.so").is_open());
  EXPECT_TRUE(is_loaded());
}

}  // namespace
}  // namespace gla_bench
