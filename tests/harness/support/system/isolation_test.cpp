// What a process can no longer do that has been isolated. Each test forks, since there is no way
// back.

#include "harness/support/system/isolation.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

namespace gla_bench {
namespace {

namespace fs = std::filesystem;

constexpr int not_allowed_here = 77;

/// The exit code of a forked process that is isolated and then looks at something: 0 or 1.
int isolated(const IsolationPlan& plan, const std::function<bool()>& holds) {
  const pid_t child = ::fork();
  if (child == 0) {
    const Isolation isolation = isolate(plan);
    ::_exit(!isolation.network || !isolation.files ? not_allowed_here : holds() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define EXPECT_ISOLATED(plan, holds)                                    \
  do {                                                                  \
    const int code = isolated(plan, holds);                             \
    if (code == not_allowed_here) GTEST_SKIP() << "not to be had here"; \
    EXPECT_EQ(code, 0);                                                 \
  } while (false)

class Isolated : public testing::Test {
 protected:
  Isolated() {
    std::string pattern = (fs::temp_directory_path() / "gla_bench-isolated-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
  }
  ~Isolated() override { fs::remove_all(folder); }

  static bool can_write(const fs::path& file) {
    return (std::ofstream(file) << "x").flush().good();
  }

  fs::path folder;
};

TEST_F(Isolated, FilesCannotBeChangedOutsideOfItsOwnFolders) {
  EXPECT_ISOLATED({}, [&] { return !can_write(folder / "file") && errno == EROFS; });
  EXPECT_FALSE(fs::exists(folder / "file"));
  EXPECT_ISOLATED({}, [] { return can_write(fs::path(std::getenv("TMPDIR")) / "file"); });
  EXPECT_FALSE(fs::exists("/dev/shm/file")) << "it ends with the process";
  EXPECT_ISOLATED({.writable = {folder.string()}}, [&] { return can_write(folder / "kept"); });
  EXPECT_TRUE(fs::exists(folder / "kept"));
  EXPECT_ISOLATED({.writable = {"/no/such/folder"}}, [&] { return !can_write(folder / "file"); });
}

TEST_F(Isolated, ItsThreadsHaveNamesWhichCudaGivesThemAndTheRestOfProcIsClosed) {
  const std::string parent = "/proc/" + std::to_string(::getpid());
  EXPECT_ISOLATED({}, [&] {
    const std::string own = "/proc/self/task/" + std::to_string(::getpid()) + "/comm";
    return can_write(own) && !can_write("/proc/sys/kernel/core_pattern") &&
           !can_write(parent + "/comm") && !can_write("/proc/self/oom_score_adj");
  });
}

TEST_F(Isolated, FilesStayOpenWhereThatIsAskedForAndTheRestHolds) {
  const pid_t child = ::fork();
  if (child == 0) {
    const Isolation isolation = isolate({.files_stay_open = "asked for"});
    if (!isolation.network) ::_exit(not_allowed_here);
    ::_exit(can_write(folder / "kept") && describe(isolation) == "network (asked for)" ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WEXITSTATUS(status) == not_allowed_here) GTEST_SKIP() << "not to be had here";
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(fs::exists(folder / "kept"));
}

TEST_F(Isolated, ThereIsNoNetworkNotEvenToThisMachine) {
  const int server = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* place = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(server, place, size), 0);
  ASSERT_EQ(::listen(server, 1), 0);
  ASSERT_EQ(::getsockname(server, place, &size), 0);
  const auto reached = [&] {
    return ::connect(::socket(AF_INET, SOCK_STREAM, 0), place, size) == 0;
  };
  EXPECT_TRUE(reached());
  EXPECT_ISOLATED({}, [&] { return !reached(); });
  ::close(server);
}

TEST_F(Isolated, ItCannotBeTakenBack) {
  constexpr unsigned long writable_again = MS_REMOUNT | MS_BIND;
  EXPECT_ISOLATED({}, [&] { return ::mount("none", "/", nullptr, writable_again, nullptr) != 0; });
  EXPECT_ISOLATED({}, [&] { return ::umount("/dev/shm") != 0; });
}

TEST_F(Isolated, MemoryHasALimit) {
  constexpr std::size_t limit = std::size_t{256} << 20;
  const auto refused = [](std::size_t bytes) {
    void* memory = std::malloc(bytes);
    std::free(memory);
    return memory == nullptr;
  };
  EXPECT_ISOLATED((IsolationPlan{{}, limit, {}}),
                  [&] { return refused(2 * limit) && !refused(limit / 8); });
}

TEST(Isolation, SaysWhatItIs) {
  EXPECT_EQ(describe({true, true, ""}), "network and files");
  EXPECT_EQ(describe({true, false, "mount: Operation not permitted"}),
            "network (mount: Operation not permitted)");
  EXPECT_EQ(describe({false, false, "unshare: No such thing"}), "nothing (unshare: No such thing)");
}

}  // namespace
}  // namespace gla_bench
