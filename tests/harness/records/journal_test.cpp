#include "harness/records/journal.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/records/record_file.hpp"
#include "harness/records/record_json.hpp"
#include "tests/support/sample_record.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/toy.hpp"

namespace gla_bench {
namespace {

Started started(int number, const std::string& step = "verify", const std::string& where = "") {
  return {step, where, key_of(sample_record(number))};
}

std::string record_line(int number) {
  return journal_record(record_to_json(sample_record(number)).dump());
}

std::string head_line() {
  return journal_head(facts_to_json(environment()), config());
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(Journal, SurvivesTheWayThereAndBack) {
  const auto content = parse_journal(
      text_of({head_line(), journal_starting(started(1)), journal_starting(started(2)),
               record_line(1), record_line(2), journal_starting(started(3, "measure"))}),
      "j");
  ASSERT_TRUE(content);
  EXPECT_EQ(fact_text(content->environment, "device"), "toy");
  EXPECT_EQ(*content->config, config());
  ASSERT_EQ(content->records.size(), 2u);
  EXPECT_EQ(record_to_json(content->records[1]).dump(), record_to_json(sample_record(2)).dump());
  ASSERT_EQ(content->in_flight.size(), 1u);
  EXPECT_EQ(content->in_flight[0].step, "measure");
  EXPECT_EQ(content->in_flight[0].candidate, key_of(sample_record(3)));
  EXPECT_EQ(describe(content->in_flight[0]).find("measure chunk_fused [host] chunk=64 on gla"), 0u)
      << describe(content->in_flight[0]);
  EXPECT_FALSE(content->torn);
}

TEST(Journal, KnowsWhatWasInFlightInEachPlace) {
  const std::vector<std::string> lines{head_line(), journal_starting(started(1, "verify", "GPU-a")),
                                       journal_starting(started(2, "verify", "GPU-b")),
                                       journal_starting(started(3, "verify", "GPU-b")),
                                       record_line(1)};
  const auto content = parse_journal(text_of(lines), "j");
  ASSERT_EQ(content->in_flight.size(), 1u);
  EXPECT_EQ(content->in_flight[0].candidate, key_of(sample_record(3)));
  EXPECT_NE(describe(content->in_flight[0]).find("by GPU-b"), std::string::npos);
}

// Whatever of it is on the disk: what stands before the last line is read, and nothing else.
TEST(Journal, MayBeTornAtEveryByte) {
  const std::vector<std::string> lines{head_line(), journal_starting(started(1)), record_line(1),
                                       journal_starting(started(2)), record_line(2)};
  const std::string text = text_of(lines);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const auto whole = static_cast<std::size_t>(std::count(text.begin(), text.begin() + cut, '\n'));
    const auto content = parse_journal(text.substr(0, cut), "j");
    ASSERT_EQ(content.has_value(), whole > 0) << cut;
    if (!content) continue;
    ASSERT_EQ(content->records.size(), whole >= 5 ? 2u : whole >= 3 ? 1u : 0u) << cut;
    ASSERT_EQ(content->in_flight.size(), whole == 2 || whole == 4 ? 1u : 0u) << cut;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < whole; ++i) bytes += lines[i].size() + 1;
    ASSERT_EQ(content->whole_bytes, static_cast<std::int64_t>(bytes)) << cut;
    ASSERT_EQ(content->torn, cut > bytes) << cut;
  }
}

// A power cut may leave a last line of the right length and not the right bytes.
TEST(Journal, ALastLineOfGarbageIsTorn) {
  for (const std::string& garbage :
       {std::string(200, '\0'), std::string("{\"record\":{\"var"), std::string(3, '\0') + "\"}}"}) {
    const auto content = parse_journal(text_of({head_line(), record_line(1), garbage}), "j");
    ASSERT_TRUE(content);
    EXPECT_EQ(content->records.size(), 1u);
    EXPECT_TRUE(content->torn);
  }
}

TEST(Journal, AnyOtherBadLineIsAnErrorThatNamesIt) {
  const auto error = [](const std::vector<std::string>& lines) {
    return error_of([&] { parse_journal(text_of(lines), "j"); });
  };
  const std::string record = record_line(1);
  EXPECT_NE(error({head_line(), "{\"record\":", record}).find("j line 2"), std::string::npos);
  EXPECT_NE(error({head_line(), "{\"recrod\":{}}", record}).find("/recrod"), std::string::npos);
  EXPECT_NE(error({head_line(), "{\"record\":{}}", record}).find("j line 2"), std::string::npos);
  EXPECT_NE(error({head_line(), "[]", record}).find("j line 2"), std::string::npos);
  EXPECT_NE(error({head_line(), "{}", record}).find("either"), std::string::npos);
  EXPECT_NE(error({head_line(), "{\"asked\":{\"place\":0}}", record}).find("/asked/place"),
            std::string::npos);
  EXPECT_NE(error({record, record}).find("j line 1"), std::string::npos) << "no head";
  EXPECT_NE(error({"{\"journal\":2,\"environment\":{},\"config\":{}}"}).find("/journal"),
            std::string::npos);
  EXPECT_NE(error({"{\"journal\":1,\"environment\":{},\"config\":1}"}).find("/config"),
            std::string::npos);
}

TEST(Journal, HoldsOthersOut) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json.journal");
  EXPECT_FALSE(journal_is_held(path));
  {
    Journal journal = Journal::open(path);
    EXPECT_TRUE(journal_is_held(path));
    EXPECT_NE(error_of([&] { Journal::open(path); }).find("another run"), std::string::npos);
    EXPECT_EQ(journal.append("{}", true), 0);
  }
  EXPECT_FALSE(journal_is_held(path));
  EXPECT_FALSE(Journal::open(path).empty());
  Journal::open(path).remove();
  EXPECT_FALSE(std::filesystem::exists(path));
  { const Journal nothing = Journal::open(path); }
  EXPECT_FALSE(std::filesystem::exists(path)) << "it holds nothing";
}

// Torn and gone on with: what was whole is kept, and what comes then is read.
TEST(Journal, IsGoneOnWithWhereverItIsTorn) {
  const TemporaryFolder folder{memory_folder()};
  const std::string path = folder.file("r.json"), journal = journal_path(path);
  { RecordFile::create(path, environment(), config()); }
  const std::string results = read_text_file(path);
  const std::string text =
      text_of({head_line(), record_line(1), journal_starting(started(2)), record_line(2)});
  // Each is written to the disk several times, so only round the ends of lines at every byte.
  const auto next = [&](std::size_t cut) {
    const auto end = std::min(text.find('\n', cut < 3 ? 0 : cut - 3), text.size());
    return cut < 3 || end <= cut + 3 ? cut + 1 : std::min(cut + 97, end - 3);
  };
  for (std::size_t cut = 0; cut <= text.size(); cut = next(cut)) {
    std::ofstream(path, std::ios::binary) << results;
    std::ofstream(journal, std::ios::binary) << text.substr(0, cut);
    const std::size_t kept = read_results(path).records.size();
    const auto lines = std::count(text.begin(), text.begin() + cut, '\n');
    ASSERT_EQ(kept, lines >= 4 ? 2u : lines >= 2 ? 1u : 0u) << cut;
    Results content;
    RecordFile::resume(path, content).append(sample_record(9));
    const Results mended = read_results(path);
    ASSERT_EQ(mended.unfinished->fault, "") << cut;
    ASSERT_EQ(mended.records.size(), kept + 1) << cut;
    ASSERT_EQ(mended.records.back().problem.seed, 9u) << cut;
  }
}

TEST(Journal, IsToldOfInWordsForPeople) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  const auto catalog = toy::catalog();
  {
    RecordFile file = RecordFile::create(path, environment(), config());
    file.append(sample_record(1));
    const Candidate candidate{
        catalog.find_variant("toy", "fast", BackendId::host, Direction::forward),
        toy::problem(),
        {}};
    file.starting(candidate, "measure", "worker 1");
    const std::string now = describe(*read_results(path).unfinished, path);
    EXPECT_NE(now.find("a run is writing to it right now"), std::string::npos) << now;
    EXPECT_NE(now.find("under way: measure fast [host]"), std::string::npos) << now;
  }
  const std::string then = describe(*read_results(path).unfinished, path);
  EXPECT_NE(then.find("has not come to its end"), std::string::npos) << then;
  EXPECT_NE(then.find("under way when it ended: measure fast [host]"), std::string::npos) << then;
  EXPECT_NE(then.find("by worker 1"), std::string::npos) << then;
}

}  // namespace
}  // namespace gla_bench
