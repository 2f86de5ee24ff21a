#pragma once
// JSON lines over a socket: either end of a worker's connection.

#include <optional>
#include <string>
#include <string_view>

#include "harness/support/json.hpp"

namespace gla_bench {

class Channel {
 public:
  /// Takes the descriptor.
  explicit Channel(int descriptor) : descriptor_(descriptor) {}
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&& other) noexcept;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  int descriptor() const { return descriptor_; }
  /// True once the other end has gone and everything that it wrote has been taken.
  bool ended() const { return ended_; }

  /// Writes one line. False when the other end has gone, or takes nothing for send_seconds.
  bool send(const Json& message);

  /// The next whole line that is there already or comes within `wait_seconds` (negative: any time);
  /// nothing when none came, or at the end.
  std::optional<std::string> receive(double wait_seconds);

 private:
  bool fill(double wait_seconds);

  int descriptor_;
  bool ended_ = false;
  std::string buffer_;
  std::size_t scanned_ = 0;  // of buffer_, without a line's end
};

}  // namespace gla_bench
