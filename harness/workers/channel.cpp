#include "harness/workers/channel.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.hpp"

namespace gla_bench {
namespace {

// A worker without a request reads at once. One that does not read for this long hangs.
constexpr int send_milliseconds = 60000;

/// True when the descriptor is ready for `events` within the time (negative: any time).
bool ready(int descriptor, short events, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  while (true) {
    int milliseconds = -1;
    if (seconds >= 0) {
      const double past = std::chrono::duration<double>(Clock::now() - start).count();
      milliseconds = static_cast<int>(std::ceil(1e3 * std::max(0.0, seconds - past)));
    }
    pollfd entry{descriptor, events, 0};
    const int count = ::poll(&entry, 1, milliseconds);
    if (count >= 0) return count > 0;
    if (errno != EINTR) return false;
  }
}

}  // namespace

Channel::Channel(Channel&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      ended_(other.ended_),
      buffer_(std::move(other.buffer_)),
      scanned_(other.scanned_) {}

Channel& Channel::operator=(Channel&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(ended_, other.ended_);
  std::swap(buffer_, other.buffer_);
  std::swap(scanned_, other.scanned_);
  return *this;
}

Channel::~Channel() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool Channel::send(const Json& message) {
  const std::string line = message.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t sent = ::send(descriptor_, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!ready(descriptor_, POLLOUT, send_milliseconds / 1e3)) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool Channel::fill(double wait_seconds) {
  if (ended_ || !ready(descriptor_, POLLIN, wait_seconds)) return false;
  std::array<char, 65536> chunk;
  ssize_t count = 0;
  do count = ::recv(descriptor_, chunk.data(), chunk.size(), MSG_DONTWAIT);
  while (count < 0 && errno == EINTR);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
  if (count <= 0) {
    ended_ = true;
    return false;
  }
  buffer_.append(chunk.data(), static_cast<std::size_t>(count));
  return true;
}

std::optional<std::string> Channel::receive(double wait_seconds) {
  do {
    const auto end = buffer_.find('\n', scanned_);
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      scanned_ = 0;
      return line;
    }
    scanned_ = buffer_.size();
    if (buffer_.size() > most_message_bytes) {
      buffer_ = {};
      scanned_ = 0;
      ended_ = true;
      throw WorkerError("the other end sent more than " + std::to_string(most_message_bytes) +
                        " bytes without ending a message");
    }
  } while (fill(wait_seconds));
  return std::nullopt;
}

}  // namespace gla_bench
