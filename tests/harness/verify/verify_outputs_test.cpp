// How outputs are judged: how often they are downloaded, what is taken for known, where the
// reference is computed.

#include "harness/verify/verify.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "harness/measure/checks.hpp"
#include "tests/harness/verify/faulty_variant.hpp"

namespace gla_bench {
namespace {

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
  bool flip_signs(std::uint64_t pattern) override { return inner_.flip_signs(pattern); }
  int downloads = 0;

 private:
  Workset& inner_;
};

TEST(Verify, ARightCandidateIsDownloadedOnceForEachOfItsInputs) {
  Bench bench(small_problem());
  bench.stage(*find_variant("gla", "recurrent", BackendId::host));
  CountedWorkset workset(*bench.workset);
  Verification result =
      verify_candidate(workset, *bench.plan, bench.truth, Arithmetic::float32, default_tolerance());
  EXPECT_TRUE(result.ok) << result.fault;
  EXPECT_EQ(workset.downloads, 2);
  poison_before_timing(workset, *bench.plan);
  bench.plan->sample(CacheState::hot, 2);
  verify_last_timed(workset, *bench.plan, bench.truth, default_tolerance(), result);
  EXPECT_TRUE(result.ok && *result.last_timed_ok) << result.fault;
  EXPECT_EQ(workset.downloads, 2) << "the bits that were judged before";
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
  EXPECT_EQ(downloads(recurrent, Arithmetic::float32), 2) << "with two kinds of inputs";
  EXPECT_EQ(downloads(faulty([](const LinearRecurrenceParams&) {}), Arithmetic::float32), 0);
  EXPECT_EQ(downloads(recurrent, Arithmetic::tf32), 2) << "with other bounds";
  EXPECT_EQ(downloads(*find_variant("gla", "chunk_fused", BackendId::host), Arithmetic::float32),
            2);
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
  EXPECT_FALSE(judge(truth, HostTensors{}, Arithmetic::float32, default_tolerance()).ok);
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
  void beside_load(const std::function<void()>& work) override { work(); }
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

TEST(ProblemTruth, OtherInputsAreComputedOnceAndInTheSamePlace) {
  const Operator& op = *find_operator("gla");
  const Problem problem = small_problem();
  FakeDevice device;
  ProblemTruth truth(op, problem, op.draw(problem), &device, ReferencePlace::device);
  ProblemTruth* others = truth.others();
  ASSERT_NE(others, nullptr);
  EXPECT_EQ(truth.others(), others);
  EXPECT_EQ(device.references, 2);
  EXPECT_EQ(others->reference_place(), "cuda");
  EXPECT_EQ(others->inputs().at("g"), truth.inputs().at("g"));
  EXPECT_NE(others->inputs().at("v"), truth.inputs().at("v"));
  EXPECT_NE(others->expected().at("final_state"), truth.expected().at("final_state"));
  others->baseline(Arithmetic::float32);
  EXPECT_EQ(device.baselines, 1) << "its own bounds";
  Operator fixed = op;
  fixed.signed_inputs = {};
  EXPECT_EQ(ProblemTruth(fixed, problem, op.draw(problem)).others(), nullptr);
}

TEST(ProblemTruth, PlacesHaveNames) {
  for (const ReferencePlace place :
       {ReferencePlace::automatic, ReferencePlace::host, ReferencePlace::device})
    EXPECT_EQ(parse_reference_place(name(place)), place);
  EXPECT_EQ(parse_reference_place("gpu"), std::nullopt);
}

}  // namespace
}  // namespace gla_bench
