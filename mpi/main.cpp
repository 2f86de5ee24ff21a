// gla-bench-mpi: starts gla-bench as a child in each rank, and hands the config's problems out from
// rank 0. The arguments are gla-bench's own. This is the only source that knows MPI, so that
// gla-bench itself starts on machines that have none.

#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "harness/support/json.hpp"
#include "harness/workers/channel.hpp"
#include "harness/workers/hand_out/hand_out.hpp"

namespace gla_bench {
namespace {

// What ranks send to rank 0, and what comes back.
enum Tag { from_child = 1, to_child = 2, child_ended = 3 };
constexpr int poll_milliseconds = 20;
constexpr double poll_seconds = poll_milliseconds / 1e3;
constexpr int child_descriptor = 4;  // 3 is where workers listen

/// The gla-bench of this rank, and the socket on which it asks for problems.
class Child {
 public:
  Child(const std::string& program, std::vector<std::string> arguments)
      : Child(socket_pair(), program, std::move(arguments)) {}

  /// The lines that have come within some milliseconds. The last of all is followed by ended().
  std::vector<std::string> lines() {
    std::vector<std::string> list;
    for (auto line = channel_.receive(poll_seconds); line; line = channel_.receive(0))
      list.push_back(std::move(*line));
    return list;
  }
  bool ended() const { return channel_.ended(); }

  /// Does nothing where it has ended, which lines() will find.
  void send(const std::string& line) { channel_.send(parse_json(line, "rank 0")); }

  /// Its exit code, as a shell gives it.
  int wait() const {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  static std::array<int, 2> socket_pair() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) std::abort();
    return ends;
  }

  Child(std::array<int, 2> ends, const std::string& program, std::vector<std::string> arguments)
      : channel_(ends[0]) {
    arguments.insert(arguments.begin(), program);
    arguments.insert(arguments.end(), {"--hand-out", std::to_string(child_descriptor)});
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // with everything kept
      if (::getppid() != parent) ::_exit(1);
      if (ends[1] == child_descriptor)
        ::fcntl(child_descriptor, F_SETFD, 0);
      else
        ::dup2(ends[1], child_descriptor);
      ::execv(program.c_str(), words.data());
      std::cerr << program << ": cannot be started\n";
      ::_exit(127);
    }
    ::close(ends[1]);
  }

  Channel channel_;
  pid_t pid_ = -1;
};

void send_text(const std::string& text, int rank, Tag tag) {
  MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, rank, tag, MPI_COMM_WORLD);
}

/// A message that has come from this rank (or any), or nothing.
struct Message {
  int rank = 0, tag = 0;
  std::string text;
};
std::optional<Message> take_message(int rank) {
  int there = 0;
  MPI_Status status;
  MPI_Iprobe(rank, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
  if (there == 0) return std::nullopt;
  int size = 0;
  MPI_Get_count(&status, MPI_CHAR, &size);
  Message message{status.MPI_SOURCE, status.MPI_TAG,
                  std::string(static_cast<std::size_t>(size), ' ')};
  MPI_Recv(message.text.data(), size, MPI_CHAR, message.rank, message.tag, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  return message;
}

/// Passes on what the child says and what it is told. Rank 0 also decides.
void serve(Child& child, int rank, int ranks) {
  HandOut hand_out(static_cast<std::size_t>(ranks));
  int ended = 0;
  bool told = false;  // that this child has ended
  const auto said = [&](int from, const std::string& line) {
    if (const auto hello = read_run_line(line))
      hand_out.hello(static_cast<std::size_t>(from), *hello);
    else
      hand_out.ask(static_cast<std::size_t>(from));
  };
  while (rank == 0 ? ended < ranks : !told) {
    for (const std::string& line : child.lines()) {
      if (rank == 0)
        said(0, line);
      else
        send_text(line, 0, from_child);
    }
    if (child.ended() && !told) {
      told = true;
      ++ended;
      if (rank == 0)
        hand_out.gone(0);
      else
        send_text("", 0, child_ended);
    }
    if (told) ::poll(nullptr, 0, poll_milliseconds);  // it waits for nobody any more
    while (const auto message = take_message(rank == 0 ? MPI_ANY_SOURCE : 0)) {
      if (message->tag == to_child)
        child.send(message->text);
      else if (message->tag == child_ended)
        hand_out.gone(static_cast<std::size_t>(message->rank)), ++ended;
      else
        said(message->rank, message->text);
    }
    for (const HandOut::Answer& answer : hand_out.answers()) {
      const std::string line = problems_line(answer.problems);
      if (answer.run == 0)
        child.send(line);
      else
        send_text(line, static_cast<int>(answer.run), to_child);
    }
  }
}

int run(int argc, char** argv) {
  std::string program =
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "gla-bench").string();
  // Before MPI is initialised, which forks badly afterwards.
  Child child(program, {argv + 1, argv + argc});
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  try {
    serve(child, rank, ranks);
  } catch (const std::exception& error) {
    std::cerr << "gla-bench-mpi: " << error.what() << "\n";
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int code = child.wait();
  MPI_Finalize();
  return code;
}

}  // namespace
}  // namespace gla_bench

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: mpirun -np N gla-bench-mpi run|verify CONFIG --shard auto -o "
                 "part-{shard}.json [OPTION...]\n";
    return 2;
  }
  return gla_bench::run(argc, argv);
}
