// A backend whose timer does not wait for one variant: a sample is asked for and its work put off
// until somebody looks at the outputs, as a launch that is never synchronised would be.

#include <utility>

#include "harness/backends/forwarding.hpp"
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
  bool flip_signs(std::uint64_t pattern) override {
    finish();
    return honest_->flip_signs(pattern);
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

class CheatingPlan final : public ForwardingPlan {
 public:
  CheatingPlan(std::unique_ptr<Plan> honest, bool cheats)
      : ForwardingPlan(std::move(honest)), cheats_(cheats) {}
  ~CheatingPlan() override {
    if (cheats_ && workset_ != nullptr) workset_->put_off({});
  }

  void prepare(Workset& workset) override {
    workset_ = &dynamic_cast<LateWorkset&>(workset);
    plan_->prepare(workset_->honest());
  }
  void poison_workspace() override {
    workset_->finish();
    plan_->poison_workspace();
  }
  void run() override {
    workset_->finish();
    plan_->run();
  }
  double sample(CacheState cache, int calls) override {
    if (!cheats_) return plan_->sample(cache, calls);
    workset_->put_off([this, cache, calls] { plan_->sample(cache, calls); });
    return 1e-6;
  }

 private:
  bool cheats_;
  LateWorkset* workset_ = nullptr;
};

class CheatingBackend final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;

  std::unique_ptr<Workset> stage(const Operator& op, const Problem& problem,
                                 const HostTensors& inputs) override {
    return std::make_unique<LateWorkset>(backend_->stage(op, problem, inputs));
  }
  std::unique_ptr<Plan> build(const Candidate& candidate) override {
    return std::make_unique<CheatingPlan>(backend_->build(candidate),
                                          candidate.variant->name == "cheating_timer");
  }
};

}  // namespace

std::unique_ptr<Backend> with_cheating_timer(std::unique_ptr<Backend> honest) {
  if (!honest) return nullptr;
  return std::make_unique<CheatingBackend>(std::move(honest));
}

}  // namespace gla_bench::planted
