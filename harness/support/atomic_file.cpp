#include "harness/support/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <utility>

namespace gla_bench {
namespace {

/// Writes all of the text where `write` writes its next bytes. Returns the error number, or 0.
template <class Write>
int write_all(std::string_view text, Write write) {
  while (!text.empty()) {
    const ssize_t written = write(text);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int open_special(const OutputTarget& target) {
  switch (target.kind) {
    case OutputTarget::Kind::open_descriptor:
      std::cout.flush();  // what was printed before comes first
      return ::dup(target.descriptor);
    case OutputTarget::Kind::special:
      return ::open(target.path.c_str(), O_WRONLY | O_CLOEXEC);
    default:
      errno = target.kind == OutputTarget::Kind::folder ? EISDIR : EPERM;
      return -1;
  }
}

}  // namespace

std::string temporary_name(const std::string& path) {
  return output_target(path).path + ".gla-bench-new";
}

int write_at(int descriptor, std::string_view text, std::int64_t offset) {
  return write_all(text, [&](std::string_view rest) {
    const ssize_t written = ::pwrite(descriptor, rest.data(), rest.size(), offset);
    if (written > 0) offset += written;
    return written;
  });
}

void sync_folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int descriptor =
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

ReplacedFile::ReplacedFile(const std::string& path, const std::string& temporary)
    : target_(output_target(path)), temporary_(temporary) {
  constexpr int fresh = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
  descriptor_ = replaces() ? ::open(temporary_.c_str(), fresh, 0644) : open_special(target_);
  if (descriptor_ < 0) failure_ = errno;
}

ReplacedFile::~ReplacedFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (replaces()) ::unlink(temporary_.c_str());
}

void ReplacedFile::write(std::string_view text) {
  if (failure_ != 0) return;
  failure_ = write_all(
      text, [&](std::string_view rest) { return ::write(descriptor_, rest.data(), rest.size()); });
}

int ReplacedFile::keep() {
  if (descriptor_ < 0) return failure_;
  if (failure_ == 0 && replaces() && ::fsync(descriptor_) != 0) failure_ = errno;
  // Some file systems report a full disk only here.
  if (::close(std::exchange(descriptor_, -1)) != 0 && failure_ == 0) failure_ = errno;
  if (!replaces()) return failure_;
  if (failure_ == 0 && ::rename(temporary_.c_str(), target_.path.c_str()) != 0) failure_ = errno;
  if (failure_ != 0)
    ::unlink(temporary_.c_str());
  else
    sync_folder_of(target_.path);
  return failure_;
}

int replace_file(const std::string& path, std::string_view text) {
  ReplacedFile file(path, temporary_name(path));
  file.write(text);
  return file.keep();
}

}  // namespace gla_bench
