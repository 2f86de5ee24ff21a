#include "harness/backends/cuda/build/build_cache.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <vector>

#include "tests/support/temporary_folder.hpp"

namespace gla_bench::cuda {
namespace {

namespace fs = std::filesystem;

const std::string key = "nvrtc 13.0, some options, some text";
const Binary binary{std::string("\x7f"
                                "ELF\0\n binary",
                                13),
                    "ptxas info: a log\n"};

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(BuildCache, GivesBackWhatWasStored) {
  const TemporaryFolder folder;
  BuildCache cache(folder.path() / "a" / "b", {});
  EXPECT_FALSE(cache.load(key));
  cache.store(key, binary);
  const auto loaded = BuildCache(folder.path() / "a" / "b", {}).load(key);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->cubin, binary.cubin);
  EXPECT_EQ(loaded->log, binary.log);
  EXPECT_FALSE(cache.load(key + " "));
  EXPECT_EQ(files_in(folder.path() / "a" / "b"), 1u) << "a temporary file was left";
}

TEST(BuildCache, AnEntryOfAnotherKeyIsNotTaken) {
  const TemporaryFolder folder;
  BuildCache cache(folder.path(), {});
  cache.store(key, binary);
  // As if both keys had one hash: the file lies where the other key's would.
  fs::copy_file(cache.path_of(key), cache.path_of("another key"));
  EXPECT_TRUE(cache.load(key));
  EXPECT_FALSE(cache.load("another key"));
}

TEST(BuildCache, TruncatedEntriesAreNotTaken) {
  const TemporaryFolder folder;
  BuildCache cache(folder.path(), {});
  cache.store(key, binary);
  const std::string whole = read(cache.path_of(key));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write(cache.path_of(key), whole.substr(0, size));
    ASSERT_FALSE(cache.load(key)) << "cut to " << size << " bytes";
  }
  write(cache.path_of(key), whole + "x");
  EXPECT_FALSE(cache.load(key));
}

TEST(BuildCache, EveryDamagedByteIsNoticed) {
  const TemporaryFolder folder;
  BuildCache cache(folder.path(), {});
  cache.store(key, binary);
  const std::string whole = read(cache.path_of(key));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    write(cache.path_of(key), damaged);
    ASSERT_FALSE(cache.load(key)) << "byte " << at;
  }
  cache.store(key, binary);
  EXPECT_TRUE(cache.load(key)) << "a damaged entry is replaced";
}

TEST(BuildCache, SizesThatWrapRoundAreRefused) {
  const TemporaryFolder folder;
  BuildCache cache(folder.path(), {});
  write(cache.path_of(key), "gla-bench-binary-1 18446744073709551615 1 0 0000000000000000\n");
  EXPECT_FALSE(cache.load(key));
}

TEST(BuildCache, AFolderThatCanNotBeWrittenWarnsOnce) {
  const TemporaryFolder folder;
  write(folder.path() / "file", "in the way");
  std::vector<std::string> warnings;
  BuildCache cache(folder.path() / "file" / "cache",
                   [&](const std::string& text) { warnings.push_back(text); });
  cache.store(key, binary);
  cache.store("another key", binary);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("cache"), std::string::npos);
  EXPECT_FALSE(cache.load(key));
}

TEST(BuildCache, WithoutAFolderNothingIsKept) {
  BuildCache cache({}, [](const std::string& text) { FAIL() << text; });
  cache.store(key, binary);
  EXPECT_FALSE(cache.load(key));
}

std::string refusal(const BuildCache& cache) {
  try {
    return cache.load(key) ? "taken" : "nothing";
  } catch (const UnsafeCache& error) {
    return error.what();
  }
}

TEST(BuildCache, WhatOthersMayWriteIsRefused) {
  const TemporaryFolder folder;
  BuildCache cache(folder.path() / "cache", {});
  cache.store(key, binary);
  ASSERT_EQ(refusal(cache), "taken");
  const fs::path entry = cache.path_of(key);
  for (const fs::path& path : {folder.path() / "cache", entry})
    for (const fs::perms writable : {fs::perms::group_write, fs::perms::others_write}) {
      fs::permissions(path, writable, fs::perm_options::add);
      EXPECT_EQ(refusal(cache).find(path.string() + ": may be written by others"), 0u)
          << refusal(cache);
      fs::permissions(path, writable, fs::perm_options::remove);
      EXPECT_EQ(refusal(cache), "taken");
    }
  if (::geteuid() == 0)
    for (const fs::path& path : {folder.path() / "cache", entry}) {
      ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
      EXPECT_EQ(refusal(cache).find(path.string() + ": belongs to user 12345, this is user 0"), 0u)
          << refusal(cache);
      ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
    }
  fs::rename(entry, folder.path() / "elsewhere");
  fs::create_symlink(folder.path() / "elsewhere", entry);
  EXPECT_EQ(refusal(cache), "nothing") << "a link leads out of the folder";
}

TEST(BuildCache, ItsFolderIsTheUsersAloneWhateverTheMask) {
  const TemporaryFolder folder;
  const mode_t before = ::umask(0);
  BuildCache cache(folder.path() / "cache", {});
  cache.store(key, binary);
  ::umask(before);
  EXPECT_EQ(refusal(cache), "taken");
  EXPECT_EQ(fs::status(folder.path() / "cache").permissions(), fs::perms::owner_all);
}

// A process that reads must see either nothing or a whole entry, whatever another is writing.
TEST(BuildCache, TwoProcessesShareAFolder) {
  const TemporaryFolder folder;
  const Binary large{std::string(300000, 'c'), std::string(5000, 'l')};
  const auto hammer = [&] {
    BuildCache cache(folder.path(), {});
    for (int i = 0; i < 60; ++i) {
      cache.store(key, large);
      const auto loaded = cache.load(key);
      if (!loaded || loaded->cubin != large.cubin || loaded->log != large.log) return 1;
    }
    return 0;
  };
  std::vector<pid_t> children;
  for (int i = 0; i < 2; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(hammer());
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(files_in(folder.path()), 1u);
}

// Hosts that share a folder have processes of the same number, and one that was killed leaves its
// file.
TEST(BuildCache, WhatAProcessOfTheSameNumberElsewhereWritesIsNotInTheWay) {
  const TemporaryFolder folder;
  BuildCache cache(folder.path(), [](const std::string& text) { FAIL() << text; });
  const fs::path entry = cache.path_of(key);
  for (int counter = 0; counter < 500; ++counter)
    write(entry.string() + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(counter),
          "half");
  cache.store(key, binary);
  ASSERT_TRUE(cache.load(key));
  EXPECT_EQ(cache.load(key)->cubin, binary.cubin);
}

// Two writers are killed again and again at any moment, and the entry is torn by hand in between: a
// reader has nothing or the whole, and the next store mends it.
TEST(BuildCache, KilledWritersLeaveNoTornEntry) {
  const TemporaryFolder folder;
  const Binary large{std::string(400000, 'c'), std::string(5000, 'l')};
  BuildCache reader(folder.path(), {});
  int found = 0;
  for (int round = 0; round < 20; ++round) {
    std::vector<pid_t> children;
    for (int i = 0; i < 2; ++i) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        BuildCache cache(folder.path(), {});
        while (true) cache.store(key, large);
      }
      children.push_back(child);
    }
    for (int look = 0; look < 10; ++look) {
      const auto loaded = reader.load(key);
      found += loaded ? 1 : 0;
      if (loaded) {
        EXPECT_TRUE(loaded->cubin == large.cubin && loaded->log == large.log);
      }
      ::usleep(static_cast<useconds_t>(100 * (round + 1)));
    }
    for (const pid_t child : children) {
      ::kill(child, SIGKILL);
      ASSERT_EQ(waitpid(child, nullptr, 0), child);
    }
    if (round % 4 == 3) {
      write(reader.path_of(key), "gla-bench-binary-1 torn");
      EXPECT_FALSE(reader.load(key));
      BuildCache(folder.path(), {}).store(key, large);
      EXPECT_TRUE(reader.load(key));
    }
  }
  EXPECT_GT(found, 0);
}

}  // namespace
}  // namespace gla_bench::cuda
