#include "harness/workers/signals.hpp"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

namespace gla_bench {

namespace {

pthread_t watching;

/// Of a thread that does not block the signal.
void hand_over(int signal) {
  const int error = errno;
  ::pthread_kill(watching, signal);
  errno = error;
}

}  // namespace

SignalWatch::SignalWatch() {
  watching = ::pthread_self();
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGINT);
  ::sigaddset(&ends, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &ends, &before_);
  struct sigaction action {};
  action.sa_handler = hand_over;
  action.sa_mask = ends;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, &interrupt_before_);
  ::sigaction(SIGTERM, &action, &terminate_before_);
  descriptor_ = ::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
}

SignalWatch::~SignalWatch() {
  if (descriptor_ >= 0) ::close(descriptor_);
  ::sigaction(SIGINT, &interrupt_before_, nullptr);
  ::sigaction(SIGTERM, &terminate_before_, nullptr);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<int> SignalWatch::take() {
  signalfd_siginfo info{};
  if (::read(descriptor_, &info, sizeof info) != static_cast<ssize_t>(sizeof info))
    return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

std::optional<int> pending_signal() {
  sigset_t waiting;
  if (::sigpending(&waiting) != 0) return std::nullopt;
  for (const int signal : {SIGINT, SIGTERM})
    if (::sigismember(&waiting, signal) == 1) return signal;
  return std::nullopt;
}

void end_by(int signal) {
  sigset_t taken;
  ::sigemptyset(&taken);
  ::sigaddset(&taken, signal);
  const timespec at_once{};
  ::sigtimedwait(&taken, nullptr, &at_once);
  throw Interrupted(signal);
}

}  // namespace gla_bench
