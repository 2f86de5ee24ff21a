// Faults that show when a candidate is called again: in a repeat, with other inputs, while it is
// timed.

#include "harness/verify/verify.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/error.hpp"
#include "harness/measure/checks.hpp"
#include "tests/harness/verify/faulty_variant.hpp"

namespace gla_bench {
namespace {

TEST(Verify, OtherBitsInARepeatAreReported) {
  int call = 0;
  Bench bench(small_problem());
  Variant variant = faulty([&](const LinearRecurrenceParams& p) {
    if (++call % 2 == 0) output(p)[7] = std::nextafter(output(p)[7], 100.0f);
  });
  variant.reproducible = false;
  const Verification result = bench.verify(variant);
  EXPECT_TRUE(result.ok) << result.fault;
  EXPECT_FALSE(result.deterministic);
  EXPECT_EQ(result.check, "");
}

TEST(Verify, OtherBitsInARepeatFailAVariantThatPromisesTheSame) {
  int call = 0;
  Bench bench(small_problem());
  const Variant variant = faulty([&](const LinearRecurrenceParams& p) {
    if (++call % 2 == 0) output(p)[7] = std::nextafter(output(p)[7], 100.0f);
  });
  const Verification result = bench.verify(variant);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.check, check::repeat);
  EXPECT_NE(result.fault.find("other bits"), std::string::npos) << result.fault;
}

TEST(Verify, AWrongRepeatIsNotOk) {
  int call = 0;
  Bench bench(small_problem());
  const Variant variant = faulty([&](const LinearRecurrenceParams& p) {
    if (++call % 2 == 0) output(p)[7] += 1;
  });
  const Verification result = bench.verify(variant);
  EXPECT_FALSE(result.ok);
  EXPECT_FALSE(result.deterministic);
  EXPECT_NE(result.fault.find("in a repeat"), std::string::npos) << result.fault;
}

TEST(Verify, OneSignedZeroIsAnotherBit) {
  int call = 0;
  Problem problem = small_problem();
  Bench bench(problem);
  HostTensors inputs = bench.truth.inputs();
  std::fill(inputs["v"].begin(), inputs["v"].end(), 0.0f);
  bench.truth = ProblemTruth(*find_operator("gla"), problem, inputs);
  Variant variant = faulty([&](const LinearRecurrenceParams& p) {
    if (++call % 2 == 0) output(p)[7] = -output(p)[7];
  });
  variant.reproducible = false;
  const Verification result = bench.verify(variant);
  EXPECT_TRUE(result.ok) << result.fault;
  EXPECT_FALSE(result.deterministic);
}

// Answers from the first call from then on, whatever its inputs.
Variant cached_from(int first_cached, int& call, std::vector<float>& kept) {
  return faulty([&call, &kept, first_cached](const LinearRecurrenceParams& p) {
    const std::size_t o = 14400, state = 1536;
    if (++call == 1) {
      kept.assign(output(p), output(p) + o);
      kept.insert(kept.end(), p.final_state, p.final_state + state);
    }
    if (call < first_cached) return;
    std::copy_n(kept.begin(), o, output(p));
    std::copy_n(kept.begin() + static_cast<std::ptrdiff_t>(o), state, p.final_state);
  });
}

TEST(Verify, AnAnswerOfAnEarlierCallIsSeen) {
  int call = 0;
  std::vector<float> kept;
  Bench bench(small_problem());
  const Variant variant = cached_from(2, call, kept);
  const Verification result = bench.verify(variant);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.check, check::other_inputs);
  EXPECT_TRUE(result.deterministic);
  EXPECT_EQ(bench.workset->damage(), std::nullopt) << "the inputs are as they were";
}

TEST(Verify, AResultThatIsWrongForOtherInputsOnlyIsSeen) {
  int call = 0;
  std::vector<float> state;
  Bench bench(small_problem());
  const Variant variant = faulty([&](const LinearRecurrenceParams& p) {
    if (++call == 1) state.assign(p.final_state, p.final_state + 1536);
    std::copy(state.begin(), state.end(), p.final_state);  // the outputs are computed anew
  });
  const Verification result = bench.verify(variant);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.check, check::other_inputs);
  EXPECT_NE(result.fault.find("for other inputs: 'final_state': rel_l2"), std::string::npos)
      << result.fault;
}

TEST(Verify, WhatIsWrongForOtherInputsIsToldWithTheirTruth) {
  int call = 0;
  Bench bench(small_problem());
  const Variant variant = faulty([&](const LinearRecurrenceParams& p) {
    if (++call == 3) output(p)[5] = 77;
  });
  bench.stage(variant);
  const ProblemTruth* told = nullptr;
  float there = 0;
  const Verification result = verify_candidate(
      *bench.workset, *bench.plan, bench.truth, Arithmetic::float32, default_tolerance(),
      {true, [&](const ProblemTruth& t, const HostTensors& o) {
         told = &t;
         there = o.at("o")[5];
       }});
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(told, bench.truth.others());
  EXPECT_EQ(there, 77);
}

TEST(Verify, AFailedCallLeavesTheInputsAsTheyWere) {
  int call = 0;
  Bench bench(small_problem());
  const Variant variant = faulty([&](const LinearRecurrenceParams&) {
    if (++call == 3) throw RunError("with other inputs");
  });
  EXPECT_THROW(bench.verify(variant), RunError);
  EXPECT_EQ(bench.workset->damage(), std::nullopt);
}

TEST(Verify, AnAnswerOfAnEarlierCallIsSeenAfterTiming) {
  int call = 0;
  std::vector<float> kept;
  Bench bench(small_problem());
  const Variant variant = cached_from(6, call, kept);
  Verification result = bench.verify(variant);
  EXPECT_TRUE(result.ok) << result.fault;
  poison_before_timing(*bench.workset, *bench.plan);
  bench.plan->sample(CacheState::hot, 10);
  verify_last_timed(*bench.workset, *bench.plan, bench.truth, default_tolerance(), result);
  EXPECT_FALSE(result.ok || *result.last_timed_ok);
  EXPECT_EQ(result.check, check::other_inputs);
}

TEST(Verify, WhatStopsToWriteWhileItIsTimedIsSeen) {
  int call = 0;
  Bench bench(small_problem());
  Variant variant = *find_variant("gla", "recurrent", BackendId::host);
  const auto right = std::get<std::function<void(const HostCall&)>>(variant.code);
  variant.code = [&call, right](const HostCall& host_call) {
    if (++call <= 6) right(host_call);
  };
  Verification result = bench.verify(variant);
  EXPECT_TRUE(result.ok) << result.fault;
  poison_before_timing(*bench.workset, *bench.plan);
  bench.plan->sample(CacheState::hot, 10);  // the outputs of the first of them are still there
  verify_last_timed(*bench.workset, *bench.plan, bench.truth, default_tolerance(), result);
  EXPECT_FALSE(result.ok || *result.last_timed_ok);
  EXPECT_EQ(result.check, check::last_timed);
  EXPECT_NE(result.fault.find("in one more sample"), std::string::npos) << result.fault;
}

TEST(Verify, OutputsThatDoNotDependOnTheInputsSignAreNotTakenForCached) {
  Problem problem = small_problem();
  problem.shape = {1, 1, 1, 1, 1};
  Bench bench(problem);
  HostTensors inputs = bench.truth.inputs();
  inputs["q"] = {1};
  inputs["k"] = {1};
  inputs["v"] = {0};  // whatever the signs, the answer is 0
  bench.truth = ProblemTruth(*find_operator("gla"), problem, inputs);
  const Verification result = bench.verify(*find_variant("gla", "recurrent", BackendId::host));
  EXPECT_TRUE(result.ok) << result.fault;
}

TEST(Verify, LastTimedLaunchIsJudged) {
  int call = 0;
  Bench bench(small_problem());
  const Variant variant = faulty([&](const LinearRecurrenceParams& p) {
    if (++call == 7) output(p)[0] = NAN;
  });
  Verification result = bench.verify(variant);  // calls 1 to 3
  EXPECT_TRUE(result.ok);
  EXPECT_FALSE(result.last_timed_ok.has_value());
  poison_before_timing(*bench.workset, *bench.plan);
  bench.plan->sample(CacheState::hot, 2);
  verify_last_timed(*bench.workset, *bench.plan, bench.truth, default_tolerance(), result);
  EXPECT_TRUE(result.ok && *result.last_timed_ok) << result.fault;  // and a call besides
  bench.plan->sample(CacheState::hot, 1);
  verify_last_timed(*bench.workset, *bench.plan, bench.truth, default_tolerance(), result);
  EXPECT_FALSE(result.ok);
  EXPECT_FALSE(*result.last_timed_ok);
  EXPECT_NE(result.fault.find("after timing: 'o'"), std::string::npos) << result.fault;
}

TEST(Verify, TimedLaunchesThatDoNothingAreSeen) {
  int call = 0;
  Bench bench(small_problem());
  Variant variant = *find_variant("gla", "recurrent", BackendId::host);
  const auto right = std::get<std::function<void(const HostCall&)>>(variant.code);
  variant.code = [&call, right](const HostCall& host_call) {
    if (++call <= 3) right(host_call);  // only while it is verified
  };
  Verification result = bench.verify(variant);
  EXPECT_TRUE(result.ok);
  poison_before_timing(*bench.workset, *bench.plan);
  bench.plan->sample(CacheState::hot, 10);
  verify_last_timed(*bench.workset, *bench.plan, bench.truth, default_tolerance(), result);
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.fault.find("unwritten"), std::string::npos) << result.fault;
}

}  // namespace
}  // namespace gla_bench
