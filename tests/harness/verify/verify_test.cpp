// Every check of the verification is shown to fail on a planted fault: a right host variant is run
// through the real backend, and something is done to what it left.

#include "harness/verify/verify.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/error.hpp"
#include "harness/measure/checks.hpp"
#include "kernels/linear_recurrence/params.h"

namespace gla_bench {
namespace {

Problem small_problem() {
  Problem problem;
  problem.op = "gla";
  problem.shape = {2, 150, 2, 16, 24};
  problem.gate = "mild";
  return problem;
}

using Fault = std::function<void(const LinearRecurrenceParams&)>;

// A right host variant that commits `fault` after each call.
Variant faulty(Fault fault, const std::string& honest = "recurrent") {
  Variant variant = *find_variant("gla", honest, BackendId::host);
  const auto right = std::get<std::function<void(const HostCall&)>>(variant.code);
  variant.code = [right, fault](const HostCall& call) {
    right(call);
    LinearRecurrenceParams params;
    std::memcpy(&params, call.params.data(), sizeof params);
    fault(params);
  };
  return variant;
}

struct Bench {
  explicit Bench(const Problem& problem)
      : truth(*find_operator("gla"), problem, find_operator("gla")->draw(problem)) {}

  void stage(const Variant& variant) {
    workset = backend->stage(truth.op(), truth.problem(), truth.inputs());
    Tile tile;
    for (const TileAxis& axis : variant.space) tile[axis.name] = axis.values.front();
    plan = backend->build({&variant, truth.problem(), tile});
    plan->prepare(*workset);
  }
  Verification verify(const Variant& variant) {
    stage(variant);
    return verify_candidate(*workset, *plan, truth, Arithmetic::float32, default_tolerance(),
                            {.reproducible = variant.reproducible});
  }

  std::unique_ptr<Backend> backend = make_host_backend({.threads = 1});
  ProblemTruth truth;
  std::unique_ptr<Workset> workset;
  std::unique_ptr<Plan> plan;
};

float* output(const LinearRecurrenceParams& p) {
  return static_cast<float*>(p.o);
}

// Start of o's row of (batch, token, head), seq first.
float* row(const LinearRecurrenceParams& p, long long b, long long t, long long h) {
  return output(p) + b * p.value_strides.batch + t * p.value_strides.seq +
         h * p.value_strides.heads;
}

void expect_fault(const Fault& fault, std::string_view check, const std::string& part,
                  const std::string& honest = "recurrent") {
  Bench bench(small_problem());
  const Variant variant = faulty(fault, honest);
  const Verification result = bench.verify(variant);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.check, check);
  EXPECT_NE(result.fault.find(part), std::string::npos) << result.fault;
}

TEST(Verify, AnHonestVariantPasses) {
  Bench bench(small_problem());
  const Variant variant = faulty([](const LinearRecurrenceParams&) {});
  const Verification result = bench.verify(variant);
  EXPECT_TRUE(result.ok) << result.fault;
  EXPECT_TRUE(result.deterministic);
  EXPECT_EQ(result.fault, "");
  EXPECT_EQ(result.reference, "host");
  ASSERT_EQ(result.tensors.size(), 2u);
  for (const auto& [name, verdict] : result.tensors) {
    EXPECT_TRUE(verdict.ok);
    EXPECT_TRUE(verdict.rel_l2 > 0 && verdict.rel_l2 <= verdict.bound) << name;
    EXPECT_TRUE(verdict.bound <= 1e-5 && verdict.baseline_rel_l2 > 0);
    EXPECT_EQ(verdict.worst.index.size(), 4u);
  }
}

TEST(Verify, OneNaN) {
  expect_fault([](const LinearRecurrenceParams& p) { row(p, 1, 149, 1)[23] = NAN; },
               check::not_finite, "'o': 1 of 14400 elements NaN or infinite, unlike the reference");
}

TEST(Verify, OneInfinity) {
  expect_fault([](const LinearRecurrenceParams& p) { row(p, 0, 0, 0)[0] = INFINITY; },
               check::not_finite, "NaN or infinite");
}

TEST(Verify, OneElementSlightlyWrong) {
  expect_fault([](const LinearRecurrenceParams& p) { row(p, 1, 77, 0)[5] += 1e-3f; }, check::rel_l2,
               "'o': ");
}

TEST(Verify, EverythingOffByATouchMoreThanTheBound) {
  expect_fault(
      [](const LinearRecurrenceParams& p) {
        for (int i = 0; i < 14400; ++i) output(p)[i] *= 1.0f + 2e-5f;
      },
      check::rel_l2, "'o': rel_l2 2e-05 above its bound");
}

TEST(Verify, LastChunkLeftOut) {
  expect_fault(
      [](const LinearRecurrenceParams& p) {
        for (long long t = 128; t < 150; ++t) std::memset(row(p, 1, t, 1), 0xff, 24 * 4);
      },
      check::unwritten, "'o': 528 of 14400 elements unwritten");
}

TEST(Verify, OneChunkWrong) {
  // Small enough for the whole tensor's bound to let it pass.
  Bench bench(small_problem());
  const Variant variant = faulty([](const LinearRecurrenceParams& p) {
    for (long long t = 128; t < 150; ++t)
      for (int i = 0; i < 24; ++i) row(p, 1, t, 1)[i] *= 1.0f + 3e-6f;
  });
  const Verification result = bench.verify(variant);
  const TensorVerdict& o = result.tensors.at("o");
  EXPECT_TRUE(o.rel_l2 <= o.bound);
  EXPECT_FALSE(o.worst_chunk_rel_l2 <= o.worst_chunk_bound);
  EXPECT_NE(result.fault.find("worst chunk"), std::string::npos) << result.fault;
  EXPECT_FALSE(result.ok);
}

TEST(Verify, OneHeadWrong) {
  expect_fault(
      [](const LinearRecurrenceParams& p) {
        for (long long t = 0; t < p.seq; ++t) std::memcpy(row(p, 1, t, 1), row(p, 1, t, 0), 24 * 4);
      },
      check::rel_l2, "'o': rel_l2");
}

TEST(Verify, LastTokenOfTheStateForgotten) {
  expect_fault(
      [](const LinearRecurrenceParams& p) {
        for (int i = 0; i < 16 * 24; ++i) p.final_state[i] *= 0.999f;
      },
      check::rel_l2, "'final_state': ");
}

TEST(Verify, StateOfOnePairUnwritten) {
  expect_fault(
      [](const LinearRecurrenceParams& p) {
        std::memset(p.final_state + 3 * 16 * 24, 0xff, 16 * 24 * 4);
      },
      check::unwritten, "'final_state': 384 of 1536 elements unwritten");
}

TEST(Verify, WriteBehindAnOutput) {
  expect_fault([](const LinearRecurrenceParams& p) { output(p)[14400] = 0; }, check::guard_zone,
               "guard zone behind 'o' overwritten at byte 0");
}

TEST(Verify, WriteBeforeAnOutput) {
  expect_fault([](const LinearRecurrenceParams& p) { p.final_state[-1] = 1; }, check::guard_zone,
               "guard zone before 'final_state' overwritten 4 bytes before its start");
}

TEST(Verify, WriteBehindTheWorkspace) {
  // decays of [4 pairs, 5 chunks, 16]
  expect_fault(
      [](const LinearRecurrenceParams& p) { static_cast<float*>(p.work[1])[4 * 5 * 16 + 1] = 0; },
      check::guard_zone, "guard zone behind 'decays' overwritten at byte 4", "chunk_materialized");
}

TEST(Verify, InputChanged) {
  expect_fault(
      [](const LinearRecurrenceParams& p) {
        const_cast<float*>(static_cast<const float*>(p.k))[100] += 1;
      },
      check::input_changed, "input 'k' changed");
}

TEST(Verify, ResultsThatLeanOnTheWorkspacesFormerContent) {
  Bench bench(small_problem());
  Variant variant = *find_variant("gla", "chunk_materialized", BackendId::host);
  const auto right = std::get<std::function<void(const HostCall&)>>(variant.code);
  variant.code = [right](const HostCall& call) {
    LinearRecurrenceParams p;
    std::memcpy(&p, call.params.data(), sizeof p);
    const float before = static_cast<const float*>(p.work[0])[0];
    right(call);
    output(p)[0] += 0 * before;
  };
  EXPECT_FALSE(bench.verify(variant).ok);
}

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
  inputs["v"] = {-1};  // not negated, having no positive value: q k v keeps its sign
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

// Hands everything on and counts what is downloaded; other outputs are a fingerprint's affair.
class CountedWorkset final : public Workset {
 public:
  explicit CountedWorkset(Workset& inner) : inner_(inner) {}
  void poison_outputs() override { inner_.poison_outputs(); }
  const HostTensors& download_outputs() override {
    ++downloads;
    return inner_.download_outputs();
  }
  std::uint64_t outputs_fingerprint() override { return inner_.outputs_fingerprint(); }
  bool poison_left() override { return inner_.poison_left(); }
  std::optional<std::string> damage() override { return inner_.damage(); }
  bool negate_inputs() override { return inner_.negate_inputs(); }
  int downloads = 0;

 private:
  Workset& inner_;
};

TEST(Verify, ARightCandidateIsDownloadedOnce) {
  Bench bench(small_problem());
  bench.stage(*find_variant("gla", "recurrent", BackendId::host));
  CountedWorkset workset(*bench.workset);
  Verification result =
      verify_candidate(workset, *bench.plan, bench.truth, Arithmetic::float32, default_tolerance());
  EXPECT_TRUE(result.ok) << result.fault;
  EXPECT_EQ(workset.downloads, 1);
  poison_before_timing(workset, *bench.plan);
  bench.plan->sample(CacheState::hot, 2);
  verify_last_timed(workset, *bench.plan, bench.truth, default_tolerance(), result);
  EXPECT_TRUE(result.ok && *result.last_timed_ok) << result.fault;
  EXPECT_EQ(workset.downloads, 1) << "the bits that were judged before";
}

TEST(Verify, BitsThatWereFoundRightAreNotJudgedAgainForAnotherCandidate) {
  Bench bench(small_problem());
  const auto downloads = [&](const Variant& variant, Arithmetic arithmetic) {
    bench.stage(variant);
    CountedWorkset workset(*bench.workset);
    const Verification result =
        verify_candidate(workset, *bench.plan, bench.truth, arithmetic, default_tolerance());
    EXPECT_TRUE(result.ok) << result.fault;
    EXPECT_TRUE(result.deterministic);
    EXPECT_EQ(result.tensors.size(), 2u);
    return workset.downloads;
  };
  const Variant& recurrent = *find_variant("gla", "recurrent", BackendId::host);
  EXPECT_EQ(downloads(recurrent, Arithmetic::float32), 1);
  EXPECT_EQ(downloads(faulty([](const LinearRecurrenceParams&) {}), Arithmetic::float32), 0);
  EXPECT_EQ(downloads(recurrent, Arithmetic::tf32), 1) << "with other bounds";
  EXPECT_EQ(downloads(*find_variant("gla", "chunk_fused", BackendId::host), Arithmetic::float32),
            1);
}

TEST(Verify, BitsThatWereFoundWrongAreJudgedEachTime) {
  Bench bench(small_problem());
  const Variant variant = faulty([](const LinearRecurrenceParams& p) { output(p)[0] = 99; });
  for (int candidate = 0; candidate < 2; ++candidate) {
    const Verification result = bench.verify(variant);
    EXPECT_FALSE(result.ok);
    EXPECT_FALSE(result.fault.empty());
  }
}

class FixedWorkset final : public Workset {
 public:
  void poison_outputs() override {}
  const HostTensors& download_outputs() override { return outputs; }
  std::optional<std::string> damage() override { return std::nullopt; }
  HostTensors outputs;
};

TEST(Verify, FingerprintsGoByEveryBitAndItsPlace) {
  FixedWorkset workset;
  const auto of = [&](HostTensors outputs) {
    workset.outputs = std::move(outputs);
    return workset.outputs_fingerprint();
  };
  const std::uint64_t first = of({{"o", {0.0F, 1.0F, 2.0F}}, {"s", {3.0F}}});
  EXPECT_EQ(of({{"o", {0.0F, 1.0F, 2.0F}}, {"s", {3.0F}}}), first);
  EXPECT_NE(of({{"o", {-0.0F, 1.0F, 2.0F}}, {"s", {3.0F}}}), first);
  EXPECT_NE(of({{"o", {1.0F, 0.0F, 2.0F}}, {"s", {3.0F}}}), first);
  EXPECT_NE(of({{"o", {0.0F, 1.0F, 3.0F}}, {"s", {2.0F}}}), first);
  EXPECT_NE(of({{"o", {0.0F, std::nextafter(1.0F, 2.0F), 2.0F}}, {"s", {3.0F}}}), first);
  EXPECT_FALSE(workset.poison_left());
  workset.outputs["s"] = {std::bit_cast<float>(0xffffffffu)};
  EXPECT_TRUE(workset.poison_left());
}

TEST(Verify, AMissingOutputIsNotOk) {
  Bench bench(small_problem());
  bench.stage(*find_variant("gla", "recurrent", BackendId::host));
  bench.plan->run();
  HostTensors outputs = bench.workset->download_outputs();
  EXPECT_TRUE(judge(bench.truth, outputs, Arithmetic::float32, default_tolerance()).ok);
  HostTensors cut = outputs;
  cut.at("o").pop_back();
  EXPECT_FALSE(judge(bench.truth, cut, Arithmetic::float32, default_tolerance()).ok);
  outputs.erase("final_state");
  const Verification result = judge(bench.truth, outputs, Arithmetic::float32, default_tolerance());
  EXPECT_FALSE(result.ok);
  EXPECT_FALSE(result.tensors.at("final_state").ok);
  EXPECT_TRUE(std::isnan(result.tensors.at("final_state").rel_l2));
  EXPECT_EQ(result.fault, "'final_state' is missing or of the wrong size");
}

TEST(Verify, NothingToJudgeIsNotOk) {
  Operator empty = *find_operator("gla");
  empty.tensors = [](const Problem&) { return std::vector<TensorSpec>{}; };
  ProblemTruth truth(empty, small_problem(), find_operator("gla")->draw(small_problem()));
  EXPECT_FALSE(judge(truth, {}, Arithmetic::float32, default_tolerance()).ok);
}

TEST(Verify, AFaultOfTheRunIsPassedOn) {
  Bench bench(small_problem());
  const Variant variant =
      faulty([](const LinearRecurrenceParams&) { throw RunError("device fell over"); });
  EXPECT_THROW(bench.verify(variant), RunError);
}

// A backend whose reference can be told from the host's.
class FakeDevice final : public Backend {
 public:
  int references = 0, baselines = 0;
  bool present = true;

  BackendId id() const override { return BackendId::cuda; }
  bool can_run() const override { return present; }
  Limits limits() const override { return {}; }
  Environment environment() const override { return {}; }
  std::optional<double> clock_mhz() override { return std::nullopt; }
  std::unique_ptr<Workset> stage(const Operator&, const Problem&, const HostTensors&) override {
    return nullptr;
  }
  std::unique_ptr<Plan> build(const Candidate&) override { return nullptr; }
  void build_ahead(std::span<const Candidate>) override {}
  std::optional<ReferenceTensors> reference(const Operator& op, const Problem& problem,
                                            const HostTensors& inputs) override {
    ++references;
    return op.reference(problem, inputs);
  }
  std::optional<HostTensors> baseline(const Operator& op, const Problem& problem,
                                      const HostTensors& inputs, Arithmetic arithmetic) override {
    ++baselines;
    return op.baseline(problem, inputs, arithmetic);
  }
};

TEST(ProblemTruth, DeviceComputesTheReferenceWhereAskedOrLarge) {
  const Operator& op = *find_operator("gla");
  const Problem problem = small_problem();
  const HostTensors inputs = op.draw(problem);
  FakeDevice device;
  EXPECT_EQ(ProblemTruth(op, problem, inputs, &device).reference_place(), "host");
  EXPECT_EQ(device.references, 0);
  ProblemTruth truth(op, problem, inputs, &device, ReferencePlace::device);
  EXPECT_EQ(truth.reference_place(), "cuda");
  EXPECT_EQ(device.references, 1);
  truth.baseline(Arithmetic::bfloat16);
  truth.baseline(Arithmetic::bfloat16);
  EXPECT_EQ(device.baselines, 1);
  Operator heavy = op;
  heavy.work = [](const Problem&) { return Work{0, 1e12}; };
  EXPECT_EQ(ProblemTruth(heavy, problem, inputs, &device).reference_place(), "cuda");
  EXPECT_EQ(ProblemTruth(heavy, problem, inputs, &device, ReferencePlace::host).reference_place(),
            "host");
  EXPECT_EQ(ProblemTruth(heavy, problem, inputs).reference_place(), "host");
  device.present = false;
  EXPECT_EQ(ProblemTruth(heavy, problem, inputs, &device).reference_place(), "host");
  EXPECT_THROW(ProblemTruth(op, problem, inputs, &device, ReferencePlace::device), InputError);
  EXPECT_THROW(ProblemTruth(op, problem, inputs, nullptr, ReferencePlace::device), InputError);
}

TEST(ProblemTruth, PlacesHaveNames) {
  for (const ReferencePlace place :
       {ReferencePlace::automatic, ReferencePlace::host, ReferencePlace::device})
    EXPECT_EQ(parse_reference_place(name(place)), place);
  EXPECT_EQ(parse_reference_place("gpu"), std::nullopt);
}

}  // namespace
}  // namespace gla_bench
