#include "harness/support/system/isolation.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace gla_bench {
namespace {

/// Where the folder of its own is mounted. Every Linux has it, and what other processes share there
/// is then out of reach as well.
constexpr const char* own_place = "/dev/shm";

/// Files of this process's threads, which stay open to it: CUDA names its threads there, and does
/// not start where it cannot. Those of other processes, and the kernel's settings, are closed.
constexpr const char* own_threads = "/proc/self/task";

/// As mount_setattr(2) has it. Not all C libraries know the call.
struct MountAttributes {
  std::uint64_t set = 0, clear = 0, propagation = 0, user_namespace = 0;
};
constexpr long mount_setattr_call = 442;
constexpr std::uint64_t read_only = 1;
constexpr unsigned recursive = 0x8000;

bool change_mount(const std::string& path, unsigned flags, const MountAttributes& attributes) {
  return ::syscall(mount_setattr_call, AT_FDCWD, path.c_str(), flags, &attributes,
                   sizeof attributes) == 0;
}

bool write_file(const char* path, const std::string& text) {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t written = ::write(file, text.data(), text.size());
  ::close(file);
  return written == static_cast<ssize_t>(text.size());
}

/// Namespaces of one's own. Root has them at once; others, and a root without the right, as the
/// root of a namespace of users, in which they keep their own number.
bool leave_namespaces() {
  constexpr int spaces = CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC;
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (user == 0 && ::unshare(spaces) == 0) return true;
  if (::unshare(spaces | CLONE_NEWUSER) != 0) return false;
  const auto same = [](auto id) { return std::to_string(id) + " " + std::to_string(id) + " 1"; };
  return write_file("/proc/self/setgroups", "deny") &&
         write_file("/proc/self/uid_map", same(user)) &&
         write_file("/proc/self/gid_map", same(group));
}

/// All files read-only but the writable folders and a new one in memory.
bool close_files(const std::vector<std::string>& writable) {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  if (::mount("own", own_place, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700") != 0) return false;
  std::vector<std::string> open{own_place};
  std::vector<std::string> kept = writable;
  kept.push_back(own_threads);
  for (const std::string& folder : kept)
    if (!folder.empty() && ::mount(folder.c_str(), folder.c_str(), nullptr, MS_BIND, nullptr) == 0)
      open.push_back(folder);
  if (!change_mount("/", recursive, {read_only})) return false;
  for (const std::string& folder : open)
    if (!change_mount(folder, 0, {0, read_only})) return false;
  std::filesystem::current_path(here, error);  // the folder as it is mounted now
  for (const char* variable : {"TMPDIR", "CUDA_CACHE_PATH", "TRITON_CACHE_DIR", "CUPY_CACHE_DIR",
                               "TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR"})
    ::setenv(variable, own_place, 1);
  return true;
}

/// Without them nothing of the above can be taken back.
void drop_capabilities() {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  for (int capability = 0; ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0; ++capability) {
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2]{};
  ::syscall(SYS_capset, &header, none);
}

std::string failed(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

}  // namespace

Isolation isolate(const IsolationPlan& plan) {
  Isolation result;
  if (plan.memory_bytes > 0) {
    const rlimit limit{plan.memory_bytes, plan.memory_bytes};
    ::setrlimit(RLIMIT_DATA, &limit);
  }
  if (leave_namespaces()) {
    result.network = true;
    result.files = plan.files_stay_open.empty() && close_files(plan.writable);
    if (!result.files)
      result.why = plan.files_stay_open.empty() ? failed("mount") : plan.files_stay_open;
  } else {
    result.why = failed("unshare");
  }
  drop_capabilities();
  return result;
}

std::string describe(const Isolation& isolation) {
  if (isolation.network && isolation.files) return "network and files";
  return (isolation.network ? "network (" : "nothing (") + isolation.why + ")";
}

}  // namespace gla_bench
