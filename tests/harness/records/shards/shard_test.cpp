#include "harness/records/shards/shard.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "harness/records/record_file.hpp"
#include "tests/support/sample_record.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

TEST(Shard, IsReadAsItIsWritten) {
  EXPECT_EQ(parse_shard("3/8"), (Shard{3, 8}));
  EXPECT_EQ(name(Shard{3, 8}), "3/8");
  EXPECT_EQ(parse_shard("1000000/1000000"), (Shard{1000000, 1000000}));
  for (const char* text : {"", "/", "3", "0/8", "9/8", "-1/8", "3/8/9", "3/ 8", "+3/8", "3/x",
                           "1/1000001", "1/99999999999999"})
    EXPECT_FALSE(parse_shard(text)) << text;
}

std::vector<AskedPoint> asked() {
  return {{3, sample_record(1).problem, {{"chunk_fused", {{{"chunk", 64}}, {{"chunk", 32}}}}}},
          {17, sample_record(2).problem, {}}};
}

TEST(Shard, AFileSaysWhatItIsToBringUntilItsEnd) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  {
    RecordFile file = RecordFile::create(path, environment(), config());
    file.ask(asked());
    EXPECT_EQ(read_results(path).asked, asked());
    file.append(sample_record(1));
  }  // it was killed
  Results results;
  {
    RecordFile file = RecordFile::resume(path, results);
    EXPECT_EQ(results.asked, asked());
    EXPECT_EQ(results.records.size(), 1u);
    file.append(sample_record(2));
    file.finish();
  }
  EXPECT_EQ(read_results(path).asked, asked());
  EXPECT_EQ(read_results(path).records.size(), 2u);
}

// Problems that are handed out one by one: the journal has them, and the file is not written anew.
TEST(Shard, AFileIsAskedForMoreByItsJournal) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  const AskedPoint third = asked()[0], last = asked()[1];
  AskedPoint between = third;
  between.place = 9;
  between.problem.seed = 77;
  const std::vector<AskedPoint> all{third, between, last};
  {
    RecordFile file = RecordFile::create(path, environment(), config());
    const auto size_of = [](const std::string& name) { return std::filesystem::file_size(name); };
    const auto results_bytes = size_of(path);
    for (const AskedPoint& point : {last, third, between}) file.ask_also({point});
    EXPECT_EQ(size_of(path), results_bytes);
    const auto journal_bytes = size_of(path + ".journal");
    file.ask_also({between});
    EXPECT_EQ(size_of(path + ".journal"), journal_bytes) << "it was asked for that already";
    EXPECT_EQ(read_results(path).asked, all);
    file.append(sample_record(1));
  }  // it was killed
  AskedPoint less = third;
  less.candidates.clear();
  Results results;
  {
    RecordFile file = RecordFile::resume(path, results);
    EXPECT_EQ(results.asked, all);
    file.ask_also({less});
    EXPECT_EQ(read_results(path).asked, (std::vector<AskedPoint>{less, between, last}));
    file.finish();
  }
  EXPECT_FALSE(std::filesystem::exists(path + ".journal"));
  EXPECT_EQ(read_results(path).asked, (std::vector<AskedPoint>{less, between, last}));
}

TEST(Shard, PointsAreAddedInTheOrderOfTheirPlaces) {
  const auto point = [](std::int64_t place) { return AskedPoint{place, {}, {}}; };
  std::vector<AskedPoint> list{point(5), point(2)};
  add_asked(list, {point(3), point(9), point(1), point(5)});
  std::vector<std::int64_t> places;
  for (const AskedPoint& one : list) places.push_back(one.place);
  EXPECT_EQ(places, (std::vector<std::int64_t>{1, 2, 3, 5, 9}));
}

TEST(Shard, AMergedFileKeepsItsPartsWhenItIsContinued) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  { RecordFile::create(path, environment(), config()).finish(); }
  Results results = read_results(path);
  results.parts = {{"1/2", "n1", "abc", "today", "", "", 3},
                   {"2/2", "n2", "abc", "today", "1", "u", 0}};
  Results before;
  {
    RecordFile file = RecordFile::resume(path, before);
    file.begin_anew(results);
    file.append(sample_record(1));
    file.finish();
  }
  const Results after = read_results(path);
  ASSERT_EQ(after.parts.size(), 2u);
  EXPECT_EQ(after.parts[0].host, "n1");
  EXPECT_EQ(after.parts[0].records, 3);
  EXPECT_EQ(after.parts[1].uuid, "u");
}

}  // namespace
}  // namespace gla_bench
