#include "harness/workers/dispatch.hpp"

#include <poll.h>
#include <chrono>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/records/record_json.hpp"
#include "harness/workers/signals.hpp"

namespace gla_bench {
namespace {

constexpr int poll_milliseconds = 250;  // for limits; everything else wakes the parent by itself

std::vector<Candidate> picked(const Assignment& point, const std::vector<std::size_t>& indices) {
  std::vector<Candidate> list;
  for (const std::size_t index : indices) list.push_back(point.accepted[index]);
  return list;
}

// The expected time of the run. Workers share the steps, so that steps end that many times as
// often.
TimeLeft time_left(std::span<const Assignment> work, const WorkConditions& conditions,
                   std::size_t workers) {
  CandidateSeconds expected = mean_seconds(
      work, conditions.rates, conditions.settings.policy.timing, conditions.place.backend);
  const auto share = static_cast<double>(std::max<std::size_t>(workers, 1));
  expected.verify /= share, expected.measure /= share;
  return TimeLeft(expected, candidate_count(work), conditions.settings.measure);
}

}  // namespace

Dispatch::Dispatch(std::vector<std::unique_ptr<Slot>>& slots, std::span<const Assignment> work,
                   const WorkConditions& conditions, const RunHooks& hooks, Progress& progress)
    : slots_(slots),
      work_(work),
      conditions_(conditions),
      hooks_(hooks),
      progress_(progress, conditions.settings.measure, time_left(work, conditions, slots.size())),
      ahead_(work) {
  for (std::size_t i = 0; i < work.size(); ++i) queue_.push_back({i, nullptr});
}

SupervisedEnd Dispatch::run() {
  SignalWatch signals;
  while (!finished() && !end_.failed) {
    if (conditions_.ends && std::chrono::steady_clock::now() >= *conditions_.ends) {
      end_.out_of_time = true;
      break;
    }
    for (const auto& slot : slots_) feed(*slot);
    if (std::all_of(slots_.begin(), slots_.end(),
                    [](const auto& slot) { return slot->state() == Slot::State::retired; })) {
      if (!finished()) end_.broken = why_retired_;
      break;
    }
    if (finished()) break;
    wait(signals.descriptor());
    if (const auto signal = signals.take()) {
      end_.signal = *signal;
      break;
    }
    for (const auto& slot : slots_) listen(*slot);
  }
  return end_;
}

bool Dispatch::finished() const {
  return queue_.empty() && std::none_of(slots_.begin(), slots_.end(),
                                        [](const auto& slot) { return slot->work() != nullptr; });
}

/// Gives a slot the process or the problem that it lacks.
void Dispatch::feed(Slot& slot) {
  while (slot.work() == nullptr && !queue_.empty() &&
         (slot.state() == Slot::State::idle || slot.state() == Slot::State::empty)) {
    Open open = std::move(queue_.front());
    queue_.pop_front();
    const Assignment& point = work_[open.point];
    if (!open.work) {
      for (const Record& record : point.refused) emit(record);
      if (point.accepted.empty()) continue;
      open.work = std::make_unique<PointWork>(point.accepted.size());
    }
    slot.take(open.point, std::move(open.work));
  }
  if (slot.work() == nullptr) return;
  if (slot.state() == Slot::State::empty) slot.start(Slot::hello_seconds);
  if (slot.state() == Slot::State::idle) next_order(slot);
}

void Dispatch::next_order(Slot& slot) {
  const PointWork::Order& order = slot.work()->next();
  if (order.candidates.empty()) {
    slot.leave();
    feed(slot);
    return;
  }
  const Assignment& point = work_[*slot.point()];
  Channel& channel = slot.process()->channel();
  bool heard = slot.configure(conditions_.settings);
  if (heard && !order.alone && conditions_.place.backend == BackendId::cuda) {
    const auto index =
        static_cast<std::size_t>(std::find_if(slots_.begin(), slots_.end(),
                                              [&](const auto& s) { return s.get() == &slot; }) -
                                 slots_.begin());
    const auto points = ahead_.take(*slot.point(), slot.ahead_until, index, slots_.size());
    if (!points.empty()) heard = channel.send(ahead_message(points));
  }
  if (heard) channel.send(point_message(named(point.problem, picked(point, order.candidates))));
  // The time covers opening the device and receiving the request. A failure shows as the end of the
  // socket.
  slot.expect_within(Slot::hello_seconds);
}

void Dispatch::wait(int signals) {
  std::vector<pollfd> entries{{signals, POLLIN, 0}};
  for (const auto& slot : slots_) {
    if (slot->process() == nullptr) continue;
    entries.push_back({slot->process()->channel().descriptor(), POLLIN, 0});
    if (slot->process()->output() >= 0) entries.push_back({slot->process()->output(), POLLIN, 0});
  }
  ::poll(entries.data(), entries.size(), poll_milliseconds);
}

/// Handles the messages of the slot's process, and its end.
void Dispatch::listen(Slot& slot) {
  if (slot.process() == nullptr) return;
  print_output(slot);
  Channel& channel = slot.process()->channel();
  try {
    while (slot.process() != nullptr) {
      const auto line = channel.receive(0);
      if (!line) break;
      handle(slot, *line);
    }
  } catch (const WorkerError& error) {
    const Death death = slot.end(true);
    buried(slot, {false, error.what()}, death);
    return;
  }
  if (slot.process() == nullptr) return;
  if (channel.ended())
    ended(slot);
  else
    check_limits(slot);
}

void Dispatch::handle(Slot& slot, const std::string& line) {
  const auto of_protocol = [&](const auto& read) {
    try {
      return read();
    } catch (const InputError& error) {
      throw WorkerError("it said what is not of the protocol: " + std::string(error.what()));
    }
  };
  const Json document = of_protocol([&] { return parse_json(line, slot.label()); });
  const JsonNode message(document, slot.label());
  const std::string kind = of_protocol([&] { return message_kind(message); });
  if (kind == "hello") {
    slot.greeted(of_protocol([&] { return read_hello(message); }));
    return;
  }
  if (kind == "error") {
    const std::string what = of_protocol([&] { return message.at("what").text(); });
    if (of_protocol([&] { return message.at("kind").text(); }) == "input") throw InputError(what);
    slot.last_error = what;
    return;
  }
  if (slot.work() == nullptr) throw WorkerError("it said \"" + kind + "\" without work");
  const auto place = of_protocol([&] { return read_candidate(message); });
  if (kind == "starting")
    starting(slot, of_protocol([&] { return read_starting(message); }));
  else if (kind == "verified")
    progress_.verified(candidate(slot, slot.work()->candidate(place.value_or(0))));
  else if (kind == "record")
    recorded(slot, of_protocol([&] { return read_record(message.at("record")); }),
             place.value_or(0));
  else if (kind == "timed")
    slot.timed_record = of_protocol([&] { return read_record(message.at("record")); });
  else if (kind == "crashed")
    slot.last_record = of_protocol([&] { return read_record(message.at("record")); });
  else if (kind == "done")
    point_done(slot);
  else
    throw WorkerError("it said \"" + kind + "\" when that was not asked");
}

void Dispatch::starting(Slot& slot, const StepEvent& event) {
  slot.work()->starting(event);
  const auto in_hand = slot.work()->in_hand();
  const Candidate* of = in_hand->candidate ? &candidate(slot, *in_hand->candidate) : nullptr;
  const Assignment& point = work_[*slot.point()];
  progress_.starting(event.step, point.problem, of);
  if (of != nullptr && hooks_.starting) hooks_.starting(*of, event.step, slot.label());
  slot.expect_within(step_limit(conditions_, event.step, *point.op, point.problem, of));
  slot.process()->channel().send(go_message());
}

void Dispatch::recorded(Slot& slot, Record record, std::size_t place) {
  const std::size_t index = slot.work()->candidate(place);
  slot.work()->recorded(place);
  slot.timed_record.reset();
  slot.blameless_deaths = 0;
  slot.printed = 0;
  progress_.recorded(candidate(slot, index), record);
  emit(record);
}

void Dispatch::point_done(Slot& slot) {
  slot.work()->done();
  if (slot.work()->acquitted()) {
    progress_.message(slot.label() + ": " + std::string(acquittal_text));
    ahead_.bar(barred_until_);
  }
  slot.idle();
  next_order(slot);
}

void Dispatch::emit(const Record& record) {
  ++end_.summary.counts[record.status];
  if (conditions_.until_failure && is_failure(record.status)) end_.failed = true;
  hooks_.record(record);
}

const Candidate& Dispatch::candidate(const Slot& slot, std::size_t index) const {
  return work_[*slot.point()].accepted[index];
}

}  // namespace gla_bench
