#include "harness/workers/point_work.hpp"

#include <utility>

#include "core/error.hpp"

namespace gla_bench {

const PointWork::Order& PointWork::next() {
  order_ = {};
  in_hand_.reset();
  progressed_ = false;
  if (suspect_) {
    order_ = {{*suspect_}, true};
    return order_;
  }
  for (std::size_t i = 0; i < states_.size(); ++i)
    if (!states_[i].recorded) order_.candidates.push_back(i);
  return order_;
}

std::size_t PointWork::candidate(std::size_t place) const {
  if (place >= order_.candidates.size())
    throw WorkerError("a worker speaks of candidate " + std::to_string(place) + " of " +
                      std::to_string(order_.candidates.size()));
  return order_.candidates[place];
}

void PointWork::starting(const StepEvent& event) {
  in_hand_ = event;
  if (event.candidate) in_hand_->candidate = candidate(*event.candidate);
}

void PointWork::recorded(std::size_t place) {
  const std::size_t index = candidate(place);
  states_[index].recorded = true;
  progressed_ = true;
  in_hand_.reset();
  if (suspect_ == index) {
    suspect_.reset();
    acquitted_ = true;
  }
}

void PointWork::close(std::size_t candidate) {
  states_[candidate].recorded = true;
  if (suspect_ == candidate) suspect_.reset();
}

void PointWork::done() {
  in_hand_.reset();
  if (!progressed_) throw WorkerError("a worker ended an order without a record of any candidate");
}

PointDeath PointWork::died(const WorkerEnd& end, int blameless, bool timed) {
  const std::optional<StepEvent> step = std::exchange(in_hand_, std::nullopt);
  int nobody = 0;
  int& deaths = !step ? nobody : step->candidate ? states_[*step->candidate].deaths : deaths_;
  PointDeath death{after_death({end, step, deaths++, blameless, timed}),
                   step.value_or(StepEvent{})};
  switch (death.decision.action) {
    case AfterDeath::go_on:
    case AfterDeath::stop:
      break;
    case AfterDeath::try_again:
      if (death.step.candidate) suspect_ = death.step.candidate;
      break;
    case AfterDeath::keep_timing:
    case AfterDeath::give_up:
      death.closed = {*death.step.candidate};
      break;
    case AfterDeath::give_up_problem:
      for (std::size_t i = 0; i < states_.size(); ++i)
        if (!states_[i].recorded) death.closed.push_back(i);
      break;
  }
  for (const std::size_t candidate : death.closed) close(candidate);
  return death;
}

bool PointWork::acquitted() {
  return std::exchange(acquitted_, false);
}

}  // namespace gla_bench
