#pragma once
// Makes SIGINT and SIGTERM readable, so that they do not end the program at once.

#include <csignal>
#include <optional>
#include <stdexcept>
#include <string>

namespace gla_bench {

/// While this object exists, both signals wait at descriptor() until they are read, by the thread
/// that has made it. Threads that libraries started before may be the ones that get a signal; they
/// hand it over.
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
  struct sigaction interrupt_before_ {
  }, terminate_before_{};
  int descriptor_ = -1;
};

/// A signal that waits to be taken from a SignalWatch, or nothing.
std::optional<int> pending_signal();

/// Thrown where work ends by such a signal before there is anything that it could be added to.
struct Interrupted : std::runtime_error {
  explicit Interrupted(int which)
      : std::runtime_error("ended by signal " + std::to_string(which)), signal(which) {}
  int signal;
};

/// Takes the signal, so that it does not end the program behind the last SignalWatch, and
/// @throws Interrupted.
[[noreturn]] void end_by(int signal);

}  // namespace gla_bench
