// Journals, written.

#include "harness/records/journal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.hpp"
#include "harness/support/atomic_file.hpp"
#include "harness/support/output_target.hpp"

namespace gla_bench {
namespace {

/// Locks the whole file for exclusive use. The lock belongs to the open file, not to the process.
/// It survives a fork() without exec(), and closing another descriptor of the file does not release
/// it.
struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// True where the path still names the open file, not another file or none.
bool is_at(int descriptor, const std::string& path, struct stat& open_file) {
  struct stat named {};
  return ::fstat(descriptor, &open_file) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;
}

[[noreturn]] void fail(const std::string& path, int error) {
  throw OutputError(path + ": cannot be written: " + std::strerror(error));
}

}  // namespace

std::string journal_path(const std::string& results) {
  return output_target(results).path + ".journal";
}

std::string journal_head(const Json& environment, const Json& config) {
  Json head;
  head["journal"] = journal_version;
  head["environment"] = environment;
  head["config"] = config;
  return line_of(head);
}

std::string journal_starting(const Started& started) {
  Json line;
  line["starting"] = started_to_json(started);
  return line_of(line);
}

std::string journal_record(std::string_view record) {
  return "{\"record\":" + std::string(record) + "}";
}

std::string journal_asked(const AskedPoint& point) {
  Json line;
  line["asked"] = asked_to_json(point);
  return line_of(line);
}

bool journal_is_held(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  struct flock lock = whole_file();
  const bool asked = ::fcntl(descriptor, F_OFD_GETLK, &lock) == 0;
  ::close(descriptor);
  return asked && lock.l_type != F_UNLCK;
}

Journal Journal::open(const std::string& path) {
  while (true) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor < 0) fail(path, errno);
    Journal journal(path, descriptor, -1);
    struct flock lock = whole_file();
    if (::fcntl(descriptor, F_OFD_SETLK, &lock) != 0) {
      if (errno == EAGAIN || errno == EACCES)
        throw InputError(path + ": another run is writing to it");
      fail(path, errno);
    }
    struct stat state {};
    // The run that held it may have removed it between the two calls above.
    if (!is_at(descriptor, path, state)) continue;
    if (!S_ISREG(state.st_mode)) throw InputError(path + ": is no file");
    journal.size_ = state.st_size;
    return journal;
  }
}

Journal::Journal(std::string path, int descriptor, std::int64_t size)
    : path_(std::move(path)), descriptor_(descriptor), size_(size) {}

Journal::Journal(Journal&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

Journal::~Journal() {
  if (descriptor_ < 0) return;
  if (size_ == 0) ::unlink(path_.c_str());
  ::close(descriptor_);
}

void Journal::cut(std::int64_t bytes) {
  // The journal must also be on the disk before the results file that it belongs to is replaced.
  if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0 || ::fdatasync(descriptor_) != 0)
    fail(path_, errno);
  size_ = bytes;
}

int Journal::append(std::string_view line, bool durable) {
  int failure = write_at(descriptor_, std::string(line) + "\n", size_);
  if (failure == 0 && durable && ::fdatasync(descriptor_) != 0) failure = errno;
  if (failure != 0) {
    [[maybe_unused]] const int cut = ::ftruncate(descriptor_, static_cast<off_t>(size_));
    return failure;
  }
  size_ += static_cast<std::int64_t>(line.size()) + 1;
  return 0;
}

void Journal::remove() {
  ::unlink(path_.c_str());  // before the lock goes, so that nobody's new journal is hit
  ::close(std::exchange(descriptor_, -1));
  sync_folder_of(path_);
}

}  // namespace gla_bench
