#pragma once
// SIGINT and SIGTERM as something to read, in place of a sudden end.

#include <csignal>
#include <optional>

namespace gla_bench {

/// While it lives, both signals wait at descriptor() until they are taken.
class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  int descriptor() const { return descriptor_; }
  /// A signal that has come, or nothing.
  std::optional<int> take();

 private:
  sigset_t before_{};
  int descriptor_ = -1;
};

}  // namespace gla_bench
