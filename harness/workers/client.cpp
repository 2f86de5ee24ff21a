#include "harness/workers/client.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/records/record_json.hpp"

namespace gla_bench {
namespace {

constexpr double seconds_between_looks = 0.2;

WorkerClient::Started limited(const WorkerClient::Limit& limit) {
  if (!limit) return {};
  return [&limit](const StepEvent& event) { return limit(event.step); };
}

}  // namespace

WorkerClient::WorkerClient(const std::string& label, const WorkerCommand& command)
    : slot_(label, command) {
  restart();
}

void WorkerClient::restart() {
  slot_.open();
  if (settings_) slot_.process()->channel().send(configure_message(*settings_));
}

void WorkerClient::configure(const WorkSettings& settings) {
  settings_ = settings;
  slot_.process()->channel().send(configure_message(settings));
}

void WorkerClient::lose(bool timed_out, const std::string& why) {
  const Death death = slot_.end(timed_out);
  throw WorkerLost(slot_.label(), {timed_out, timed_out ? why : why + ": " + death.cause});
}

void WorkerClient::send(const Json& request) {
  if (slot_.process() == nullptr) throw WorkerLost(slot_.label(), {false, "was lost before"});
  slot_.process()->channel().send(request);
}

/// What the worker sends next, or nothing where it sends nothing in time.
std::optional<std::string> WorkerClient::hear(double seconds) {
  try {
    return slot_.process()->channel().receive(seconds);
  } catch (const WorkerError& error) {
    slot_.end(true);
    throw WorkerLost(slot_.label(), {false, error.what()});
  }
}

/// The next line that comes within this many seconds.
std::optional<std::string> WorkerClient::receive(double seconds) {
  if (!look_) return hear(seconds);
  look();
  while (true) {
    const double part = std::min(seconds, seconds_between_looks);
    if (auto line = hear(part)) return line;
    seconds -= part;
    if (slot_.process()->channel().ended() || seconds <= 0) return std::nullopt;
    look();
  }
}

void WorkerClient::look() {
  const std::string why = look_(*slot_.process());
  if (why.empty()) return;
  slot_.end(true);
  throw WorkerLost(slot_.label(), {false, why});
}

/// Sends a request and returns the answer of that kind. Allows the steps that come before it.
Json WorkerClient::ask(const Json& request, const std::string& answer, double seconds,
                       const Started& started) {
  send(request);
  Channel& channel = slot_.process()->channel();
  while (true) {
    const auto line = receive(seconds);
    if (!line && channel.ended()) lose(false, "it ended before its answer");
    if (!line) lose(true, "no answer after " + std::to_string(seconds) + " s, and was killed");
    Json document = parse_json(*line, slot_.label());
    const JsonNode message(document, slot_.label());
    const std::string kind = message_kind(message);
    if (kind == answer) return document;
    if (kind == "starting") {
      if (started) seconds = started(read_starting(message));
      channel.send(go_message());
    } else if (kind == "failed") {
      throw RunError(read_record(message.at("record")).reason);
    } else if (kind == "crashed") {
      lose(false, read_record(message.at("record")).reason);
    } else if (kind == "error") {
      if (message.at("kind").text() == "input") throw InputError(message.at("what").text());
      lose(false, message.at("what").text());
    } else {
      message.fail("the answer \"" + answer + "\"");
    }
  }
}

Record WorkerClient::prepare(const Problem& problem, const NamedCandidate& candidate,
                             const Limit& limit) {
  const Json answer =
      ask(prepare_message(problem, candidate), "prepared", Slot::hello_seconds, limited(limit));
  return read_record(JsonNode(answer, slot_.label()).at("record"));
}

Samples WorkerClient::sample(const SampleRequest& request, double seconds) {
  const Json answer = ask(sample_message(request), "samples", seconds, {});
  return read_samples(JsonNode(answer, slot_.label()));
}

void WorkerClient::ahead(const NamedPoint& point) {
  send(ahead_message(std::span(&point, 1)));
}

std::pair<std::size_t, Record> WorkerClient::hold(const NamedPoint& point, const Started& started) {
  // The first step begins when one of the candidates is compiled.
  const double seconds =
      Slot::hello_seconds + (settings_ ? settings_->policy.limits.build_seconds : 0);
  const Json answer = ask(hold_message(point), "held", seconds, started);
  const JsonNode message(answer, slot_.label());
  const std::size_t place = read_candidate(message).value_or(0);
  if (place >= point.candidates.size()) message.at("candidate").fail("a place in the request");
  return {place, read_record(message.at("record"))};
}

void WorkerClient::release(const NamedPoint& point) {
  send(release_message(point));
}

Record WorkerClient::check(double seconds, const CheckRequest& request) {
  const Json answer = ask(check_message(request), "checked", seconds, {});
  return read_record(JsonNode(answer, slot_.label()).at("record"));
}

}  // namespace gla_bench
