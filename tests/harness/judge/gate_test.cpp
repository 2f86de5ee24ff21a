#include "harness/judge/gate.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/harness/judge/gated.hpp"

namespace gla_bench {
namespace {

using namespace gated;

TEST(Gate, PassesWhatIsVerifiedAsAsked) {
  const auto verdicts = judge(file({good()}));
  EXPECT_TRUE(passed(verdicts)) << failures(verdicts);
}

TEST(Gate, NothingDoesNotPass) {
  EXPECT_FALSE(passed({}));
  const auto verdicts = judge(file({}));
  EXPECT_FALSE(passed(verdicts));
  EXPECT_NE(failures(verdicts).find("no records"), std::string::npos);
  EXPECT_NE(failures(verdicts).find("slow on toy"), std::string::npos);
}

struct Plant {
  std::string name;
  std::function<void(Record&)> fault;
  std::string expected;
};

void PrintTo(const Plant& plant, std::ostream* out) {
  *out << plant.name;
}

class PlantedRecord : public testing::TestWithParam<Plant> {};

TEST_P(PlantedRecord, Fails) {
  Record record = good();
  GetParam().fault(record);
  // A good record of the same request beside it: only the record itself can fail.
  const auto verdicts = judge(file({record, good()}));
  EXPECT_FALSE(passed(verdicts));
  EXPECT_NE(failures(verdicts).find(GetParam().expected), std::string::npos) << failures(verdicts);
}

TensorVerdict& o(Record& record) {
  return record.verification->tensors["o"];
}

INSTANTIATE_TEST_SUITE_P(
    Each, PlantedRecord,
    testing::Values(
        Plant{"wrong", [](Record& r) { r.status = Status::wrong; }, "wrong: no reason"},
        Plant{"build_failed",
              [](Record& r) {
                r.status = Status::build_failed;
                r.reason = "x";
              },
              "build_failed: x"},
        Plant{"run_failed", [](Record& r) { r.status = Status::run_failed; }, "run_failed"},
        Plant{"crashed", [](Record& r) { r.status = Status::crashed; }, "crashed: no reason"},
        Plant{"timeout", [](Record& r) { r.status = Status::timeout; }, "timeout: no reason"},
        Plant{"refusal without reason", [](Record& r) { r.status = Status::rejected; },
              "without a reason"},
        Plant{"no verification", [](Record& r) { r.verification.reset(); }, "no verification"},
        Plant{"not ok",
              [](Record& r) {
                r.verification->ok = false;
                r.verification->fault = "guard";
              },
              "verification not ok: guard"},
        Plant{"last timed wrong", [](Record& r) { r.verification->last_timed_ok = false; },
              "last timed launch gave a wrong"},
        Plant{"last timed unknown", [](Record& r) { r.verification->last_timed_ok.reset(); },
              "last timed launch was not verified"},
        Plant{"no tensors", [](Record& r) { r.verification->tensors.clear(); }, "o: not verified"},
        Plant{"another tensor",
              [](Record& r) {
                r.verification->tensors["p"] = o(r);
                r.verification->tensors.erase("o");
              },
              "o: not verified"},
        Plant{"tensor not ok", [](Record& r) { o(r).ok = false; }, "o: not ok"},
        Plant{"nan error", [](Record& r) { o(r).rel_l2 = nan_value; }, "rel_l2 nan"},
        Plant{"nan bound", [](Record& r) { o(r).bound = nan_value; }, "bound nan"},
        Plant{"nan max_abs", [](Record& r) { o(r).max_abs = nan_value; }, "max_abs nan"},
        Plant{"nan chunk", [](Record& r) { o(r).worst_chunk_rel_l2 = nan_value; },
              "worst_chunk_rel_l2 nan"},
        Plant{"above its bound", [](Record& r) { o(r).rel_l2 = 2e-6; },
              "rel_l2 2e-06 is not at most 1e-06"},
        Plant{"chunk above its bound", [](Record& r) { o(r).worst_chunk_rel_l2 = 5e-6; },
              "worst_chunk_rel_l2 5e-06"},
        Plant{"bound above the cap", [](Record& r) { o(r).bound = 1.1e-5; },
              "bound 1.1e-05 is not at most 1e-05 (the cap)"},
        Plant{"chunk bound above the cap", [](Record& r) { o(r).worst_chunk_bound = 1; },
              "worst_chunk_bound 1 "},
        Plant{"max_abs bound above the cap", [](Record& r) { o(r).max_abs_bound = 1; },
              "max_abs_bound 1 "},
        Plant{"zero bound",
              [](Record& r) {
                o(r).bound = 0;
                o(r).rel_l2 = 0;
              },
              "bound is not positive"},
        Plant{"negative error", [](Record& r) { o(r).rel_l2 = -1; }, "rel_l2 is no error"},
        Plant{"another arithmetic",
              [](Record& r) { r.verification->arithmetic = Arithmetic::bfloat16; },
              "declares float32"},
        Plant{"another tile",
              [](Record& r) {
                r.tile = {{"chunk", 7}};
              },
              "tile is not in the variant's space"},
        Plant{"reads less than its inputs have",
              [](Record& r) {
                r.io.measured = CounterReading{.source = CounterSource::cupti};
                r.io.measured->dram_read_bytes = 1;
              },
              "the device read 1 bytes"},
        Plant{"no time", [](Record& r) { r.timing.reset(); }, "measured without a time"},
        Plant{"no samples", [](Record& r) { r.timing->cold.samples_ms.clear(); },
              "cold: no samples"},
        Plant{"nan time", [](Record& r) { r.timing->hot->samples_ms[0] = nan_value; },
              "hot: a sample is not"},
        Plant{"zero time", [](Record& r) { r.timing->cold.samples_ms[0] = 0; },
              "cold: a sample is not"},
        Plant{"better median", [](Record& r) { r.timing->cold.median_ms = 1.5; },
              "do not follow"}));

TEST(Gate, ARequestedVariantNeedsAVerifiedRecord) {
  const auto missing = judge(file({good("slow")}, R"(["slow", "fast"])"));
  EXPECT_NE(failures(missing).find("fast on toy"), std::string::npos) << failures(missing);
  EXPECT_TRUE(passed(judge(file({good("slow"), good("fast")}, R"(["slow", "fast"])"))));
  Record built = good("fast");
  built.status = Status::built;
  EXPECT_FALSE(passed(judge(file({good("slow"), built}, R"(["slow", "fast"])"))));
  Record peer = good("fast");
  peer.peer = true;
  EXPECT_FALSE(passed(judge(file({good("slow"), peer}, R"(["slow", "fast"])"))));
  Record left_out = good("fast");
  left_out.status = Status::left_out;
  left_out.reason = "its modelled bytes alone take longer";
  EXPECT_TRUE(passed(judge(file({good("slow"), left_out}, R"(["slow", "fast"])"))));
  left_out.reason.clear();
  EXPECT_NE(failures(judge(file({good("slow"), left_out}, R"(["slow", "fast"])")))
                .find("left out without a reason"),
            std::string::npos);
  Record elsewhere = good("fast");
  elsewhere.problem.seed = 2;
  EXPECT_FALSE(passed(judge(file({good("slow"), elsewhere}, R"(["slow", "fast"])"))));
}

TEST(Gate, VariantsWithoutAnImplementationOnTheBackendAreNotMissed) {
  EXPECT_TRUE(passed(judge(file({good("slow")}, R"(["slow", "device_only"])"))));
  Results cuda = file({good("slow")}, R"(["slow", "device_only"])");
  cuda.environment["backend"] = std::string("cuda");
  EXPECT_FALSE(passed(judge(cuda)));
}

Record refused(const std::string& variant) {
  Record record = good(variant);
  record.status = Status::rejected;
  record.reason = "too strong gates";
  record.verification.reset();
  record.timing.reset();
  return record;
}

TEST(Gate, RefusedTilesAreFineBesideAVerifiedOne) {
  Record tile = refused("fast");
  tile.tile = {{"chunk", 32}};
  EXPECT_TRUE(passed(judge(file({good("fast"), tile}, R"(["fast"])"))));
}

TEST(Gate, AProblemThatIsRefusedWholeFailsUnlessTheSweepAllowsIt) {
  const std::string two = R"(["slow", "picky"])";
  const auto strict = judge(file({good("slow"), refused("picky")}, two));
  EXPECT_NE(failures(strict).find("every tile is rejected (too strong gates)"), std::string::npos);
  // Allowed, but then it must have been verified somewhere.
  const std::string allowed = R"(, "refusals_allowed": true, "seed": 1)";
  EXPECT_NE(failures(judge(file({good("slow"), refused("picky")}, two, allowed)))
                .find("refused everywhere"),
            std::string::npos);
  Record verified = good("picky");
  verified.problem.gate = "strong";
  const std::string gates = allowed + R"(, "gates": ["mild", "strong"])";
  Record slow_strong = good("slow");
  slow_strong.problem.gate = "strong";
  const auto verdicts =
      judge(file({good("slow"), slow_strong, refused("picky"), verified}, two, gates));
  EXPECT_TRUE(passed(verdicts)) << failures(verdicts);
}

TEST(Gate, StaleSourcesWarnOrFail) {
  Record stale = good();
  stale.source_hash = "older";
  const auto verdicts = judge(file({stale}));
  EXPECT_TRUE(passed(verdicts));
  EXPECT_NE(verdicts[1].warnings.at(0).find("stale"), std::string::npos);
  GatePolicy fresh = policy();
  fresh.require_fresh = true;
  EXPECT_FALSE(passed(judge(file({stale}), fresh)));
  EXPECT_TRUE(passed(judge(file({good()}), fresh)));
}

TEST(Gate, AnotherVerificationOrCompilerWarnsOrFails) {
  GatePolicy fresh = policy();
  fresh.verifier_hash = [](BackendId, const std::string&) {
    return "aaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb";
  };
  Record record = good();
  record.verifier_hash = fresh.verifier_hash(BackendId::host, record.problem.op);
  EXPECT_TRUE(judge(file({record}), fresh)[1].warnings.empty());
  for (const auto& [hash, words] :
       {std::pair{"cccccccccccccccc-bbbbbbbbbbbbbbbb",
                  "stale: what verifies it has changed since (`renew` may"},
        std::pair{"aaaaaaaaaaaaaaaa-cccccccccccccccc", "stale: its compiler or"}}) {
    record.verifier_hash = hash;
    fresh.require_fresh = false;
    const auto verdicts = judge(file({record}), fresh);
    EXPECT_TRUE(passed(verdicts));
    ASSERT_EQ(verdicts[1].warnings.size(), 1u);
    EXPECT_TRUE(verdicts[1].warnings[0].starts_with(words)) << verdicts[1].warnings[0];
    fresh.require_fresh = true;
    EXPECT_NE(failures(judge(file({record}), fresh)).find(words), std::string::npos);
  }
}

TEST(Gate, RecordsThatDoNotSayWhatVerifiedThemAreNotedOnce) {
  GatePolicy fresh = policy();
  fresh.verifier_hash = [](BackendId, const std::string&) {
    return "aaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb";
  };
  const Results two = file({good("slow"), good("fast")}, R"(["slow", "fast"])");
  EXPECT_EQ(judge(two, fresh)[0].note, "");
  fresh.require_fresh = true;
  const auto verdicts = judge(two, fresh);
  EXPECT_TRUE(passed(verdicts)) << failures(verdicts);
  EXPECT_TRUE(verdicts[0].note.starts_with("2 verified records do not say what verified them"))
      << verdicts[0].note;
  for (const Verdict& verdict : verdicts) EXPECT_TRUE(verdict.warnings.empty());
}

TEST(Gate, SuspectTimesFailUnlessThePolicyNamesTheVariant) {
  Record suspect = good();
  suspect.timing->suspect = true;
  for (const auto& [check, words] : {std::pair{"wall_clock", "suspect: the wall clock"},
                                     std::pair{"clocks", "suspect: the host's clock"},
                                     std::pair{"floor", "suspect: faster than the floor"}}) {
    suspect.timing->suspect_check = check;
    EXPECT_NE(failures(judge(file({suspect}))).find(words), std::string::npos);
    Results allowed = file({suspect});
    Json config = *allowed.config;
    config["policy"]["allow_suspect"] = {"fast"};
    allowed.config = std::make_shared<const Json>(config);
    EXPECT_FALSE(passed(judge(allowed))) << "another variant is named";
    config["policy"]["allow_suspect"] = {"slow"};
    allowed.config = std::make_shared<const Json>(config);
    const auto verdicts = judge(allowed);
    EXPECT_TRUE(passed(verdicts)) << failures(verdicts);
    EXPECT_NE(verdicts[1].warnings.at(0).find(words), std::string::npos);
  }
  suspect.peer = true;
  EXPECT_TRUE(passed(judge(file({good(), suspect}))));
}

TEST(Gate, CapsOfAFileHoldForErrorsAndNotForBounds) {
  GatePolicy caps = policy();
  caps.caps_for_errors = true;
  for (auto& [arithmetic, rules] : caps.tolerance.arithmetic) rules.cap = 5e-7;
  // Verified by a bound of 1e-6, with an error of 1e-7.
  const auto verdicts = judge(file({good()}), caps);
  EXPECT_TRUE(passed(verdicts)) << failures(verdicts);
  Record worse = good();
  o(worse).rel_l2 = 7e-7;
  EXPECT_TRUE(passed(judge(file({worse}))));
  EXPECT_NE(
      failures(judge(file({worse}), caps)).find("rel_l2 7e-07 is not at most 5e-07 (the cap)"),
      std::string::npos);
  worse = good();
  o(worse).rel_l2 = 4e-7;
  o(worse).bound = 3e-7;
  EXPECT_NE(failures(judge(file({worse}), caps)).find("(its bound)"), std::string::npos);
}

TEST(Gate, ALeastShareIsHeldByOperatorAndDtype) {
  const auto asking = [](std::vector<Record> records, const std::string& variant, double least) {
    Results results = file(std::move(records), R"(["slow", "picky"])",
                           R"(, "refusals_allowed": true, "gates": ["mild", "strong"])");
    Json config = *results.config;
    config["policy"]["least_share"] = {{variant, least}};
    results.config = std::make_shared<const Json>(config);
    return judge(results);
  };
  std::vector<Record> records{good("slow"), good("slow"), refused("picky"), good("picky")};
  records[1].problem.gate = records[3].problem.gate = "strong";
  EXPECT_TRUE(passed(asking(records, "picky", 0.5))) << failures(asking(records, "picky", 0.5));
  EXPECT_NE(failures(asking(records, "picky", 0.6))
                .find("share of picky [host] of toy forward float32: took 1 of 2 problems"),
            std::string::npos)
      << failures(asking(records, "picky", 0.6));
  EXPECT_NE(failures(asking(records, "gone", 0)).find("no record is of the variant"),
            std::string::npos);
}

TEST(Gate, NamesAreTheSameHoweverItWent) {
  Record wrong = good();
  wrong.status = Status::wrong;
  wrong.reason = "o: too far";
  wrong.seconds = 1.5;
  const std::string name = judge(file({good()}))[1].subject;
  EXPECT_EQ(judge(file({wrong}))[1].subject, name);
  EXPECT_EQ(judge(file({refused("slow")}))[1].subject, name);
  EXPECT_EQ(name.find("measured"), std::string::npos) << name;
  const std::string xml = junit_xml(judge(file({wrong})));
  EXPECT_NE(xml.find("name=\"" + name + "\" time=\"1.500000\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("skipped=\"0\" time=\"1.500000\""), std::string::npos) << xml;
}

}  // namespace
}  // namespace gla_bench
