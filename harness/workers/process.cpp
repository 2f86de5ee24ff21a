#include "harness/workers/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <thread>

#include "core/error.hpp"
#include "harness/workers/protocol.hpp"

namespace gla_bench {
namespace {

constexpr std::size_t longest_line = 500;
constexpr std::size_t longest_tail = 2000;
constexpr double killed_seconds = 60;  // a driver may take its time to end a kernel

[[noreturn]] void fail(const std::string& what) {
  throw WorkerError(what + ": " + std::strerror(errno));
}

/// Runs between fork and exec, so it may only do what is safe there.
[[noreturn]] void become(const char* program, char* const* arguments, int socket, int output,
                         pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it died before that was set
  ::setpgid(0, 0);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const int adjust = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (adjust >= 0) [[maybe_unused]]
    const ssize_t written = ::write(adjust, "1000", 4);
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal)
    if (signal != SIGXFSZ) ::sigaction(signal, &action, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Both lie above protocol_descriptor (see the constructor), so that none overwrites the other.
  const int empty = ::open("/dev/null", O_RDONLY);
  ::dup2(empty, 0);
  ::dup2(output, 1);
  ::dup2(output, 2);
  ::dup2(socket, protocol_descriptor);
  ::close_range(protocol_descriptor + 1, ~0U, 0);
  ::execv(program, arguments);
  ::_exit(127);
}

/// The descriptor, moved above protocol_descriptor. Closes the old one.
int above_protocol(int descriptor) {
  const int moved = ::fcntl(descriptor, F_DUPFD_CLOEXEC, protocol_descriptor + 1);
  ::close(descriptor);
  return moved;
}

}  // namespace

std::string this_program() {
  return "/proc/self/exe";
}

std::string signal_text(int signal) {
  const char* abbreviation = ::sigabbrev_np(signal);
  const std::string name = abbreviation != nullptr ? std::string("SIG") + abbreviation
                                                   : "signal " + std::to_string(signal);
  const char* meaning = ::sigdescr_np(signal);
  return meaning != nullptr ? name + " (" + meaning + ")" : name;
}

std::string exit_text(int status) {
  if (WIFSIGNALED(status)) return signal_text(WTERMSIG(status));
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

WorkerProcess::WorkerProcess(const WorkerCommand& command) : channel_(-1) {
  std::array<int, 2> sockets{}, pipe{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0)
    fail("no socket for a worker");
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
    ::close(sockets[0]);
    ::close(sockets[1]);
    fail("no pipe for a worker");
  }
  channel_ = Channel(sockets[0]);
  output_ = pipe[0];
  ::fcntl(output_, F_SETFL, O_NONBLOCK);
  const int socket = above_protocol(sockets[1]), output = above_protocol(pipe[1]);
  std::vector<std::string> texts{"gla-bench"};
  texts.insert(texts.end(), command.arguments.begin(), command.arguments.end());
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become(command.program.c_str(), arguments.data(), socket, output, parent);
  ::close(socket);
  ::close(output);
  if (pid_ < 0) fail("a worker cannot be started");
}

WorkerProcess::~WorkerProcess() {
  if (pid_ > 0) {
    kill();
    int status = 0;
    reap(killed_seconds, status);
  }
  if (output_ >= 0) ::close(output_);
}

void WorkerProcess::kill() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

// Keeps the end of the text as the process's last words.
void WorkerProcess::keep(std::string_view text) {
  tail_.append(text);
  if (tail_.size() > longest_tail) tail_.erase(0, tail_.size() - longest_tail);
}

std::vector<std::string> WorkerProcess::take_output() {
  std::vector<std::string> lines;
  std::array<char, 16384> chunk;
  // Reads no more than is there now: a process that never stops printing must not block the parent
  // here.
  for (int round = 0; round < 16 && output_ >= 0; ++round) {
    const ssize_t count = ::read(output_, chunk.data(), chunk.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (count <= 0) {
      ::close(output_);
      output_ = -1;
      break;
    }
    const std::string_view text(chunk.data(), static_cast<std::size_t>(count));
    keep(text);
    for (const char c : text) {
      if (c == '\n')
        lines.push_back(std::exchange(line_, {}));
      else if (line_.size() < longest_line)
        line_ += c;
    }
  }
  if (output_ < 0 && !line_.empty()) lines.push_back(std::exchange(line_, {}));
  return lines;
}

double WorkerProcess::resident_bytes() const {
  std::ifstream in("/proc/" + std::to_string(pid_) + "/statm");
  double size = 0, resident = 0;
  return in >> size >> resident ? resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) : 0;
}

// True when the process is dead and gone.
bool WorkerProcess::reap(double seconds, int& status) {
  const auto start = std::chrono::steady_clock::now();
  while (true) {
    const pid_t got = ::waitpid(pid_, &status, WNOHANG);
    if (got == pid_ || (got < 0 && errno == ECHILD)) {
      pid_ = -1;
      return true;
    }
    take_output();  // or it might wait for room in the pipe
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() >= seconds)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

Death WorkerProcess::bury(double patience_seconds) {
  int status = 0;
  Death death;
  if (pid_ < 0) return {"it was not running", "", true};
  if (!reap(patience_seconds, status)) {
    kill();
    death.buried = reap(killed_seconds, status);
  }
  take_output();
  death.cause = death.buried ? exit_text(status) : "it cannot be killed";
  death.last_words = tail_;
  return death;
}

}  // namespace gla_bench
