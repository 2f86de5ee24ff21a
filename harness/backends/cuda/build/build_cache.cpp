#include "harness/backends/cuda/build/build_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sstream>

#include "harness/support/hash.hpp"

namespace gla_bench::cuda {
namespace {

namespace fs = std::filesystem;

constexpr const char* format_name = "gla-bench-binary-1";

// An entry is one line (format, the sizes of its three parts, the hash of those parts), followed by
// the parts: the complete key, the binary and the log.
std::string encode_entry(const std::string& key, const Binary& binary) {
  const std::string parts = key + binary.cubin + binary.log;
  std::ostringstream head;
  head << format_name << ' ' << key.size() << ' ' << binary.cubin.size() << ' ' << binary.log.size()
       << ' ' << hex(hash_bytes(parts)) << '\n';
  return head.str() + parts;
}

std::optional<Binary> decode_entry(const std::string& key, const std::string& entry) {
  const std::size_t line_end = entry.find('\n');
  if (line_end == std::string::npos) return std::nullopt;
  std::istringstream head(entry.substr(0, line_end));
  std::string format, hash;
  std::size_t key_size = 0, cubin_size = 0, log_size = 0;
  head >> format >> key_size >> cubin_size >> log_size >> hash;
  if (!head || format != format_name) return std::nullopt;
  const std::string parts = entry.substr(line_end + 1);
  // Checks each size by itself first, so that the sum cannot overflow.
  for (std::size_t size : {key_size, cubin_size, log_size})
    if (size > parts.size()) return std::nullopt;
  if (key_size + cubin_size + log_size != parts.size()) return std::nullopt;
  if (hex(hash_bytes(parts)) != hash || parts.compare(0, key_size, key) != 0) return std::nullopt;
  return Binary{parts.substr(key_size, cubin_size), parts.substr(key_size + cubin_size)};
}

// Writes all bytes to a new file and synchronises it to disk. @throws the reason as text
void write_synchronised(const fs::path& path, const std::string& bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) throw fs::filesystem_error("open", path, {errno, std::generic_category()});
  std::size_t written = 0;
  int failure = 0;
  while (written < bytes.size() && failure == 0) {
    const ssize_t count = ::write(file, bytes.data() + written, bytes.size() - written);
    if (count > 0) written += static_cast<std::size_t>(count);
    if (count <= 0 && errno != EINTR) failure = errno != 0 ? errno : EIO;
  }
  if (failure == 0 && ::fsync(file) != 0) failure = errno;
  if (::close(file) != 0 && failure == 0) failure = errno;
  if (failure == 0) return;
  std::error_code ignored;
  fs::remove(path, ignored);
  throw fs::filesystem_error("write", path, {failure, std::generic_category()});
}

// A descriptor that is closed at the end.
class Opened {
 public:
  explicit Opened(int descriptor) : descriptor_(descriptor) {}
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// The owner and the rights are those of what is open, whatever the path names by now.
void expect_own(int descriptor, const fs::path& path) {
  struct stat state {};
  if (::fstat(descriptor, &state) != 0) return;
  std::string why;
  if (state.st_uid != ::geteuid())
    why = "belongs to user " + std::to_string(state.st_uid) + ", this is user " +
          std::to_string(::geteuid());
  else if ((state.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    why = "may be written by others than its owner";
  if (!why.empty())
    throw UnsafeCache(path.string() + ": " + why +
                      ", and compiled kernels in it would be run; expected a folder of your own "
                      "(chmod go-w, or --cache-dir)");
}

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 65536> chunk;
  while (true) {
    const ssize_t count = ::read(descriptor, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(count));
  }
}

// A name that no other thread or process uses at the same time, also none of another host that
// shares the folder: process numbers are the same there, and containers share host names.
fs::path temporary_beside(const fs::path& path) {
  static std::atomic<unsigned> counter{0};
  static const std::string own = [] {
    std::random_device random;
    const std::uint64_t drawn = (std::uint64_t{random()} << 32) | random();
    return hex(drawn);
  }();
  return path.string() + ".tmp-" + own + "-" + std::to_string(::getpid()) + "-" +
         std::to_string(counter++);
}

}  // namespace

fs::path user_cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return fs::path(cache) / "gla-bench";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return fs::path(home) / ".cache" / "gla-bench";
  return {};
}

BuildCache::BuildCache(fs::path folder, std::function<void(const std::string&)> warn)
    : folder_(std::move(folder)), warn_(std::move(warn)) {}

fs::path BuildCache::path_of(const std::string& key) const {
  return folder_ / (hex(hash_bytes(key)) + ".bin");
}

std::optional<Binary> BuildCache::load(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  const Opened folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return std::nullopt;
  expect_own(folder.get(), folder_);
  const fs::path path = path_of(key);
  const Opened file(::openat(folder.get(), path.filename().c_str(),
                             O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.get() < 0) return std::nullopt;
  expect_own(file.get(), path);
  return decode_entry(key, read_all(file.get()));
}

void BuildCache::store(const std::string& key, const Binary& binary) {
  if (folder_.empty()) return;
  try {
    if (folder_.has_parent_path()) fs::create_directories(folder_.parent_path());
    if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST)
      throw fs::filesystem_error("mkdir", folder_, {errno, std::generic_category()});
    const fs::path path = path_of(key);
    const fs::path temporary = temporary_beside(path);
    write_synchronised(temporary, encode_entry(key, binary));
    std::error_code error;
    fs::rename(temporary, path, error);
    if (!error) return;
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw fs::filesystem_error("rename", path, error);
  } catch (const fs::filesystem_error& error) {
    warn_once(error.what());
  }
}

void BuildCache::warn_once(const std::string& reason) {
  std::call_once(warned_, [&] {
    if (warn_) warn_("binaries are not kept in " + folder_.string() + ": " + reason);
  });
}

}  // namespace gla_bench::cuda
