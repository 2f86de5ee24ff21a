#include "harness/workers/supervisor.hpp"

#include "harness/workers/dispatch.hpp"

namespace gla_bench {

const Hello& Supervisor::add(const std::string& label, const WorkerCommand& command) {
  auto slot = std::make_unique<Slot>(label, command);
  slot->open();
  slots_.push_back(std::move(slot));
  return *slots_.back()->hello();
}

SupervisedEnd Supervisor::run(std::span<const Assignment> work, const WorkConditions& conditions,
                              const RunHooks& hooks, Progress& progress) {
  return Dispatch(slots_, work, conditions, hooks, progress).run();
}

}  // namespace gla_bench
