#include "harness/duel/slowed.hpp"

namespace gla_bench {
namespace {

class SlowedPlan final : public Plan {
 public:
  SlowedPlan(std::unique_ptr<Plan> plan, double factor) : plan_(std::move(plan)), factor_(factor) {}
  BuildInfo info() const override { return plan_->info(); }
  void prepare(Workset& workset) override { plan_->prepare(workset); }
  void poison_workspace() override { plan_->poison_workspace(); }
  std::optional<std::string> damage() override { return plan_->damage(); }
  void run() override { plan_->run(); }
  double sample(CacheState cache, int calls) override {
    return factor_ * plan_->sample(cache, calls);
  }
  std::vector<StageTime> stage_times(CacheState cache) override {
    auto times = plan_->stage_times(cache);
    for (StageTime& time : times) time.seconds *= factor_;
    return times;
  }
  CounterReading count(std::span<const std::string> metrics) override {
    return plan_->count(metrics);
  }
  void repeat(int calls) override { plan_->repeat(calls); }
  std::size_t launches() const override { return plan_->launches(); }

 private:
  std::unique_ptr<Plan> plan_;
  double factor_;
};

class SlowedBackend final : public Backend {
 public:
  SlowedBackend(std::unique_ptr<Backend> backend, double factor)
      : backend_(std::move(backend)), factor_(factor) {}
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
  void profiled(const std::function<void()>& work) override { backend_->profiled(work); }
  std::unique_ptr<Workset> stage(const Operator& op, const Problem& problem,
                                 const HostTensors& inputs) override {
    return backend_->stage(op, problem, inputs);
  }
  std::unique_ptr<Plan> build(const Candidate& candidate) override {
    return std::make_unique<SlowedPlan>(backend_->build(candidate), factor_);
  }
  bool is_ready(const Candidate& candidate) override { return backend_->is_ready(candidate); }
  void build_ahead(std::span<const Candidate> candidates) override {
    backend_->build_ahead(candidates);
  }
  std::optional<ReferenceTensors> reference(const Operator& op, const Problem& problem,
                                            const HostTensors& inputs) override {
    return backend_->reference(op, problem, inputs);
  }
  std::optional<HostTensors> baseline(const Operator& op, const Problem& problem,
                                      const HostTensors& inputs, Arithmetic arithmetic) override {
    return backend_->baseline(op, problem, inputs, arithmetic);
  }
  std::optional<Ceilings> measure_ceilings() override { return backend_->measure_ceilings(); }

 private:
  std::unique_ptr<Backend> backend_;
  double factor_;
};

}  // namespace

std::unique_ptr<Backend> slowed(std::unique_ptr<Backend> backend, double share) {
  return std::make_unique<SlowedBackend>(std::move(backend), 1 + share);
}

}  // namespace gla_bench
