#pragma once
// Takes samples of candidates in a worker process. It compiles ahead on all cores, verifies each
// candidate before its first sample, samples in turns, and survives crashes and hangs.

#include <deque>
#include <map>
#include <set>

#include "harness/engine/run.hpp"
#include "harness/search/search.hpp"
#include "harness/workers/client.hpp"
#include "harness/workers/conditions.hpp"

namespace gla_bench::search {

/// Where the time went, in seconds of wall time unless noted.
struct Breakdown {
  double total = 0;
  double wait = 0;             ///< the device was idle, because nothing was compiled
  double verify = 0;           ///< building from compiled code, references, verification
  double measure = 0;          ///< samples, warm-up, verification of the last timed launches
  double compile = 0;          ///< summed over all cores
  std::size_t candidates = 0;  ///< number of candidates that were tried

  double candidates_per_minute() const;
  Breakdown& operator+=(const Breakdown& other);
};

struct LiveHooks {
  /// Called before a step of a candidate. The worker waits until it returns.
  std::function<void(const Candidate&, RunStep)> starting;
  /// Receives the record of a candidate that has been verified or has failed.
  std::function<void(const Record&)> record;
  std::function<void(const std::string&)>
      message;  ///< a line for people that stays on the terminal
};

class LiveMeasurer final : public Measurer {
 public:
  LiveMeasurer(WorkerClient& client, const Assignment& work, const WorkConditions& conditions,
               const LiveHooks& hooks, std::uint64_t seed);

  /// @throws WorkerError where workers end before they begin any step, and what the hooks throw
  void measure(const Batch& batch, const std::vector<std::size_t>& outlook,
               Search& search) override;

  /// Verifies the last timed launch of these candidates again. One that is wrong fails and cannot
  /// win.
  void check(const std::vector<std::size_t>& candidates, Search& search);

  /// The record of each candidate; still `rejected` where nothing was done with it.
  const std::vector<Record>& records() const { return records_; }
  const Breakdown& breakdown() const { return breakdown_; }

 private:
  using Indices = std::vector<std::size_t>;

  void look_at(std::deque<std::size_t> pending, int samples, Search& search);
  void hold_all(const Batch& batch, Search& search);
  Indices next_few(std::deque<std::size_t>& pending, Search& search) const;
  std::optional<std::size_t> hold_one(const Indices& few, Search& search);
  void held(std::size_t candidate, Record record, Search& search);
  std::vector<double> sample(std::size_t candidate, int samples, Search& search);
  void tell_ahead(const std::deque<std::size_t>& pending);
  void make_room(std::size_t candidate);
  void lost(const WorkerLost& lost, const std::optional<StepEvent>& in_hand, Search& search);
  void give_up(std::size_t candidate, Status status, const std::string& reason, Search& search);
  void give_up_all(Status status, const std::string& reason, Search& search);
  void note_clock(std::size_t candidate, const Samples& samples);
  double limit(std::size_t candidate, RunStep step) const;
  bool is_suspect_now(std::size_t candidate, const Search& search) const;
  NamedCandidate named(std::size_t candidate) const;
  NamedPoint named(const Indices& candidates) const;

  WorkerClient& client_;
  const Assignment& work_;
  const WorkConditions& conditions_;
  const LiveHooks& hooks_;
  std::mt19937_64 random_;
  std::vector<Record> records_;
  std::vector<int> deaths_;
  std::set<std::size_t> held_;  ///< candidates that the present worker holds
  std::deque<std::size_t>
      in_memory_;  ///< those of them whose memory is allocated, the least recently sampled first
  std::set<std::size_t> told_;  ///< candidates that the present worker was told to compile ahead
  std::set<std::size_t>
      barred_;  ///< candidates not to compile ahead: one of them may have killed a worker
  std::optional<std::size_t> suspect_;  ///< the candidate that is tried alone
  std::deque<std::size_t> outlook_;
  int problem_deaths_ = 0;
  int blameless_ = 0;
  Breakdown breakdown_;
};

}  // namespace gla_bench::search
