#include "harness/support/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

namespace gla_bench {

std::string temporary_name(const std::string& path) {
  return path + ".new";
}

int write_at(int descriptor, std::string_view text, std::int64_t offset) {
  while (!text.empty()) {
    const ssize_t written = ::pwrite(descriptor, text.data(), text.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    text.remove_prefix(static_cast<std::size_t>(written));
    offset += written;
  }
  return 0;
}

void sync_folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int descriptor =
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

int replace_file(const std::string& path, std::string_view text) {
  const std::string fresh = temporary_name(path);
  const int descriptor = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) return errno;
  int failure = write_at(descriptor, text, 0);
  if (failure == 0 && ::fsync(descriptor) != 0) failure = errno;
  // Some file systems report a full disk only here.
  if (::close(descriptor) != 0 && failure == 0) failure = errno;
  if (failure == 0 && ::rename(fresh.c_str(), path.c_str()) != 0) failure = errno;
  if (failure != 0)
    ::unlink(fresh.c_str());
  else
    sync_folder_of(path);
  return failure;
}

}  // namespace gla_bench
