#include "harness/record_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/error.hpp"
#include "harness/record_json.hpp"

namespace gla_bench {
namespace {

constexpr std::string_view closing = "\n]}\n";

[[noreturn]] void fail(const std::string& path, const std::string& what, int error) {
  throw InputError(path + ": " + what + ": " + std::strerror(error));
}

/// Writes all of it at an offset; the error number, or 0.
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

/// Gives a file its name; with `refuse` never in place of another, also one made in the meantime.
int publish(const std::string& fresh, const std::string& path, bool refuse) {
  if (refuse) {
    if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0)
      return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;  // else: a file system without the flag
  }
  return ::rename(fresh.c_str(), path.c_str()) == 0 ? 0 : errno;
}

/// Refuses a file that another run is writing to.
void refuse_if_locked(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  const bool locked = ::flock(descriptor, LOCK_EX | LOCK_NB) != 0;
  ::close(descriptor);
  if (locked) throw InputError(path + ": another run is writing to it");
}

std::string header_text(const Facts& facts, const Json& config) {
  Json environment = Json::object();
  for (const auto& [key, fact] : facts)
    std::visit([&, &name = key](const auto& value) { environment[name] = value; }, fact);
  return "{\"schema_version\": " + std::to_string(schema_version) +
         ",\n\"environment\": " + environment.dump(1, ' ', false, Json::error_handler_t::replace) +
         ",\n\"config\": " + config.dump(1, ' ', false, Json::error_handler_t::replace) +
         ",\n\"records\": [";
}

}  // namespace

RecordFile::RecordFile(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {}

RecordFile::RecordFile(RecordFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      tail_(other.tail_),
      count_(other.count_) {}

RecordFile::~RecordFile() {
  if (descriptor_ < 0) return;
  ::fsync(descriptor_);
  ::close(descriptor_);
}

void RecordFile::lock() {
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0)
    throw InputError(path_ + ": another run is writing to it");
}

RecordFile RecordFile::create(const std::string& path, const Facts& environment, const Json& config,
                              Existing existing) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::is_directory(path, error)) throw InputError(path + ": is a folder, expected a file");
  if (existing == Existing::refuse && fs::exists(path, error))
    throw InputError(path + ": exists already; --resume goes on with it, --force replaces it");
  refuse_if_locked(path);
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty() && !fs::create_directories(folder, error) && error)
    throw InputError(path + ": its folder can not be made: " + error.message());
  // Under another name first: what is replaced stays whole until the new file is.
  const std::string fresh = path + ".new." + std::to_string(::getpid());
  const int descriptor = ::open(fresh.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) fail(path, "can not be written", errno);
  RecordFile file(path, descriptor);
  file.lock();
  const std::string header = header_text(environment, config);
  file.tail_ = static_cast<std::int64_t>(header.size());
  int failure = write_at(descriptor, header + std::string(closing), 0);
  if (failure == 0) failure = publish(fresh, path, existing == Existing::refuse);
  if (failure != 0) {
    ::unlink(fresh.c_str());
    fail(path, "can not be written", failure);
  }
  return file;
}

RecordFile RecordFile::resume(const std::string& path, Results& content) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) fail(path, "can not be resumed", errno);
  RecordFile file(path, descriptor);
  file.lock();
  content = read_results(path);
  file.count_ = content.records.size();
  if (content.tail < 0)
    throw InputError(path +
                     ": was not written by `gla-bench run` (it does not end in \"]}\" on a " +
                     "line of its own), so it can not be resumed");
  file.tail_ = content.tail;
  if (content.torn) file.restore_tail();
  return file;
}

void RecordFile::restore_tail() {
  // These bytes were there before, so that a full disk has room for them.
  write_at(descriptor_, closing, tail_);
  [[maybe_unused]] const int cut =
      ::ftruncate(descriptor_, static_cast<off_t>(tail_) + static_cast<off_t>(closing.size()));
}

void RecordFile::append(const Record& record) {
  const std::string line =
      (count_ == 0 ? "\n" : ",\n") +
      record_to_json(record).dump(-1, ' ', false, Json::error_handler_t::replace);
  if (const int failure = write_at(descriptor_, line + std::string(closing), tail_)) {
    restore_tail();
    throw InputError(path_ + ": a record could not be written: " + std::strerror(failure) + "; " +
                     std::to_string(count_) + " records before it are kept, --resume goes on");
  }
  tail_ += static_cast<std::int64_t>(line.size());
  ++count_;
}

}  // namespace gla_bench
