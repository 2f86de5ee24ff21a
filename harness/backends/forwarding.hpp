#pragma once
// A plan and a backend that forward every call to another one. Derive from them to change a single
// answer and leave the others alone.

#include <memory>
#include <utility>

#include "harness/backends/backend.hpp"

namespace gla_bench {

class ForwardingPlan : public Plan {
 public:
  explicit ForwardingPlan(std::unique_ptr<Plan> plan) : plan_(std::move(plan)) {}
  BuildInfo info() const override { return plan_->info(); }
  void prepare(Workset& workset) override { plan_->prepare(workset); }
  void poison_workspace() override { plan_->poison_workspace(); }
  std::optional<std::string> damage() override { return plan_->damage(); }
  void run() override { plan_->run(); }
  double sample(CacheState cache, int calls) override { return plan_->sample(cache, calls); }
  std::vector<StageTime> stage_times(CacheState cache) override {
    return plan_->stage_times(cache);
  }
  CounterReading count(std::span<const std::string> metrics) override {
    return plan_->count(metrics);
  }
  void repeat(int calls) override { plan_->repeat(calls); }
  double sustained(std::span<Workset* const> worksets, int rounds) override {
    return plan_->sustained(worksets, rounds);
  }
  std::size_t launches() const override { return plan_->launches(); }

 protected:
  std::unique_ptr<Plan> plan_;
};

class ForwardingBackend : public Backend {
 public:
  explicit ForwardingBackend(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}
  BackendId id() const override { return backend_->id(); }
  bool can_run() const override { return backend_->can_run(); }
  Limits limits() const override { return backend_->limits(); }
  Environment environment() const override { return backend_->environment(); }
  std::optional<double> clock_mhz() override { return backend_->clock_mhz(); }
  std::vector<std::string> clock_reasons() override { return backend_->clock_reasons(); }
  std::optional<double> energy_joules() override { return backend_->energy_joules(); }
  CounterCheck check_counters(std::span<const std::string> metrics) const override {
    return backend_->check_counters(metrics);
  }
  std::unique_ptr<Workset> stage(const Operator& op, const Problem& problem,
                                 const HostTensors& inputs) override {
    return backend_->stage(op, problem, inputs);
  }
  std::unique_ptr<Plan> build(const Candidate& candidate) override {
    return backend_->build(candidate);
  }
  std::unique_ptr<DirectCall> call(const Candidate& candidate) override {
    return backend_->call(candidate);
  }
  void build_ahead(std::span<const Candidate> candidates) override {
    backend_->build_ahead(candidates);
  }
  bool is_ready(const Candidate& candidate) override { return backend_->is_ready(candidate); }
  std::optional<ReferenceTensors> reference(const Operator& op, const Problem& problem,
                                            const HostTensors& inputs) override {
    return backend_->reference(op, problem, inputs);
  }
  std::optional<HostTensors> baseline(const Operator& op, const Problem& problem,
                                      const HostTensors& inputs, Arithmetic arithmetic) override {
    return backend_->baseline(op, problem, inputs, arithmetic);
  }
  void profiled(const std::function<void()>& work) override { backend_->profiled(work); }
  void beside_load(const std::function<void()>& work) override { backend_->beside_load(work); }
  std::optional<Ceilings> measure_ceilings() override { return backend_->measure_ceilings(); }

 protected:
  std::unique_ptr<Backend> backend_;
};

}  // namespace gla_bench
