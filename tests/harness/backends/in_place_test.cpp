// Outputs in place of an input: one memory, its first bytes before every run that counts, and a
// state that no run has touched is wrong, not unnoticed.

#include <gtest/gtest.h>

#include "harness/config/sweep.hpp"
#include "harness/measure/measure.hpp"
#include "harness/tensors/staging.hpp"
#include "harness/verify/verify.hpp"
#include "tests/support/in_place_operator.hpp"

namespace gla_bench {
namespace {

using toy::InPlaceParams;

class InPlace : public testing::Test {
 protected:
  using Body = std::function<void(const InPlaceParams&)>;

  static void honest(const InPlaceParams& p) {
    write_output(p);
    update_state(p);
  }

  void stage(Body body) {
    variant_ = toy::in_place_variant(std::move(body));
    workset_ = backend_->stage(op_, problem_, truth_.inputs());
    plan_ = backend_->build({&variant_, problem_, {}});
    plan_->prepare(*workset_);
  }

  Verification verify(Body body) {
    stage(std::move(body));
    return verify_candidate(*workset_, *plan_, truth_, Arithmetic::float32, default_tolerance());
  }

  Operator op_ = toy::in_place_operator();
  Problem problem_ = toy::in_place_problem();
  ProblemTruth truth_{op_, problem_, op_.draw(problem_)};
  std::unique_ptr<Backend> backend_ = make_host_backend({.threads = 1});
  Variant variant_;
  std::unique_ptr<Workset> workset_;
  std::unique_ptr<Plan> plan_;
};

TEST_F(InPlace, BothNamesAreOneMemory) {
  const float *before = nullptr, *after = nullptr, *o = nullptr;
  stage([&](const InPlaceParams& p) { before = p.before, after = p.after, o = p.o; });
  plan_->run();
  EXPECT_NE(before, nullptr);
  EXPECT_EQ(before, after);
  EXPECT_NE(before, o);
}

TEST_F(InPlace, PoisoningPutsTheFirstBytesBack) {
  stage(honest);
  EXPECT_EQ(workset_->download_outputs().at("after"), truth_.inputs().at("before"));
  for (int i = 0; i < 3; ++i) plan_->run();
  EXPECT_NE(workset_->download_outputs().at("after"), truth_.inputs().at("before"));
  workset_->poison_outputs();
  const HostTensors outputs = workset_->download_outputs();
  EXPECT_EQ(outputs.at("after"), truth_.inputs().at("before"));
  for (const float value : outputs.at("o")) EXPECT_NE(value, value) << "o is poisoned as ever";
}

TEST_F(InPlace, EveryVerifiedRunStartsFromTheOriginal) {
  const Verification result = verify(honest);
  EXPECT_TRUE(result.ok) << result.fault;
  EXPECT_TRUE(result.deterministic) << "the repeat starts where the first run started";
  EXPECT_EQ(result.tensors.at("after").rel_l2, 0);
}

TEST_F(InPlace, AnUntouchedStateIsWrong) {
  const Verification result = verify([](const InPlaceParams& p) { write_output(p); });
  EXPECT_FALSE(result.ok);
  EXPECT_TRUE(result.tensors.at("o").ok);
  EXPECT_FALSE(result.tensors.at("after").ok);
  EXPECT_GT(result.tensors.at("after").rel_l2, 0.5);
  EXPECT_NE(result.fault.find("'after': rel_l2"), std::string::npos) << result.fault;
}

TEST_F(InPlace, AStateUpdatedTwiceOrInPartIsWrong) {
  EXPECT_FALSE(verify([](const InPlaceParams& p) {
                 honest(p);
                 update_state(p);
               }).ok);
  EXPECT_FALSE(verify([](const InPlaceParams& p) {
                 honest(p);
                 p.after[p.states - 1] = 4;  // as it was
               }).ok);
}

TEST_F(InPlace, OnlyWhatMayChangeMayChange) {
  EXPECT_EQ(verify([](const InPlaceParams& p) {
              honest(p);
              p.after[p.states] = 1;
            }).fault,
            "guard zone behind 'before' overwritten at byte 0");
  EXPECT_EQ(verify([](const InPlaceParams& p) {
              honest(p);
              p.q[1] += 1;
            }).fault,
            "input 'q' changed");
}

TEST_F(InPlace, EveryTimedCallStartsFromTheOriginal) {
  int calls = 0;
  Verification result = verify([&](const InPlaceParams& p) {
    ++calls;
    honest(p);
  });
  const auto timed = [&](CacheState cache, int count) {
    plan_->run();  // as warming up does
    calls = 0;
    EXPECT_GT(plan_->sample(cache, count), 0);
    EXPECT_EQ(calls, count);
    verify_last_timed(*workset_, *plan_, truth_, default_tolerance(), result);
    EXPECT_TRUE(result.ok && *result.last_timed_ok) << result.fault;
  };
  poison_before_timing(*workset_, *plan_);
  timed(CacheState::cold, 1);
  timed(CacheState::cold, 2);
  timed(CacheState::hot, 5);
}

TEST_F(InPlace, AMeasurementEndsWithARightLaunch) {
  Verification result = verify(honest);
  poison_before_timing(*workset_, *plan_);
  TimingPolicy policy;
  policy.min_samples = 3;
  policy.min_seconds = 0;
  const Timing timing = measure(*plan_, *backend_, policy, {});
  EXPECT_TRUE(timing.hot.has_value());
  verify_last_timed(*workset_, *plan_, truth_, default_tolerance(), result);
  EXPECT_TRUE(result.ok) << result.fault;
}

TEST_F(InPlace, TimedCallsThatDoNothingAreSeen) {
  int calls = 0;
  Verification result = verify([&](const InPlaceParams& p) {
    write_output(p);
    if (++calls <= 4) update_state(p);
  });
  EXPECT_TRUE(result.ok) << result.fault;
  poison_before_timing(*workset_, *plan_);
  plan_->run();  // the fourth: leaves a state that would be right
  plan_->sample(CacheState::cold, 1);
  verify_last_timed(*workset_, *plan_, truth_, default_tolerance(), result);
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.fault.find("after timing: 'after'"), std::string::npos) << result.fault;
}

TEST_F(InPlace, MemoryIsCountedOnceAndWithTheFirstBytes) {
  problem_.shape = {10, 1, 10, 100, 100};  // a million elements of state, ten thousand of q and o
  EXPECT_NEAR(memory_need(op_, problem_).tensors, 8.08e6, 1e5);
}

TEST(InPlaceSpecs, WhatCanNotBeIsRefused) {
  const auto with = [](auto change) {
    std::vector<TensorSpec> specs = toy::in_place_tensors(toy::in_place_problem());
    change(specs);
    check_in_place(specs);
  };
  using Specs = std::vector<TensorSpec>;
  EXPECT_NO_THROW(with([](Specs&) {}));
  EXPECT_THROW(with([](Specs& s) { s[3].in_place_of = "nobody"; }), std::logic_error);
  EXPECT_THROW(with([](Specs& s) { s[3].in_place_of = "o"; }), std::logic_error);
  EXPECT_THROW(with([](Specs& s) { s[3].in_place_of = "q"; }), std::logic_error);
  EXPECT_THROW(with([](Specs& s) { s[3].dtype = DType::bfloat16; }), std::logic_error);
  EXPECT_THROW(with([](Specs& s) { s[3].value_first = false; }), std::logic_error);
  EXPECT_THROW(with([](Specs& s) { s.push_back(s[3]); }), std::logic_error);
}

}  // namespace
}  // namespace gla_bench
