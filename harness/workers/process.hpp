#pragma once
// A worker as its parent holds it: started, listened to, killed, buried.

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

/// A path that starts this very program again, also when its file has been replaced since.
std::string this_program();

/// How a process ended.
struct Death {
  std::string cause;       ///< "SIGSEGV (Segmentation fault)", "exit code 3"
  std::string last_words;  ///< the end of what it printed; may be empty
  bool buried = true;      ///< false: it is still there, though it was killed
};

/// "SIGSEGV (Segmentation fault)"
std::string signal_text(int signal);

/// What waitpid() says of a dead process, as Death::cause.
std::string exit_text(int status);

class WorkerProcess {
 public:
  /// Starts it: standard input empty, standard output and error together into a pipe to the parent,
  /// in a process group of its own (the terminal's Ctrl-C is the parent's affair), with the default
  /// answers to signals, without core files, first in line when the system runs out of memory, and
  /// killed by the kernel when this thread ends. @throws WorkerError
  explicit WorkerProcess(const WorkerCommand& command);
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  /// Kills what is still alive.
  ~WorkerProcess();

  pid_t pid() const { return pid_; }
  Channel& channel() { return channel_; }
  /// Where its standard output and error can be read; -1 once they are closed.
  int output() const { return output_; }
  /// Whole lines that it has printed since the last call, without waiting. Very long ones are cut.
  std::vector<std::string> take_output();
  /// Memory that it has resident now, bytes; 0 where that can not be told.
  double resident_bytes() const;

  /// SIGKILL; no wait.
  void kill();
  /// Waits for its end, and kills it where it has not ended after `patience_seconds`.
  Death bury(double patience_seconds);

 private:
  bool reap(double seconds, int& status);
  void keep(std::string_view text);

  pid_t pid_ = -1;
  Channel channel_;
  int output_ = -1;
  std::string line_;  ///< begun, not ended
  std::string tail_;  ///< the last of what it printed
};

}  // namespace gla_bench
