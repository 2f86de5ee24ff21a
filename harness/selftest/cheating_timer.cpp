// A backend whose timer does not wait for one variant: a sample is asked for and its work put off
// until somebody looks at the outputs, as a launch that is never synchronised would be.

#include <utility>

#include "harness/selftest/planted.hpp"

namespace gla_bench::planted {
namespace {

class LateWorkset final : public Workset {
 public:
  explicit LateWorkset(std::unique_ptr<Workset> honest) : honest_(std::move(honest)) {}

  void poison_outputs() override {
    finish();
    honest_->poison_outputs();
  }
  const HostTensors& download_outputs() override {
    finish();
    return honest_->download_outputs();
  }
  std::uint64_t outputs_fingerprint() override {
    finish();
    return honest_->outputs_fingerprint();
  }
  bool poison_left() override {
    finish();
    return honest_->poison_left();
  }
  std::optional<std::string> damage() override {
    finish();
    return honest_->damage();
  }
  bool negate_inputs() override {
    finish();
    return honest_->negate_inputs();
  }

  Workset& honest() { return *honest_; }
  void put_off(std::function<void()> work) { work_ = std::move(work); }
  void finish() {
    if (work_) std::exchange(work_, {})();
  }

 private:
  std::unique_ptr<Workset> honest_;
  std::function<void()> work_;
};

class CheatingPlan final : public Plan {
 public:
  CheatingPlan(std::unique_ptr<Plan> honest, bool cheats)
      : honest_(std::move(honest)), cheats_(cheats) {}
  ~CheatingPlan() override {
    if (cheats_ && workset_ != nullptr) workset_->put_off({});
  }

  BuildInfo info() const override { return honest_->info(); }
  void prepare(Workset& workset) override {
    workset_ = &dynamic_cast<LateWorkset&>(workset);
    honest_->prepare(workset_->honest());
  }
  void poison_workspace() override {
    workset_->finish();
    honest_->poison_workspace();
  }
  std::optional<std::string> damage() override { return honest_->damage(); }
  void run() override {
    workset_->finish();
    honest_->run();
  }
  double sample(CacheState cache, int calls) override {
    if (!cheats_) return honest_->sample(cache, calls);
    workset_->put_off([this, cache, calls] { honest_->sample(cache, calls); });
    return 1e-6;
  }
  std::vector<StageTime> stage_times(CacheState cache) override {
    return honest_->stage_times(cache);
  }
  CounterReading count(std::span<const std::string> metrics) override {
    return honest_->count(metrics);
  }
  void repeat(int calls) override { honest_->repeat(calls); }
  std::size_t launches() const override { return honest_->launches(); }

 private:
  std::unique_ptr<Plan> honest_;
  bool cheats_;
  LateWorkset* workset_ = nullptr;
};

class CheatingBackend final : public Backend {
 public:
  explicit CheatingBackend(std::unique_ptr<Backend> honest) : honest_(std::move(honest)) {}

  BackendId id() const override { return honest_->id(); }
  bool can_run() const override { return honest_->can_run(); }
  Limits limits() const override { return honest_->limits(); }
  Environment environment() const override { return honest_->environment(); }
  std::optional<double> clock_mhz() override { return honest_->clock_mhz(); }
  std::vector<std::string> clock_reasons() override { return honest_->clock_reasons(); }
  std::optional<double> energy_joules() override { return honest_->energy_joules(); }
  CounterCheck check_counters(std::span<const std::string> metrics) const override {
    return honest_->check_counters(metrics);
  }
  std::unique_ptr<Workset> stage(const Operator& op, const Problem& problem,
                                 const HostTensors& inputs) override {
    return std::make_unique<LateWorkset>(honest_->stage(op, problem, inputs));
  }
  std::unique_ptr<Plan> build(const Candidate& candidate) override {
    return std::make_unique<CheatingPlan>(honest_->build(candidate),
                                          candidate.variant->name == "cheating_timer");
  }
  bool is_ready(const Candidate& candidate) override { return honest_->is_ready(candidate); }
  void build_ahead(std::span<const Candidate> candidates) override {
    honest_->build_ahead(candidates);
  }
  std::optional<ReferenceTensors> reference(const Operator& op, const Problem& problem,
                                            const HostTensors& inputs) override {
    return honest_->reference(op, problem, inputs);
  }
  std::optional<HostTensors> baseline(const Operator& op, const Problem& problem,
                                      const HostTensors& inputs, Arithmetic arithmetic) override {
    return honest_->baseline(op, problem, inputs, arithmetic);
  }
  std::optional<Ceilings> measure_ceilings() override { return honest_->measure_ceilings(); }

 private:
  std::unique_ptr<Backend> honest_;
};

}  // namespace

std::unique_ptr<Backend> with_cheating_timer(std::unique_ptr<Backend> honest) {
  if (!honest) return nullptr;
  return std::make_unique<CheatingBackend>(std::move(honest));
}

}  // namespace gla_bench::planted
