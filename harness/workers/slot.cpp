#include "harness/workers/slot.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/workers/signals.hpp"

namespace gla_bench {
namespace {

// Seconds that a process which has closed its socket has to end by itself before it is killed.
constexpr double patience_seconds = 10;

// Ceilings take a second or two; the first use of a GPU and its libraries takes some more.
constexpr double ceilings_seconds = 300;

// A run that is ended while it starts still makes its results file where the worker answers soon.
constexpr double grace_seconds = 10, seconds_between_looks = 0.25;

}  // namespace

/// What the worker sends next, or nothing where it sends nothing in time. Behind a signal that ends
/// the run there is little time left. @throws WorkerError, Interrupted
std::optional<std::string> Slot::hear(double seconds) {
  std::optional<int> signal;
  while (true) {
    const double part = std::min(seconds, seconds_between_looks);
    try {
      if (auto line = process_->channel().receive(part)) return line;
    } catch (const WorkerError& error) {
      end(true);
      throw WorkerError(label_ + ": " + error.what());
    }
    seconds -= part;
    if (process_->channel().ended()) return std::nullopt;
    if (!signal && (signal = pending_signal())) seconds = std::min(seconds, grace_seconds);
    if (seconds > 0) continue;
    if (!signal) return std::nullopt;
    end(true);
    end_by(*signal);
  }
}

/// The next message of a worker that has no other request under way. @throws InputError,
/// WorkerError, Interrupted
Json Slot::expect(const std::string& kind, double seconds) {
  const auto line = hear(seconds);
  if (!line) {
    const bool ended = process_->channel().ended();
    const Death death = end(!ended);
    throw WorkerError(label_ + ": no " + kind + " from the worker: " +
                      (ended ? death.cause : "it said nothing for a long time") +
                      (death.last_words.empty() ? "" : "; it printed: " + death.last_words));
  }
  try {
    Json document = parse_json(*line, label_);
    const JsonNode message(document, label_);
    const std::string got = message_kind(message);
    if (got == kind) return document;
    if (got != "error") message.fail(kind);
    if (message.at("kind").text() != "input")
      throw WorkerError(label_ + ": " + message.at("what").text());
    throw InputError(message.at("what").text());
  } catch (...) {
    end(true);
    throw;
  }
}

void Slot::open() {
  start(hello_seconds);
  const Json message = expect("hello", hello_seconds);
  greeted(read_hello(JsonNode(message, label_)));
}

std::string Slot::plan_counters(const CounterPolicy& policy, const std::string& config) {
  process_->channel().send(counters_request(policy, config));
  const Json message = expect("counters", hello_seconds);
  return JsonNode(message, label_).at("plan").text();
}

std::optional<Ceilings> Slot::measure_ceilings() {
  process_->channel().send(ceilings_request());
  const Json message = expect("ceilings", ceilings_seconds);
  return read_ceilings(JsonNode(message, label_));
}

void Slot::start(double seconds) {
  process_ = std::make_unique<WorkerProcess>(command_);
  state_ = State::starting;
  last_record.reset();
  timed_record.reset();
  last_error.clear();
  printed = 0;
  ahead_until = 0;
  configured_ = false;
  expect_within(seconds);
}

void Slot::greeted(const Hello& hello) {
  if (hello_ && (hello.can_run != hello_->can_run ||
                 fact_text(hello.environment, "uuid") != fact_text(hello_->environment, "uuid")))
    throw WorkerError(label_ + ": it was " + fact_text(hello_->environment, "device") +
                      ", and now it is " + fact_text(hello.environment, "device"));
  if (!hello_) hello_ = hello;
  idle();
}

void Slot::take(std::size_t point, std::unique_ptr<PointWork> work) {
  point_ = point;
  work_ = std::move(work);
}

std::unique_ptr<PointWork> Slot::leave() {
  point_.reset();
  return std::move(work_);
}

void Slot::idle() {
  state_ = State::idle;
  deadline_.reset();
}

void Slot::retire() {
  process_.reset();
  deadline_.reset();
  state_ = State::retired;
}

bool Slot::configure(const WorkSettings& settings) {
  if (configured_) return true;
  configured_ = true;
  return process_->channel().send(configure_message(settings));
}

void Slot::expect_within(double seconds) {
  limit_ = seconds;
  deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                 std::chrono::duration<double>(std::min(seconds, 1e9)));
  if (state_ == State::idle) state_ = State::busy;
}

Death Slot::end(bool kill) {
  if (kill) process_->kill();
  const Death death = process_->bury(patience_seconds);
  process_.reset();
  deadline_.reset();
  state_ = State::empty;
  return death;
}

}  // namespace gla_bench
