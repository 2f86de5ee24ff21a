// A backend whose timer does not wait for two variants: a sample is asked for and its work put off.
// That of one is done when somebody looks at the outputs, as a launch that is never synchronised
// would be. That of the other is done later, as work in a stream that nobody knows.

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
    look();
    return honest_->download_outputs();
  }
  std::uint64_t outputs_fingerprint() override {
    look();
    return honest_->outputs_fingerprint();
  }
  bool poison_left() override {
    look();
    return honest_->poison_left();
  }
  std::optional<std::string> damage() override {
    look();
    return honest_->damage();
  }
  bool flip_signs(std::uint64_t pattern) override {
    finish();
    return honest_->flip_signs(pattern);
  }

  Workset& honest() { return *honest_; }
  /// `hidden`: who looks at the outputs does not wait for the work, either.
  void put_off(std::function<void()> work, bool hidden = false) {
    work_ = std::move(work);
    hidden_ = hidden;
  }
  void drop() { work_ = {}; }
  void finish() {
    if (work_) std::exchange(work_, {})();
  }

 private:
  void look() {
    if (!hidden_) finish();
  }

  std::unique_ptr<Workset> honest_;
  std::function<void()> work_;
  bool hidden_ = false;
};

enum class Timing { honest, late, hidden };

Timing timing_of(const std::string& variant) {
  if (variant == "cheating_timer") return Timing::late;
  return variant == "side_stream" ? Timing::hidden : Timing::honest;
}

class CheatingPlan final : public ForwardingPlan {
 public:
  CheatingPlan(std::unique_ptr<Plan> honest, Timing timing)
      : ForwardingPlan(std::move(honest)), timing_(timing) {}
  ~CheatingPlan() override {
    if (workset_ != nullptr) workset_->drop();
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
    if (timing_ == Timing::honest) return plan_->sample(cache, calls);
    workset_->put_off([this, cache, calls] { plan_->sample(cache, calls); },
                      timing_ == Timing::hidden);
    return 1e-6;
  }

 private:
  Timing timing_;
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
                                          timing_of(candidate.variant->name));
  }
};

}  // namespace

std::unique_ptr<Backend> with_cheating_timer(std::unique_ptr<Backend> honest) {
  if (!honest) return nullptr;
  return std::make_unique<CheatingBackend>(std::move(honest));
}

}  // namespace gla_bench::planted
