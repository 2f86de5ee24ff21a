#include "harness/duel/slowed.hpp"

#include "harness/backends/forwarding.hpp"

namespace gla_bench {
namespace {

class SlowedPlan final : public ForwardingPlan {
 public:
  SlowedPlan(std::unique_ptr<Plan> plan, double factor)
      : ForwardingPlan(std::move(plan)), factor_(factor) {}
  double sample(CacheState cache, int calls) override {
    return factor_ * plan_->sample(cache, calls);
  }
  std::vector<StageTime> stage_times(CacheState cache) override {
    auto times = plan_->stage_times(cache);
    for (StageTime& time : times) time.seconds *= factor_;
    return times;
  }

 private:
  double factor_;
};

class SlowedBackend final : public ForwardingBackend {
 public:
  SlowedBackend(std::unique_ptr<Backend> backend, double factor)
      : ForwardingBackend(std::move(backend)), factor_(factor) {}
  std::unique_ptr<Plan> build(const Candidate& candidate) override {
    return std::make_unique<SlowedPlan>(backend_->build(candidate), factor_);
  }

 private:
  double factor_;
};

}  // namespace

std::unique_ptr<Backend> slowed(std::unique_ptr<Backend> backend, double share) {
  return std::make_unique<SlowedBackend>(std::move(backend), 1 + share);
}

}  // namespace gla_bench
