#pragma once
// Problems of a config that are handed out one by one to several runs, so that a slow host does not
// hold up the rest. Rank 0 of gla-bench-mpi decides with this; it knows no MPI, no process and no
// problem.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gla_bench {

/// What a run says before it asks for its first problems.
struct HandOutHello {
  std::string plan;                 ///< identifies the config and its problems
  std::vector<std::int64_t> order;  ///< all problems, by number, the longest first
  std::vector<std::int64_t> begun;  ///< those that its results file has already
  bool operator==(const HandOutHello&) const = default;
};

/// Decides who gets which problem. One at a time: the longest come first, and a run that got
/// several of them at once would be the last to end.
class HandOut {
 public:
  explicit HandOut(std::size_t runs);

  /// @throws InputError where the run has another plan than the others, or has begun what another
  /// has begun
  void hello(std::size_t run, const HandOutHello& hello);

  /// A run has ended. What it was handed and has not done is left for a --resume. @throws
  /// InputError where it said no hello: what its file has begun is not known
  void gone(std::size_t run) const;

  /// A run has nothing left to do. An answer may have to wait for the hello of all others, as what
  /// they have begun is theirs.
  void ask(std::size_t run);

  struct Answer {
    std::size_t run;
    std::vector<std::int64_t> problems;  ///< one; empty: nothing is left
    bool operator==(const Answer&) const = default;
  };
  /// The answers that can be given now, each once.
  std::vector<Answer> answers();

 private:
  std::vector<std::optional<HandOutHello>> hellos_;
  std::map<std::int64_t, std::size_t> begun_by_;  ///< runs by problem
  std::deque<std::size_t> asking_;
  std::optional<std::deque<std::int64_t>> left_;  ///< nothing: not all have said hello
};

/// Lines of the protocol between a run and what hands out, both ways. @throws InputError
std::string hello_line(const HandOutHello& hello);
std::string ask_line();
std::string problems_line(const std::vector<std::int64_t>& problems);
/// Nothing for the line of ask_line().
std::optional<HandOutHello> read_run_line(const std::string& line);
std::vector<std::int64_t> read_problems_line(const std::string& line);

}  // namespace gla_bench
