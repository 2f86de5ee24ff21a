// What the gate says of whole files: journals, peers, configs, tensors from files, and JUnit.

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "harness/judge/gate.hpp"
#include "tests/harness/judge/gated.hpp"

namespace gla_bench {
namespace {

using namespace gated;

TEST(Gate, AJournalBesideTheFileWarns) {
  Results results = file({good()});
  results.unfinished = Unfinished{"r.json.journal", false, 3, {}, ""};
  const auto verdicts = judge(results);
  EXPECT_TRUE(passed(verdicts));
  ASSERT_EQ(verdicts.at(0).warnings.size(), 1u);
  EXPECT_NE(verdicts[0].warnings[0].find("3 records are from r.json.journal"), std::string::npos)
      << verdicts[0].warnings[0];
}

TEST(Gate, PeersFilesNeedNotAnswerTheConfig) {
  Record peer = good("theirs");
  peer.peer = true;
  peer.verification->last_timed_ok.reset();
  Results results = file({peer});
  results.environment["peer"] = std::string("flash-linear-attention");
  const auto verdicts = judge(results);
  EXPECT_TRUE(passed(verdicts)) << failures(verdicts);
  results.records[0].verification->tensors["o"].rel_l2 = 1;
  EXPECT_FALSE(passed(judge(results)));
  results.records.clear();
  EXPECT_FALSE(passed(judge(results)));
}

TEST(Gate, APeerThatIsWrongOrLateIsToldAndPasses) {
  for (const Status status : {Status::wrong, Status::run_failed, Status::timeout}) {
    Record theirs = good("theirs");
    theirs.status = status;
    theirs.reason = "o: 0.01 is over 0.004";
    EXPECT_FALSE(passed(judge(file({good(), theirs}))));
    theirs.peer = true;
    const auto verdicts = judge(file({good(), theirs}));
    EXPECT_TRUE(passed(verdicts)) << failures(verdicts);
    EXPECT_NE(verdicts.at(2).warnings.at(0).find("0.01 is over"), std::string::npos);
  }
}

TEST(Gate, AConfigThatCanNotBeReadFails) {
  Results results = file({good()}, R"(["gone"])");
  const auto verdicts = judge(results);
  EXPECT_NE(failures(verdicts).find("/config/sweeps/0/variants/0"), std::string::npos)
      << failures(verdicts);
}

TEST(Gate, TensorsFromAFileAreMatchedByTheFile) {
  Results results = file({good()});
  results.config = std::make_shared<const Json>(parse_json(
      R"({"sweeps": [{"operator": "toy", "variants": ["slow"], "tensors": {"file": "x.safetensors"}}]})",
      "c"));
  EXPECT_FALSE(passed(judge(results)));
  results.records[0].problem.tensors = "x.safetensors";
  results.records[0].problem.gate = "file";
  const auto verdicts = judge(results);
  EXPECT_TRUE(passed(verdicts)) << failures(verdicts);
}

TEST(Junit, IsWellFormedWhateverTheText) {
  const std::vector<Verdict> verdicts{
      {"a<&>\"'.json", "bad \x01 one", {"x < y & \"z\"\nline"}, {"w1", "w2"}, ""},
      {"a<&>\"'.json", "skipped", {}, {}, "refused"},
      {"b.json", "fine", {}, {}, ""}};
  const std::string xml = junit_xml(verdicts);
  EXPECT_NE(xml.find("tests=\"2\" failures=\"1\" skipped=\"1\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("message=\"x &lt; y &amp; &quot;z&quot;&#10;line\""), std::string::npos)
      << xml;
  EXPECT_EQ(xml.find('\x01'), std::string::npos);
  // Tags are balanced: what opens closes.
  for (const std::string tag : {"testsuites", "testsuite", "testcase"}) {
    std::size_t opened = 0, closed = 0;
    for (std::size_t at = 0; (at = xml.find("<" + tag, at)) != std::string::npos; ++at)
      opened += xml.find_first_of(" >", at + 1) == at + 1 + tag.size() ? 1 : 0;
    for (std::size_t at = 0; (at = xml.find("</" + tag + ">", at)) != std::string::npos; ++at)
      ++closed;
    EXPECT_EQ(opened, closed) << tag;
    EXPECT_GT(opened, 0u) << tag;
  }
}

}  // namespace
}  // namespace gla_bench
