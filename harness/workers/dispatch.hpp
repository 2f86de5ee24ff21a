#pragma once
// One supervised run: the loop over workers, problems and signals (supervisor.hpp).

#include <deque>

#include "harness/workers/ahead.hpp"
#include "harness/workers/supervisor.hpp"

namespace gla_bench {

class Dispatch {
 public:
  Dispatch(std::vector<std::unique_ptr<Slot>>& slots, std::span<const Assignment> work,
           const WorkConditions& conditions, const RunHooks& hooks, Progress& progress);

  SupervisedEnd run();

 private:
  struct Open {
    std::size_t point;
    std::unique_ptr<PointWork> work;
  };

  bool finished() const;
  void feed(Slot& slot);
  void next_order(Slot& slot);
  void wait(int signals);
  void listen(Slot& slot);
  void handle(Slot& slot, const std::string& line);
  void starting(Slot& slot, const StepEvent& event);
  void recorded(Slot& slot, Record record, std::size_t place);
  void point_done(Slot& slot);
  void ended(Slot& slot);
  void check_limits(Slot& slot);
  void print_output(Slot& slot);
  void buried(Slot& slot, const WorkerEnd& end, const Death& death);
  void keep_timing(Slot& slot, std::size_t index, const DeathDecision& decision);
  void give_up(Slot& slot, std::size_t index, const DeathDecision& decision);
  void retire(Slot& slot, const std::string& why);
  void emit(const Record& record);
  const Candidate& candidate(const Slot& slot, std::size_t index) const;

  std::vector<std::unique_ptr<Slot>>& slots_;
  std::span<const Assignment> work_;
  const WorkConditions& conditions_;
  const RunHooks& hooks_;
  RunProgress progress_;
  AheadWindow ahead_;
  std::deque<Open> queue_;
  SupervisedEnd end_;
  std::string why_retired_;
  std::size_t barred_until_ = 0;  ///< how far the workers that died had been told to compile ahead
};

}  // namespace gla_bench
