#include "harness/judge/accuracy/accuracy_gate.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "harness/judge/seeds.hpp"

namespace gla_bench {
namespace {

Results draws(std::initializer_list<double> errors) {
  Results results;
  results.file = "r.json";
  for (const double error : errors) {
    Record record;
    record.problem.op = "gla";
    record.problem.seed = results.records.size() + 1;
    record.variant = "chunk";
    record.status = Status::verified;
    record.verification = Verification{};
    record.verification->ok = true;
    record.verification->tensors["o"] = {error, error, error, 4e-3, 4e-3, 4e-3, 1e-3, {}, true};
    results.records.push_back(record);
  }
  return results;
}

TEST(AccuracyGate, NamesWhatGotWorseAndCountsWhatIsUnknown) {
  const Results before = draws({1e-3, 1.1e-3, 1.2e-3});
  std::size_t left_out = 0;
  const AccuracyBaseline baseline = baseline_to_store(std::span(&before, 1), left_out);
  EXPECT_EQ(left_out, 0U);
  const auto same = accuracy_verdicts(std::span(&before, 1), baseline);
  EXPECT_EQ(same.size(), 3U);
  EXPECT_TRUE(passed(same));
  const Results now = draws({1e-3, 2e-3});
  auto verdicts = accuracy_verdicts(std::span(&now, 1), baseline);
  ASSERT_EQ(verdicts.size(), 2U);
  EXPECT_TRUE(verdicts[0].failures.empty());
  EXPECT_EQ(verdicts[0].subject, same[0].subject) << "a test keeps its name";
  EXPECT_EQ(verdicts[1].failures.size(), 3U);
  EXPECT_NE(verdicts[1].subject.find("seed=2"), std::string::npos);
  verdicts = accuracy_verdicts(std::span(&now, 1), {});
  ASSERT_EQ(verdicts.size(), 2U);
  EXPECT_TRUE(passed(verdicts));
  EXPECT_EQ(verdicts[0].note, "is not in the baseline");
  EXPECT_EQ(verdicts[0].subject.find("seed"), std::string::npos) << verdicts[0].subject;
  EXPECT_EQ(verdicts[1].warnings.at(0), "6 errors of 1 candidates are not in the baseline");
}

TEST(AccuracyGate, CandidatesThatVanishedFail) {
  Results before = draws({1e-3, 1.1e-3, 1.2e-3});
  for (const Record& record : draws({1e-3, 1.1e-3, 1.2e-3}).records) {
    before.records.push_back(record);
    before.records.back().problem.dtype = DType::float16;
  }
  std::size_t left_out = 0;
  const AccuracyBaseline baseline = baseline_to_store(std::span(&before, 1), left_out);
  EXPECT_TRUE(passed(accuracy_verdicts(std::span(&before, 1), baseline)));
  Results now = before;
  now.records.resize(3);  // a whole dtype is gone
  const auto verdicts = accuracy_verdicts(std::span(&now, 1), baseline);
  EXPECT_FALSE(passed(verdicts));
  EXPECT_NE(verdicts.back().subject.find("float16"), std::string::npos);
  EXPECT_NE(verdicts.back().failures.at(0).find("missing: the baseline has its errors (o)"),
            std::string::npos);
  const auto allowed = accuracy_verdicts(std::span(&now, 1), baseline, true);
  EXPECT_TRUE(passed(allowed));
  EXPECT_EQ(allowed.back().warnings.size(), 1U);
  // One that is refused or wrong now is not there either; in another file it is.
  now = before;
  for (std::size_t i = 3; i < 6; ++i) now.records[i].status = Status::rejected;
  for (std::size_t i = 3; i < 6; ++i) now.records[i].verification.reset();
  EXPECT_FALSE(passed(accuracy_verdicts(std::span(&now, 1), baseline)));
  const std::vector<Results> both{now, before};
  EXPECT_TRUE(passed(accuracy_verdicts(both, baseline)));
}

TEST(AccuracyGate, FewSeedsAreNoBaseline) {
  const Results two = draws({1e-3, 1.1e-3});
  std::size_t left_out = 0;
  EXPECT_THROW(baseline_to_store(std::span(&two, 1), left_out), InputError);
  EXPECT_EQ(left_out, 3U);
}

TEST(Seeds, EachSweepIsDrawnSoOften) {
  Config config;
  config.sweeps.resize(2);
  config.sweeps[0].seed = 5;
  config.sweeps[1].tensors = TensorSource{"file.safetensors", {}};
  const Config drawn = with_seeds(config, 3);
  ASSERT_EQ(drawn.sweeps.size(), 4U);
  EXPECT_EQ(drawn.sweeps[0].seed, 5U);
  EXPECT_EQ(drawn.sweeps[2].seed, 7U);
  EXPECT_EQ(with_seeds(config, 1).sweeps.size(), 2U);
}

}  // namespace
}  // namespace gla_bench
