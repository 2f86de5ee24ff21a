#include "harness/workers/point_work.hpp"

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
  in_hand_.reset();
  if (suspect_ == candidate) suspect_.reset();
}

void PointWork::done() {
  in_hand_.reset();
  if (!progressed_) throw WorkerError("a worker ended an order without a record of any candidate");
}

void PointWork::give_up(std::size_t candidate, const WorkerEnd& end, const std::string& before,
                        std::vector<GivenUp>& given_up) {
  states_[candidate].recorded = true;
  if (suspect_ == candidate) suspect_.reset();
  given_up.push_back({candidate, end.timed_out ? Status::timeout : Status::crashed,
                      before + end.cause + (end.timed_out ? "" : ", also when tried again alone")});
}

bool PointWork::died(const WorkerEnd& end, std::vector<GivenUp>& given_up) {
  if (!in_hand_) return false;
  const StepEvent step = *in_hand_;
  in_hand_.reset();
  if (!step.candidate) {
    if (++deaths_ == 1 && !end.timed_out) return true;
    for (std::size_t i = 0; i < states_.size(); ++i)
      if (!states_[i].recorded) give_up(i, end, "before any candidate ran: ", given_up);
    return true;
  }
  if (++states_[*step.candidate].deaths == 1 && !end.timed_out)
    suspect_ = *step.candidate;
  else
    give_up(*step.candidate, end, std::string(name(step.step)) + ": ", given_up);
  return true;
}

bool PointWork::acquitted() {
  return std::exchange(acquitted_, false);
}

}  // namespace gla_bench
