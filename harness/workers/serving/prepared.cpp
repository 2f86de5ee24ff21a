#include "harness/workers/serving/prepared.hpp"

#include "core/error.hpp"
#include "harness/measure/checks.hpp"

namespace gla_bench {
namespace {

/// Passes steps and a loss of the device on, and keeps the record.
class Keeper final : public RunObserver {
 public:
  Keeper(RunObserver& observer, Record& record) : observer_(observer), record_(record) {}
  void starting(RunStep step, std::optional<std::size_t> candidate) override {
    observer_.starting(step, candidate);
  }
  void verified(std::size_t) override {}
  void timed(const Record&, std::size_t) override {}
  void gone() override { observer_.gone(); }
  void recorded(const Record& record, std::size_t) override { record_ = record; }
  void lost(const Record& record, std::optional<std::size_t> candidate) override {
    record_ = record;
    observer_.lost(record, candidate);
  }

 private:
  RunObserver& observer_;
  Record& record_;
};

}  // namespace

void open_device(Backend& backend) {
  Operator op;
  op.name = "one number";
  op.tensors = [](const Problem&) {
    return std::vector<TensorSpec>{
        {"x", TensorSpec::Role::input, DType::float32, {1, 1, 1, 1}, true},
        {"y", TensorSpec::Role::output, DType::float32, {1, 1, 1, 1}, true}};
  };
  Problem problem;
  problem.op = op.name;
  backend.stage(op, problem, {{"x", {0.0F}}});
}

Record Prepared::make(Backend& backend, const Assignment& work, const RunRules& plan,
                      RunObserver& observer, Staged& staged) {
  clear();
  RunRules verification = plan;
  verification.measure = false;
  Keeper keeper(observer, record_);
  run_point(backend, work, verification, keeper, staged);
  if (record_.status != Status::verified) return record_;
  observer.starting(RunStep::measure, 0);
  staged_ = &staged;
  tolerance_ = plan.tolerance;
  candidate_ = work.accepted.front();
  warmup_ = plan.timing.warmup;
  try {
    make_plan(backend);
  } catch (const DeviceLost& error) {
    observer.lost(failed(Status::crashed, error.what()), 0);
  } catch (const RunError& error) {
    return failed(Status::run_failed, error.what());
  }
  return record_;
}

void Prepared::make_plan(Backend& backend) {
  plan_ = backend.build(candidate_);
  plan_->prepare(*staged_->workset);
  poison_before_timing(*staged_->workset, *plan_);
  for (int call = 0; call < warmup_; ++call) plan_->sample(CacheState::hot, 1);
}

void Prepared::renew(Backend& backend) {
  if (staged_ == nullptr || !staged_->workset) throw InputError("no candidate is prepared");
  make_plan(backend);
}

void Prepared::expect_plan() const {
  if (!plan_ || staged_ == nullptr) throw InputError("no candidate is prepared");
}

Samples Prepared::sample(Backend& backend, const SampleRequest& request) {
  expect_plan();
  Samples samples;
  for (int i = 0; i < request.samples; ++i)
    samples.seconds.push_back(plan_->sample(request.cache, request.calls));
  samples.clock_mhz = backend.clock_mhz();
  return samples;
}

Record Prepared::check() {
  expect_plan();
  verify_last_timed(*staged_->workset, *plan_, *staged_->truth, tolerance_, *record_.verification);
  if (!record_.verification->ok) {
    record_.status = Status::wrong;
    record_.reason = record_.verification->fault;
  }
  return record_;
}

Record Prepared::check_anew(double seconds) {
  expect_plan();
  poison_before_timing(*staged_->workset, *plan_);
  plan_->sample(CacheState::cold, 1);
  verify_last_timed(*staged_->workset, *plan_, *staged_->truth, tolerance_, *record_.verification,
                    {candidate_.variant->reproducible, {}});
  record_.status = record_.verification->ok ? Status::measured : Status::wrong;
  record_.reason = record_.verification->ok ? "" : record_.verification->fault;
  Timing& timing = record_.timing.emplace();
  timing.cold.stopped_because = "search";  // the samples are the search's, which adds them
  timing.wall_ms = 1e3 * shortest_wall_seconds(*plan_, seconds);
  timing.suspect = contradicts_wall_clock(seconds, *timing.wall_ms * 1e-3, plan_->launches());
  if (timing.suspect) timing.suspect_check = check::wall_clock;
  return record_;
}

Record Prepared::failed(Status status, const std::string& reason) {
  plan_.reset();
  record_.status = status;
  record_.reason = reason;
  return record_;
}

void Prepared::clear() {
  plan_.reset();
  staged_ = nullptr;
  record_ = {};
}

}  // namespace gla_bench
