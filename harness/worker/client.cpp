#include "harness/worker/client.hpp"

#include <nlohmann/json.hpp>

#include "harness/record_json.hpp"
#include "harness/worker/supervisor.hpp"

namespace gla_bench {
namespace {

constexpr double ceilings_seconds = 300;

}  // namespace

WorkerClient::WorkerClient(const std::string& label, const WorkerCommand& command)
    : slot_(label, command) {
  restart();
}

void WorkerClient::restart() {
  slot_.start(Supervisor::hello_seconds);
  const auto line = slot_.process()->channel().receive(Supervisor::hello_seconds);
  if (!line) lose(!slot_.process()->channel().ended(), "no hello");
  const Json document = parse_json(*line, slot_.label());
  const JsonNode message(document, slot_.label());
  if (message_kind(message) == "error") throw InputError(message.at("what").text());
  if (message_kind(message) != "hello") message.fail("a worker's hello");
  slot_.greeted(read_hello(message));
  if (settings_) slot_.process()->channel().send(configure_message(*settings_));
}

void WorkerClient::configure(const WorkSettings& settings) {
  settings_ = settings;
  slot_.process()->channel().send(configure_message(settings));
}

void WorkerClient::lose(bool timed_out, const std::string& why) {
  const Death death = slot_.end(timed_out);
  std::string text = slot_.label() + ": " + why;
  if (!timed_out) text += ": " + death.cause;
  throw WorkerLost(text, timed_out);
}

/// Sends a request and takes the answer of that kind, giving leave to the steps before it.
Json WorkerClient::ask(const Json& request, const std::string& answer, double seconds,
                       const Limit& limit) {
  if (slot_.process() == nullptr) throw WorkerLost(slot_.label() + ": was lost before", false);
  Channel& channel = slot_.process()->channel();
  channel.send(request);
  while (true) {
    const auto line = channel.receive(seconds);
    if (!line && channel.ended()) lose(false, "it ended before its answer");
    if (!line) lose(true, "no answer after " + std::to_string(seconds) + " s, and was killed");
    Json document = parse_json(*line, slot_.label());
    const JsonNode message(document, slot_.label());
    const std::string kind = message_kind(message);
    if (kind == answer) return document;
    if (kind == "starting") {
      if (limit) seconds = limit(read_starting(message).step);
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

std::string WorkerClient::plan_counters(const CounterPolicy& policy, const std::string& config) {
  const Json answer =
      ask(counters_request(policy, config), "counters", Supervisor::hello_seconds, {});
  return JsonNode(answer, slot_.label()).at("plan").text();
}

std::optional<Ceilings> WorkerClient::measure_ceilings() {
  const Json answer = ask(ceilings_request(), "ceilings", ceilings_seconds, {});
  return read_ceilings(JsonNode(answer, slot_.label()));
}

Record WorkerClient::prepare(const Problem& problem, const NamedCandidate& candidate,
                             const Limit& limit) {
  const Json answer =
      ask(prepare_message(problem, candidate), "prepared", Supervisor::hello_seconds, limit);
  return read_record(JsonNode(answer, slot_.label()).at("record"));
}

Samples WorkerClient::sample(const SampleRequest& request, double seconds) {
  const Json answer = ask(sample_message(request), "samples", seconds, {});
  return read_samples(JsonNode(answer, slot_.label()));
}

Record WorkerClient::check(double seconds) {
  const Json answer = ask(check_message(), "checked", seconds, {});
  return read_record(JsonNode(answer, slot_.label()).at("record"));
}

}  // namespace gla_bench
