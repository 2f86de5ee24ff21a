// Looks at what a right candidate leaves later: while it is timed, and beside other work.

#include "harness/verify/looks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "harness/backends/mix.hpp"
#include "harness/measure/checks.hpp"
#include "tests/harness/verify/faulty_variant.hpp"

namespace gla_bench {
namespace {

constexpr int samples = 16;

TimingPolicy sampling(bool hot) {
  TimingPolicy policy;
  policy.warmup = 1;
  policy.min_samples = policy.max_samples = samples;
  policy.min_seconds = 0;
  policy.max_seconds = 60;
  policy.hot = hot;
  return policy;
}

struct Measured {
  Verification verification;
  Timing timing;
};

// Verifies, and then measures with looks.
Measured measured(Bench& bench, const Variant& variant, bool hot = false) {
  Measured result{bench.verify(variant), {}};
  EXPECT_TRUE(result.verification.ok) << result.verification.fault;
  const VerifyOptions options{.reproducible = variant.reproducible};
  const Tolerance tolerance = default_tolerance();
  const Looked looked{*bench.workset, *bench.plan, bench.truth, tolerance, options};
  poison_before_timing(*bench.workset, *bench.plan);
  result.timing = measure(*bench.plan, *bench.backend, sampling(hot), {},
                          look_at_samples(looked, 7, result.verification));
  if (result.verification.ok)
    verify_last_timed(*bench.workset, *bench.plan, bench.truth, tolerance, result.verification,
                      options);
  return result;
}

TEST(Looks, ARightCandidateIsLookedAtAfterEverySample) {
  for (const bool hot : {false, true}) {
    Bench bench(small_problem());
    const Measured result =
        measured(bench, *find_variant("gla", "recurrent", BackendId::host), hot);
    EXPECT_TRUE(result.verification.ok && *result.verification.last_timed_ok)
        << result.verification.fault;
    const LaunchLooks& looks = *result.verification.timed_launches;
    EXPECT_EQ(looks.launches, samples * 3 / 4);
    EXPECT_EQ(looks.unseen, samples / 4);
    EXPECT_EQ(looks.differed, 0);
    EXPECT_EQ(looks.judged, 0);
    EXPECT_FALSE(result.timing.suspect) << result.timing.suspect_check;
    EXPECT_EQ(bench.workset->damage(), std::nullopt) << "the inputs are as they were";
  }
}

TEST(Looks, WithoutOtherInputsEverySampleHasTheFirst) {
  Bench bench(small_problem());
  Operator op = *find_operator("gla");
  op.signed_inputs = {};
  bench.truth = ProblemTruth(op, small_problem(), op.draw(small_problem()));
  const Measured result = measured(bench, *find_variant("gla", "recurrent", BackendId::host));
  EXPECT_TRUE(result.verification.ok) << result.verification.fault;
  EXPECT_EQ(result.verification.timed_launches->launches, samples);
  EXPECT_EQ(result.verification.timed_launches->unseen, 0);
}

// A fault in one call among those after verification (three) and warming up (six).
Measured with_fault_in_call(int faulty_call, const Fault& fault, bool reproducible) {
  int call = 0;
  Bench bench(small_problem());
  Variant variant = faulty([&, fault](const LinearRecurrenceParams& p) {
    if (++call == faulty_call) fault(p);
  });
  variant.reproducible = reproducible;
  return measured(bench, variant);
}

TEST(Looks, OneWrongSampleIsSeenWhateverItsInputs) {
  std::map<std::string, int> seen;
  for (int call = 10; call < 10 + samples; ++call) {
    const Measured result = with_fault_in_call(
        call, [](const LinearRecurrenceParams& p) { output(p)[9] += 1; }, true);
    ++seen[result.verification.ok ? "" : result.verification.check];
    if (result.verification.ok) continue;
    EXPECT_EQ(result.verification.timed_launches->differed, 1);
    EXPECT_FALSE(result.verification.deterministic);
    EXPECT_TRUE(result.verification.fault.starts_with("in a timed sample: 'o': "))
        << result.verification.fault;
  }
  EXPECT_EQ(seen[std::string(check::timed_sample)], samples * 3 / 4)
      << "all but those with inputs that nobody knows the answer of";
}

TEST(Looks, OtherBitsAreAFaultOfWhoPromisesTheSame) {
  const auto last_bit = [](const LinearRecurrenceParams& p) {
    output(p)[9] = std::nextafter(output(p)[9], 100.0F);
  };
  std::int64_t differed = 0, wrong = 0;
  for (int call = 10; call < 18; ++call) {
    const Measured promised = with_fault_in_call(call, last_bit, true);
    wrong += promised.verification.ok ? 0 : 1;
    const Measured free = with_fault_in_call(call, last_bit, false);
    EXPECT_TRUE(free.verification.ok) << free.verification.fault;
    differed += free.verification.timed_launches->differed;
    EXPECT_EQ(free.verification.timed_launches->judged, free.verification.timed_launches->differed);
    EXPECT_EQ(free.verification.deterministic, free.verification.timed_launches->differed == 0);
  }
  EXPECT_EQ(differed, 6);
  EXPECT_EQ(wrong, 6);
}

TEST(Looks, ASampleThatWritesNothingIsSeenWhateverItsInputs) {
  for (int silent = 10; silent < 18; ++silent) {
    int call = 0;
    Bench bench(small_problem());
    Variant variant = *find_variant("gla", "recurrent", BackendId::host);
    const auto right = std::get<std::function<void(const HostCall&)>>(variant.code);
    variant.code = [&call, silent, right](const HostCall& host_call) {
      if (++call != silent) right(host_call);
    };
    const Measured result = measured(bench, variant);
    EXPECT_EQ(result.verification.check, check::timed_sample);
    EXPECT_NE(result.verification.fault.find("unwritten"), std::string::npos)
        << result.verification.fault;
  }
}

TEST(Looks, AnAnswerOfAnEarlierCallIsToldFromAWrongOne) {
  int call = 0;
  std::vector<float> kept;
  Bench bench(small_problem());
  const Variant variant = faulty([&](const LinearRecurrenceParams& p) {
    const std::size_t o = 14400, state = 1536;
    if (++call == 1) {
      kept.assign(output(p), output(p) + o);
      kept.insert(kept.end(), p.final_state, p.final_state + state);
    }
    if (call < 10) return;
    std::copy_n(kept.begin(), o, output(p));
    std::copy_n(kept.begin() + static_cast<std::ptrdiff_t>(o), state, p.final_state);
  });
  const Measured result = measured(bench, variant);
  EXPECT_EQ(result.verification.check, check::other_inputs);
  EXPECT_NE(result.verification.fault.find("bit for bit"), std::string::npos)
      << result.verification.fault;
}

TEST(Looks, AWrongLaunchBesideOtherWorkIsSeenAndEndsThem) {
  int call = 0;
  Bench bench(small_problem());
  Variant variant = faulty([&](const LinearRecurrenceParams& p) {
    if (++call == 43) output(p)[3] = 9;
  });
  const auto looks = [&](int launches, double seconds) {
    Verification verification = bench.verify(variant);
    EXPECT_TRUE(verification.ok) << verification.fault;
    call = 3;
    const VerifyOptions options{.reproducible = true};
    const Tolerance tolerance = default_tolerance();
    verify_beside_load({*bench.workset, *bench.plan, bench.truth, tolerance, options},
                       *bench.backend, launches, seconds, verification);
    return verification;
  };
  const Verification wrong = looks(100, 60);
  EXPECT_FALSE(wrong.ok);
  EXPECT_EQ(wrong.check, check::beside_load);
  EXPECT_TRUE(wrong.fault.starts_with("beside other work: 'o': ")) << wrong.fault;
  EXPECT_EQ(wrong.loaded_launches->launches, 40);
  EXPECT_EQ(wrong.loaded_launches->differed, 1);
  call = 0;
  const Verification few = looks(20, 60);
  EXPECT_TRUE(few.ok) << few.fault;
  EXPECT_EQ(few.loaded_launches->launches, 20);
  call = 0;
  EXPECT_EQ(looks(20, 0).loaded_launches->launches, 1) << "out of time after the first";
  call = 0;
  EXPECT_FALSE(looks(0, 60).loaded_launches) << "not asked for";
}

}  // namespace
}  // namespace gla_bench
