// The host backend: plain code over tensors in memory, timed by the steady clock.

#include <omp.h>

#include <chrono>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "harness/backends/backend.hpp"
#include "harness/backends/host/busy_threads.hpp"
#include "harness/backends/host/call.hpp"
#include "harness/backends/host/leftovers.hpp"
#include "harness/backends/host/machine.hpp"
#include "harness/backends/host/threads.hpp"
#include "harness/backends/host/workset.hpp"
#include "harness/backends/host/workspace.hpp"
#include "harness/backends/stage_times.hpp"
#include "harness/support/elapsed.hpp"

namespace gla_bench {
namespace {

class HostPlan final : public Plan {
 public:
  HostPlan(Candidate candidate, int threads, CacheFlush& flush)
      : candidate_(std::move(candidate)), threads_(threads), flush_(flush) {}

  BuildInfo info() const override { return {}; }

  void prepare(Workset& workset) override {
    auto& host = dynamic_cast<HostWorkset&>(workset);
    workset_ = &host;
    workspace_.allocate(candidate_);
    params_ = bind(host);
  }

  void poison_workspace() override {
    workspace_.poison();
    poisoned_ = true;
  }

  std::optional<std::string> damage() override { return workspace_.damage(); }

  void run() override {
    const Threads scope(threads_);
    std::optional<PoisonedLeftovers> leftovers;
    if (std::exchange(poisoned_, false)) leftovers.emplace();
    call(params_);
    follow(params_);
  }

  double sample(CacheState cache, int calls) override {
    const Threads scope(threads_);
    poisoned_ = false;  // it would cost the call time
    if (workset_ == nullptr || !workset_->restore_updated()) {
      if (cache == CacheState::cold) flush_.run();
      const double seconds = seconds_of(calls);
      follow(params_);
      return seconds / calls;
    }
    // With an input updated in place, each call runs separately from the original input.
    double sum = 0;
    for (int i = 0; i < calls; ++i) {
      if (i > 0) workset_->restore_updated();
      if (cache == CacheState::cold) flush_.run();
      sum += seconds_of(1);
    }
    follow(params_);
    return sum / calls;
  }

  double sustained(std::span<Workset* const> worksets, int rounds) override {
    const Threads scope(threads_);
    std::vector<ParamBytes> params;
    for (Workset* each : worksets) params.push_back(bind(dynamic_cast<HostWorkset&>(*each)));
    const auto make_rounds = [&](int count) {
      for (int round = 0; round < count; ++round)
        for (const ParamBytes& each : params) call(each);
    };
    make_rounds(1);
    const auto start = std::chrono::steady_clock::now();
    make_rounds(rounds);
    const double seconds = seconds_since(start);
    for (const ParamBytes& each : params) follow(each);
    return seconds / (rounds * static_cast<double>(params.size()));
  }

  std::vector<StageTime> stage_times(CacheState cache) override {
    const Threads scope(threads_);
    std::vector<std::string> names;
    std::vector<std::vector<double>> calls(stage_calls);
    for (std::vector<double>& seconds : calls) {
      if (workset_ != nullptr) workset_->restore_updated();
      if (cache == CacheState::cold) flush_.run();
      names.clear();
      auto before = std::chrono::steady_clock::now();
      const std::function<void(std::string_view)> note = [&](std::string_view stage) {
        const auto now = std::chrono::steady_clock::now();
        names.emplace_back(stage);
        seconds.push_back(std::chrono::duration<double>(now - before).count());
        before = now;
      };
      call(params_, &note);
      if (names.empty()) return {};
    }
    return medians_of_stages(names, calls);
  }

 private:
  static constexpr std::size_t stage_calls = 5;

  double seconds_of(int calls) const {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call(params_);
    return seconds_since(start);
  }

  ParamBytes bind(HostWorkset& workset) const {
    return candidate_.variant->bind(candidate_.problem, candidate_.tile, workspace_.with(workset));
  }

  void call(const ParamBytes& params,
            const std::function<void(std::string_view)>* stage_ended = nullptr) const {
    if (params.empty()) throw RunError(describe(candidate_) + ": run before prepare");
    const auto& code = std::get<std::function<void(const HostCall&)>>(candidate_.variant->code);
    code({candidate_.problem, candidate_.tile, params, stage_ended});
  }

  /// What follows calls outside of their time (Variant::after_call).
  void follow(const ParamBytes& params) const {
    if (candidate_.variant->after_call) candidate_.variant->after_call(params, nullptr);
  }

  Candidate candidate_;
  int threads_;
  CacheFlush& flush_;
  HostWorkset* workset_ = nullptr;  // the workset it was prepared for
  HostWorkspace workspace_;
  ParamBytes params_;
  bool poisoned_ = false;  // and no run since
};

class HostBackend final : public Backend {
 public:
  explicit HostBackend(const HostOptions& options)
      : threads_(options.threads > 0 ? options.threads : omp_get_num_procs()) {}

  BackendId id() const override { return BackendId::host; }
  bool can_run() const override { return true; }

  Limits limits() const override {
    Limits limits;
    limits.memory_bytes = host_memory_bytes();
    return limits;
  }

  Environment environment() const override { return host_environment(threads_); }

  std::optional<double> clock_mhz() override { return host_clock_mhz(); }

  std::optional<Ceilings> measure_ceilings() override {
    const Threads scope(threads_);
    return measure_host_ceilings();
  }

  void beside_load(const std::function<void()>& work) override {
    const BusyThreads busy(threads_);
    work();
  }

  std::unique_ptr<Workset> stage(const Operator& op, const Problem& problem,
                                 const HostTensors& inputs) override {
    const Threads scope(threads_);
    return std::make_unique<HostWorkset>(op, problem, inputs);
  }

  std::unique_ptr<Plan> build(const Candidate& candidate) override {
    expect_host_variant(candidate);
    return std::make_unique<HostPlan>(candidate, threads_, flush_);
  }

  std::unique_ptr<DirectCall> call(const Candidate& candidate) override {
    expect_host_variant(candidate);
    return call_on_host(candidate, threads_);
  }

  void build_ahead(std::span<const Candidate>) override {}  // nothing to compile

  // The host's reference is the operator's own.
  std::optional<ReferenceTensors> reference(const Operator&, const Problem&,
                                            const HostTensors&) override {
    return std::nullopt;
  }
  std::optional<HostTensors> baseline(const Operator&, const Problem&, const HostTensors&,
                                      Arithmetic) override {
    return std::nullopt;
  }

 private:
  static void expect_host_variant(const Candidate& candidate) {
    if (!std::holds_alternative<std::function<void(const HostCall&)>>(candidate.variant->code))
      throw BuildError(describe(candidate) + ": not a host variant");
  }

  int threads_;
  CacheFlush flush_;
};

}  // namespace

std::unique_ptr<Backend> make_host_backend(const HostOptions& options) {
  return std::make_unique<HostBackend>(options);
}

}  // namespace gla_bench
