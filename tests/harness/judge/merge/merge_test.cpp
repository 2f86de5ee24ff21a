#include "harness/judge/merge/merge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/judge/merge/lacking.hpp"
#include "tests/support/sample_record.hpp"

namespace gla_bench {
namespace {

/// A row of the problem at a place: its seed is the place.
Record row(int place, int chunk) {
  Record record = sample_record(place);
  record.tile = {{"chunk", chunk}};
  record.timing->cold.median_ms = place + chunk / 1000.0;
  return record;
}

AskedPoint point(int place) {
  return {
      place, sample_record(place).problem, {{"chunk_fused", {{{"chunk", 32}}, {{"chunk", 64}}}}}};
}

/// A complete shard of a config with five problems of two candidates each.
Results shard(const std::string& name, const std::vector<int>& places, const std::string& host) {
  Results results;
  results.file = "part-" + name.substr(0, 1) + ".json";
  results.environment = {{"device", "toy"},      {"backend", "host"},
                         {"host", host},         {"started", "2026-01-0" + name.substr(0, 1)},
                         {"git_commit", "abc"},  {"copy_gb_per_s", 100.0 + name[0]},
                         {"cores", 2.0},         {"shard", name},
                         {"shard_problems", 5.0}};
  results.config = std::make_shared<const Json>(
      parse_json(R"({"sweeps": [], "policy": {"timing": {"min_seconds": 1}}})", "config"));
  for (const int place : places) {
    results.asked.push_back(point(place));
    for (const int chunk : {32, 64}) results.records.push_back(row(place, chunk));
  }
  return results;
}

std::vector<Results> three() {
  return {shard("1/3", {2, 4}, "n1"), shard("2/3", {1}, "n2"), shard("3/3", {3, 5}, "n1")};
}

std::vector<ShardPart> parts_of(const std::vector<Results>& files) {
  std::vector<ShardPart> parts;
  for (const Results& file : files) parts.push_back(shard_part(file));
  return parts;
}

MergedFile merged(const std::vector<Results>& files) {
  return merge(parts_of(files));
}

std::string refusal(const std::vector<Results>& files) {
  return error_of([&] { merged(files); });
}

std::string missing(const std::vector<Results>& files) {
  return describe(merged(files).lacking, 10);
}

TEST(Merge, HasEachRowOnceInTheConfigsOrder) {
  const MergedFile file = merged(three());
  EXPECT_TRUE(file.lacking.empty()) << describe(file.lacking, 10);
  std::vector<std::string> expected;
  for (int place = 1; place <= 5; ++place)
    for (const int chunk : {32, 64}) expected.push_back(record_line(row(place, chunk)));
  EXPECT_EQ(file.lines, expected);
}

TEST(Merge, ItsHeadIsTheFirstShardsWithTheHighestCeilings) {
  const MergedFile file = merged(three());
  const Facts& facts = file.head.environment;
  EXPECT_EQ(fact_text(facts, "host"), "n1");
  EXPECT_EQ(fact_number(facts, "hosts"), 2);
  EXPECT_EQ(fact_number(facts, "candidates"), 10);
  EXPECT_EQ(fact_number(facts, "copy_gb_per_s"), 100.0 + '3');
  EXPECT_FALSE(facts.contains("shard"));
  EXPECT_FALSE(facts.contains("shard_problems"));
  EXPECT_TRUE(file.head.asked.empty());
  ASSERT_EQ(file.head.parts.size(), 3u);
  EXPECT_EQ(file.head.parts[1].host, "n2");
  EXPECT_EQ(file.head.parts[1].shard, "2/3");
  EXPECT_EQ(file.head.parts[1].records, 2);
}

TEST(Merge, TheOrderOfArrivalDoesNotMatter) {
  std::vector<Results> files = three();
  files.push_back(files[1]);  // given twice
  const auto text = [](const MergedFile& file) { return results_text(file.head, file.lines); };
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.file < b.file; });
  const std::string expected = text(merged(files));
  EXPECT_EQ(expected, text(merged(three())));
  do {
    EXPECT_EQ(text(merged(files)), expected);
  } while (std::next_permutation(files.begin(), files.end(),
                                 [](const auto& a, const auto& b) { return a.file < b.file; }));
}

TEST(Merge, AMissingShardIsNamed) {
  std::vector<Results> files = three();
  files.erase(files.begin());
  EXPECT_EQ(missing(files),
            "2 of 5 problems are in no file: numbers 2, 4; there is no file of shard 1 of 3\n");
  files.pop_back();
  EXPECT_EQ(
      missing(files),
      "4 of 5 problems are in no file: numbers 2 to 5; there is no file of shard 1, 3 of 3\n");
}

TEST(Merge, AMissingCandidateIsNamedWithItsShardAndHost) {
  std::vector<Results> files = three();
  files[1].records.erase(files[1].records.begin());
  EXPECT_EQ(missing(files),
            "shard 2/3 on n2 (part-2.json): 1 of 2 candidates are missing\n"
            "  chunk_fused [host] chunk=32 on " +
                describe(sample_record(1).problem) + "\n");
  files[1].environment["ended_by"] = std::string("SIGTERM");
  EXPECT_NE(missing(files).find("1 of 2 candidates are missing; ended by SIGTERM\n"),
            std::string::npos);
}

TEST(Merge, WhatHasNotComeToItsEndIsNotWhole) {
  std::vector<Results> files = three();
  files[2].unfinished = Unfinished{"part-3.json.journal", true, 0, {}, ""};
  EXPECT_NE(missing(files).find("shard 3/3 on n1 (part-3.json): 0 of 4 candidates are missing; a "
                                "run is writing to it right now"),
            std::string::npos)
      << missing(files);
  // What a killed run began after its file was last replaced.
  files[2].records.push_back(row(7, 64));
  EXPECT_EQ(refusal(files), "no error");
  files[2].unfinished->fault = "torn";
  EXPECT_EQ(refusal(files), "torn; it cannot be merged");
}

TEST(Merge, ShardsThatWereCutDifferentlyAreNamed) {
  std::vector<Results> files = three();
  files[2] = shard("3/3", {3}, "n1");
  EXPECT_EQ(missing(files),
            "1 of 5 problems are in no file: numbers 5; every shard has a file, so the shards were "
            "cut differently\n");
}

TEST(Merge, TheSameRowTwiceIsAnErrorUnlessIdentical) {
  std::vector<Results> files = three();
  files[2].asked.push_back(point(1));
  files[2].records.push_back(row(1, 32));
  EXPECT_EQ(refusal(files), "no error");
  files[2].records.back().timing->cold.median_ms = 7;
  EXPECT_EQ(refusal(files),
            "part-3.json: has a row that is different there: chunk_fused [host] "
            "chunk=32 on " +
                describe(sample_record(1).problem) + ", so it cannot be merged with part-2.json");
}

TEST(Merge, PartsOfDifferentRunsAreRefused) {
  const auto after = [](const std::function<void(Results&)>& change) {
    std::vector<Results> files = three();
    change(files[1]);
    return refusal(files);
  };
  const std::string end = ", so it cannot be merged with part-1.json";
  EXPECT_EQ(after([](Results& file) { file.environment["shard"] = std::string("2/4"); }),
            "part-2.json: is of shard 2/4, the other of shard 1/3" + end);
  EXPECT_EQ(after([](Results& file) { file.environment["shard_problems"] = 6.0; }),
            "part-2.json: is of a config with 6 problems, the other with 5" + end);
  EXPECT_EQ(
      after([](Results& file) {
        file.config = std::make_shared<const Json>(
            parse_json(R"({"sweeps": [], "policy": {"timing": {"min_seconds": 2}}})", "config"));
      }),
      "part-2.json: is of another config: /config/policy/timing/min_seconds: 2 here, 1 there" +
          end);
  EXPECT_EQ(after([](Results& file) { file.environment["cores"] = 4.0; }),
            "part-2.json: was made on another device: cores is 4 here and 2 there (another "
            "machine); --by-device writes one file each" +
                end);
  EXPECT_EQ(after([](Results& file) { file.records[0].source_hash = "x"; }),
            "part-2.json: chunk_fused of gla is of other sources there (0123456789abcdef) than "
            "here (x)" +
                end);
  EXPECT_EQ(after([](Results& file) {
              file.records[0].verifier_hash = "0123456789abcdee-fedcba9876543210";
            }),
            "part-2.json: was verified in another way (0123456789abcdee-fedcba9876543210 here, "
            "0123456789abcdef-fedcba9876543210 there)" +
                end);
}

TEST(Merge, WhatIsNoShardsFileIsRefused) {
  const auto after = [](const std::function<void(Results&)>& change) {
    Results file = shard("2/3", {1}, "n2");
    change(file);
    return error_of([&] { shard_part(file); });
  };
  EXPECT_EQ(after([](Results& file) { file.environment.erase("shard"); }),
            "part-2.json: /environment/shard: found nothing, expected the shard that the file is "
            "of, as `run --shard` writes it");
  EXPECT_EQ(after([](Results& file) { file.environment["shard"] = std::string("4/3"); }),
            "part-2.json: /environment/shard: found \"4/3\", expected the shard that the file is "
            "of, as `run --shard` writes it");
  for (const double wrong : {-1.0, 0.5, 1e300})
    EXPECT_NE(after([&](Results& file) {
                file.environment["shard_problems"] = wrong;
              }).find("part-2.json: /environment/shard_problems: found "),
              std::string::npos);
  EXPECT_EQ(after([](Results& file) { file.asked[0].place = 6; }),
            "part-2.json: /asked/0/place: found 6, expected at most shard_problems, which is 5");
  EXPECT_EQ(after([](Results& file) { file.records.push_back(row(3, 64)); }),
            "part-2.json: /records/2: found a row of " + describe(sample_record(3).problem) +
                ", expected one of the problems in /asked");
  const std::string strange = after([](Results& file) {
    file.records.push_back(row(1, 64));
    file.records.back().problem.options["state_layout"] = "value\x7f\nfirst";
  });
  EXPECT_NE(strange.find("state_layout=value??first"), std::string::npos) << strange;
  EXPECT_NE(strange.find("expected one of the problems in /asked"), std::string::npos) << strange;
}

TEST(Merge, EachKindOfDeviceMayHaveAFile) {
  std::vector<Results> files = three();
  for (Results file : three()) {
    file.file = "other-" + file.file;
    file.environment["device"] = std::string("other");
    files.push_back(std::move(file));
  }
  std::swap(files[1], files[4]);
  const auto groups = parts_by_device(parts_of(files));
  ASSERT_EQ(groups.size(), 2u);
  for (const auto& group : groups) {
    const MergedFile file = merge(group);
    EXPECT_TRUE(file.lacking.empty());
    EXPECT_EQ(file.lines.size(), 10u);
  }
}

TEST(Merge, IsOfUncommittedCodeWhereOnePartIs) {
  std::vector<Results> files = three();
  for (Results& file : files) file.environment["git_dirty"] = false;
  EXPECT_EQ(fact_text(merged(files).head.environment, "git_dirty"), "false");
  files.back().environment["git_dirty"] = true;
  EXPECT_EQ(fact_text(merged(files).head.environment, "git_dirty"), "true");
}

}  // namespace
}  // namespace gla_bench
