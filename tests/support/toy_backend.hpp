#pragma once
// A backend whose faults are chosen by the test.

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "harness/backends/backend.hpp"

namespace gla_bench::toy {

/// What the test wants to happen, and what did happen.
struct Script {
  bool device = true;
  std::string build_fails, run_fails, lost, wrong, throws;  ///< names of variants
  std::string wrong_when_timed;  ///< right when verified, wrong in every sample
  std::string slow;              ///< takes twice the time
  std::string reads_little;      ///< the device counts one byte that it reads
  bool stage_fails = false;
  std::size_t live_worksets = 0, most_worksets = 0, live_plans = 0, most_plans = 0;
  std::size_t built_ahead = 0;
  std::vector<std::string> log;  ///< "run fast", "sample fast", "stage", in order
};

class ToyWorkset final : public Workset {
 public:
  ToyWorkset(Script& script, HostTensors inputs) : script_(script), inputs_(std::move(inputs)) {
    script_.log.push_back("stage");
    script_.most_worksets = std::max(script_.most_worksets, ++script_.live_worksets);
  }
  ~ToyWorkset() override { --script_.live_worksets; }
  void poison_outputs() override {
    outputs_.assign(inputs_.at("q").size(), std::numeric_limits<float>::quiet_NaN());
  }
  const HostTensors& download_outputs() override {
    downloaded_["o"] = outputs_;
    return downloaded_;
  }
  std::optional<std::string> damage() override { return std::nullopt; }
  void compute(float factor) {
    for (std::size_t i = 0; i < outputs_.size(); ++i) outputs_[i] = factor * inputs_.at("q")[i];
  }

 private:
  Script& script_;
  HostTensors inputs_;
  std::vector<float> outputs_;
  HostTensors downloaded_;
};

class ToyPlan : public Plan {
 public:
  ToyPlan(Script& script, std::string variant) : script_(script), variant_(std::move(variant)) {
    script_.most_plans = std::max(script_.most_plans, ++script_.live_plans);
  }
  ~ToyPlan() override { --script_.live_plans; }
  BuildInfo info() const override { return {32, 0, 64, 0.25, false, true, {}, ""}; }
  void prepare(Workset& workset) override { workset_ = dynamic_cast<ToyWorkset*>(&workset); }
  void poison_workspace() override {}
  std::optional<std::string> damage() override { return std::nullopt; }
  void run() override {
    script_.log.push_back("run " + variant_);
    if (variant_ == script_.lost) throw DeviceLost("an illegal address");
    if (variant_ == script_.run_fails) throw RunError("launch failed");
    if (variant_ == script_.throws) throw std::logic_error("a bug");
    workset_->compute(variant_ == script_.wrong ? 2.5F : 2.0F);
  }
  double sample(CacheState, int) override {
    script_.log.push_back("sample " + variant_);
    workset_->compute(variant_ == script_.wrong_when_timed ? 2.5F : 2.0F);
    return variant_ == script_.slow ? 2e-3 : 1e-3;
  }
  CounterReading count(std::span<const std::string> metrics) override {
    if (variant_ != script_.reads_little) return Plan::count(metrics);
    CounterReading reading;
    reading.source = CounterSource::cupti;
    reading.dram_read_bytes = reading.dram_write_bytes = reading.l2_bytes = 1;
    return reading;
  }

 private:
  Script& script_;
  std::string variant_;
  ToyWorkset* workset_ = nullptr;
};

class ToyBackend : public Backend {
 public:
  ToyBackend(BackendId id, Script& script) : id_(id), script_(script) {}
  BackendId id() const override { return id_; }
  bool can_run() const override { return script_.device; }
  Limits limits() const override { return {}; }
  Environment environment() const override { return {{"device", "toy"}}; }
  std::optional<double> clock_mhz() override { return 1000; }
  std::unique_ptr<Workset> stage(const Operator&, const Problem&,
                                 const HostTensors& inputs) override {
    if (script_.stage_fails) throw RunError("out of device memory");
    return std::make_unique<ToyWorkset>(script_, inputs);
  }
  std::unique_ptr<Plan> build(const Candidate& candidate) override {
    if (candidate.variant->name == script_.build_fails) throw BuildError("ptxas died");
    return std::make_unique<ToyPlan>(script_, candidate.variant->name);
  }
  void build_ahead(std::span<const Candidate> candidates) override {
    script_.built_ahead += candidates.size();
  }
  void beside_load(const std::function<void()>& work) override {
    script_.log.push_back("load");
    work();
  }
  std::optional<ReferenceTensors> reference(const Operator&, const Problem&,
                                            const HostTensors&) override {
    return std::nullopt;
  }
  std::optional<HostTensors> baseline(const Operator&, const Problem&, const HostTensors&,
                                      Arithmetic) override {
    return std::nullopt;
  }

 private:
  BackendId id_;
  Script& script_;
};

}  // namespace gla_bench::toy
