#pragma once
// Makes SIGINT and SIGTERM readable, so that they do not end the program at once.

#include <csignal>
#include <optional>

namespace gla_bench {

/// While this object exists, both signals wait at descriptor() until they are read.
class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  int descriptor() const { return descriptor_; }
  /// A signal that has arrived, or nothing.
  std::optional<int> take();

 private:
  sigset_t before_{};
  int descriptor_ = -1;
};

}  // namespace gla_bench
