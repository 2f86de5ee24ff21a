#include "harness/commands/shards/handed_out.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "core/error.hpp"
#include "harness/engine/sharding.hpp"
#include "harness/workers/hand_out/hand_out.hpp"

namespace gla_bench::commands {
namespace {

/// All problems by number, the longest first.
std::vector<std::int64_t> longest_first(std::span<const double> seconds) {
  std::vector<std::int64_t> order(seconds.size());
  std::iota(order.begin(), order.end(), std::int64_t{1});
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return seconds[static_cast<std::size_t>(a) - 1] > seconds[static_cast<std::size_t>(b) - 1];
  });
  return order;
}

/// The problems that a file has rows or steps of, or was to bring.
std::vector<std::int64_t> begun_problems(std::span<const Assignment> work, const Results& results) {
  std::set<Problem> problems;
  for (const AskedPoint& point : results.asked) problems.insert(point.problem);
  for (const Record& record : results.records) problems.insert(record.problem);
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < work.size(); ++i)
    if (problems.contains(work[i].problem)) numbers.push_back(static_cast<std::int64_t>(i) + 1);
  return numbers;
}

bool ended_early(const SupervisedEnd& end) {
  return end.signal != 0 || end.out_of_time || end.failed || !end.broken.empty();
}

}  // namespace

HandedOut::HandedOut(int descriptor) : channel_(descriptor) {
  struct stat state {};
  if (::fstat(descriptor, &state) != 0 || !S_ISSOCK(state.st_mode))
    throw InputError("--hand-out: is given by gla-bench-mpi, not by hand");
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);  // none of the workers' business
}

void HandedOut::note(Shard shard, std::size_t problems, Facts& environment) {
  environment[std::string(shard_fact)] = name(shard);
  environment[std::string(shard_problems)] = static_cast<double>(problems);
}

std::vector<std::int64_t> HandedOut::receive() {
  const auto line = channel_.receive(-1);
  if (!line) throw WorkerError("gla-bench-mpi ended; --resume goes on");
  return read_problems_line(*line);
}

SupervisedEnd HandedOut::work_through(
    std::span<const Assignment> work, std::span<const double> seconds, const std::string& plan,
    RecordFile& file, const Results& results,
    const std::function<SupervisedEnd(std::span<const Assignment>)>& supervise) {
  const std::vector<std::int64_t> begun = begun_problems(work, results);
  channel_.send(parse_json(hello_line({plan, longest_first(seconds), begun}), "hello"));
  std::vector<std::int64_t> batch = begun;
  SupervisedEnd end;
  while (true) {
    if (batch.empty()) {
      channel_.send(parse_json(ask_line(), "ask"));
      batch = receive();
      if (batch.empty()) return end;
    }
    std::vector<Assignment> share;
    std::vector<std::size_t> places;
    for (const std::int64_t number : batch) {
      places.push_back(static_cast<std::size_t>(number) - 1);
      if (places.back() >= work.size())
        throw WorkerError("gla-bench-mpi handed out what there is not");
      share.push_back(work[places.back()]);
    }
    file.ask_also(asked_points(share, places));
    drop_recorded(share, results.records);
    end = supervise(share);
    if (ended_early(end)) return end;
    batch.clear();
  }
}

}  // namespace gla_bench::commands
