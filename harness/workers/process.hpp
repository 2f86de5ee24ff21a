#pragma once
// A worker process as its parent sees it: it is started, listened to, killed and waited for.

#include <sys/types.h>

#include <string>
#include <vector>

#include "harness/workers/channel.hpp"

namespace gla_bench {

/// What to start. The worker finds its socket at protocol_descriptor.
struct WorkerCommand {
  std::string program;                 ///< path; this_program() for the program itself
  std::vector<std::string> arguments;  ///< without the program's name
};

/// A path that starts this same program again, even when its file has been replaced since.
std::string this_program();

/// How a process ended.
struct Death {
  std::string cause;       ///< "SIGSEGV (Segmentation fault)", "exit code 3"
  std::string last_words;  ///< the end of what it printed; may be empty
  bool buried = true;      ///< false: it has not ended yet, though it was killed
};

/// "SIGSEGV (Segmentation fault)"
std::string signal_text(int signal);

/// The status that waitpid() gives for a dead process, in the words of Death::cause.
std::string exit_text(int status);

class WorkerProcess {
 public:
  /// Starts the process. Its standard input is empty; its standard output and error go together
  /// into a pipe to the parent. It has a process group of its own, so that the terminal's Ctrl-C
  /// reaches only the parent. It has the default handling of signals and writes no core files. It
  /// is the first to be killed when the system runs out of memory, and the kernel kills it when
  /// this thread ends.
  /// @throws WorkerError
  explicit WorkerProcess(const WorkerCommand& command);
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  /// Kills the process if it is still alive.
  ~WorkerProcess();

  pid_t pid() const { return pid_; }
  Channel& channel() { return channel_; }
  /// Where its standard output and error can be read; -1 once they are closed.
  int output() const { return output_; }
  /// The whole lines that it has printed since the last call. Does not wait. Very long lines are
  /// cut.
  std::vector<std::string> take_output();
  /// The memory that it has resident now, in bytes; 0 where that is unknown.
  double resident_bytes() const;

  /// Sends SIGKILL and does not wait.
  void kill();
  /// Waits until it ends, and kills it where it has not ended after `patience_seconds`.
  Death bury(double patience_seconds);

 private:
  bool reap(double seconds, int& status);
  void keep(std::string_view text);

  pid_t pid_ = -1;
  Channel channel_;
  int output_ = -1;
  std::string line_;  ///< a line that has begun and not ended
  std::string tail_;  ///< the last of what it printed
};

}  // namespace gla_bench
