#include "harness/workers/supervisor.hpp"

#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/workers/dispatch.hpp"

namespace gla_bench {
namespace {

// Ceilings take a second or two, the first use of a GPU and its libraries some more.
constexpr double ceilings_seconds = 300;

/// The next message of a worker that is asked for nothing else. @throws InputError, WorkerError
Json expect(Slot& slot, const std::string& kind, double seconds) {
  const auto line = slot.process()->channel().receive(seconds);
  if (!line) {
    const bool ended = slot.process()->channel().ended();
    const Death death = slot.end(!ended);
    throw WorkerError(slot.label() + ": no " + kind + " from the worker: " +
                      (ended ? death.cause : "it said nothing for a long time") +
                      (death.last_words.empty() ? "" : "; it printed: " + death.last_words));
  }
  try {
    Json document = parse_json(*line, slot.label());
    const JsonNode message(document, slot.label());
    const std::string got = message_kind(message);
    if (got == kind) return document;
    if (got != "error") message.fail(kind);
    if (message.at("kind").text() != "input")
      throw WorkerError(slot.label() + ": " + message.at("what").text());
    throw InputError(message.at("what").text());
  } catch (...) {
    slot.end(true);
    throw;
  }
}

}  // namespace

const Hello& Supervisor::add(const std::string& label, const WorkerCommand& command) {
  auto slot = std::make_unique<Slot>(label, command);
  slot->start(hello_seconds);
  const Json message = expect(*slot, "hello", hello_seconds);
  slot->greeted(read_hello(JsonNode(message, label)));
  slots_.push_back(std::move(slot));
  return *slots_.back()->hello();
}

std::string Supervisor::plan_counters(const CounterPolicy& policy, const std::string& config) {
  Slot& slot = *slots_.front();
  slot.process()->channel().send(counters_request(policy, config));
  const Json message = expect(slot, "counters", hello_seconds);
  return JsonNode(message, slot.label()).at("plan").text();
}

std::optional<Ceilings> Supervisor::measure_ceilings() {
  Slot& slot = *slots_.front();
  slot.process()->channel().send(ceilings_request());
  const Json message = expect(slot, "ceilings", ceilings_seconds);
  return read_ceilings(JsonNode(message, slot.label()));
}

SupervisedEnd Supervisor::run(std::span<const Assignment> work, const SupervisedPlan& plan,
                              const RunHooks& hooks, Progress& progress) {
  return Dispatch(slots_, work, plan, hooks, progress).run();
}

}  // namespace gla_bench
