#pragma once
// A run whose problems are handed out by gla-bench-mpi, batch by batch (workers/hand_out/).

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/engine/assignment.hpp"
#include "harness/records/record_file.hpp"
#include "harness/workers/channel.hpp"
#include "harness/workers/supervisor.hpp"

namespace gla_bench::commands {

class HandedOut {
 public:
  /// `descriptor`: of the socket on which problems are asked for. @throws InputError where it is
  /// none
  explicit HandedOut(int descriptor);

  /// Notes in the environment which of the files this is, and how many problems there are.
  static void note(Shard shard, std::size_t problems, Facts& environment);

  /// Works with `supervise` through what the file has begun already, then through what is handed
  /// out, until nothing is left or the work ends early. `work` is the whole config, and `seconds`
  /// are those of its problems; `plan` is a text that differs between two configs.
  SupervisedEnd work_through(
      std::span<const Assignment> work, std::span<const double> seconds, const std::string& plan,
      RecordFile& file, const Results& results,
      const std::function<SupervisedEnd(std::span<const Assignment>)>& supervise);

 private:
  std::vector<std::int64_t> receive();

  Channel channel_;
};

}  // namespace gla_bench::commands
