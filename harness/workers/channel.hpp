#pragma once
// JSON lines over a socket. Both ends of a worker's connection use it.

#include <optional>
#include <string>
#include <string_view>

#include "harness/support/json.hpp"

namespace gla_bench {

/// The most bytes of one message. A record of a million samples has a fifth of it.
constexpr std::size_t most_message_bytes = std::size_t{64} << 20;

class Channel {
 public:
  /// Takes ownership of the descriptor.
  explicit Channel(int descriptor) : descriptor_(descriptor) {}
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&& other) noexcept;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  int descriptor() const { return descriptor_; }
  /// True once the other end is closed and everything that it wrote has been read.
  bool ended() const { return ended_; }

  /// Writes one line. Returns false when the other end is closed, or accepts nothing for
  /// send_seconds.
  bool send(const Json& message);

  /// The next whole line, either already received or received within `wait_seconds` (negative: no
  /// limit). Returns nothing when none came, or at the end. @throws WorkerError for more than
  /// most_message_bytes without an end of the line; nothing can be received afterwards
  std::optional<std::string> receive(double wait_seconds);

 private:
  bool fill(double wait_seconds);

  int descriptor_;
  bool ended_ = false;
  std::string buffer_;
  std::size_t scanned_ = 0;  // how much of buffer_ was searched and holds no end of a line
};

}  // namespace gla_bench
