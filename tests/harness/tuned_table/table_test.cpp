// Tables of results files: building, merging, and the file.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/tuned_table/build.hpp"
#include "harness/tuned_table/table_file.hpp"
#include "tests/harness/tuned_table/records.hpp"
#include "tests/support/sample_record.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

TunedTable table_of(const std::vector<Results>& files) {
  return build_table(files);
}

Results two_buckets(const std::string& started = "2026-11-21T10:00:00Z") {
  return results_of({timed_record(problem_at(4096), "chunk_fused", {{"chunk", 64}}, 1.0),
                     timed_record(problem_at(4096), "recurrent", {}, 2.0),
                     failed_record(problem_at(1024), "recurrent", {}),
                     timed_record(problem_at(1024), "chunk_fused", {{"chunk", 32}}, 0.5)},
                    started);
}

std::string unchanged(const Bucket&, const TunedChoice& choice) {
  return "hash of " + choice.variant;
}

TEST(TunedTable, HasAnEntryABucket) {
  const TunedTable table = table_of({two_buckets()});
  ASSERT_EQ(table.entries.size(), 2u);
  EXPECT_EQ(table.device, "NVIDIA H200");
  EXPECT_EQ(table.backend, "cuda");
  EXPECT_EQ(table.entries[0].bucket.shape.seq, 1024);
  EXPECT_EQ(table.entries[0].failed, 1u);
  EXPECT_EQ(table.entries[1].winner.variant, "chunk_fused");
  EXPECT_EQ(table.entries[1].measured, "2026-11-21T10:00:00Z");
  EXPECT_EQ(table.entries[1].sources, std::vector<std::string>{"records.json"});
  ASSERT_EQ(table.environments.size(), 1u);
  EXPECT_EQ(fact_text(table.environments[0], "driver"), "580");
  EXPECT_FALSE(table.environments[0].contains("command_line"));
}

TEST(TunedTable, WhatIsMeasuredMakesNoOtherPlace) {
  const Facts facts = comparable_facts({{"driver", std::string("580")}, {"least_call_us", 2.4}});
  EXPECT_TRUE(facts.contains("driver"));
  EXPECT_FALSE(facts.contains("least_call_us"));
}

TEST(TunedTable, OfTwoFilesTheNewerRowCounts) {
  const Results older = results_of(
      {timed_record(problem_at(4096), "a", {}, 1.0), timed_record(problem_at(4096), "b", {}, 1.5)},
      "2026-11-20T10:00:00Z", "older.json");
  const Results newer = results_of({timed_record(problem_at(4096), "a", {}, 2.0)},
                                   "2026-11-21T10:00:00Z", "newer.json");
  for (const auto& files : {std::vector{older, newer}, std::vector{newer, older}}) {
    const TunedTable table = table_of(files);
    ASSERT_EQ(table.entries.size(), 1u);
    EXPECT_EQ(table.entries[0].winner.variant, "b");
    EXPECT_EQ(table.entries[0].measured, "2026-11-21T10:00:00Z");
    EXPECT_EQ(table.entries[0].sources.size(), 2u);
  }
}

TEST(TunedTable, RowsOfSourcesThatAreGoneDoNotCount) {
  const Results older = results_of({timed_record(problem_at(4096), "a", {{"chunk", 32}}, 0.5),
                                    timed_record(problem_at(4096), "b", {}, 1.0)},
                                   "2026-11-20T10:00:00Z");
  Results newer = results_of({timed_record(problem_at(4096), "a", {{"chunk", 64}}, 2.0)});
  newer.records[0].source_hash = "another";
  const TunedTable table = table_of({older, newer});
  ASSERT_EQ(table.entries.size(), 1u);
  EXPECT_EQ(table.entries[0].winner.variant, "b");
  EXPECT_EQ(table.entries[0].candidates, 2u);
}

TEST(TunedTable, OneDeviceATable) {
  Results other = two_buckets();
  other.file = "other.json";
  other.environment["device"] = std::string("NVIDIA B200");
  const std::string error = error_of([&] { table_of({two_buckets(), other}); });
  EXPECT_NE(error.find("other.json: cannot be in one table with records.json: device: NVIDIA H200"),
            std::string::npos)
      << error;
  EXPECT_TRUE(table_of({}).entries.empty());
}

TEST(TunedTable, ComesBackFromItsFile) {
  const TemporaryFolder folder;
  const std::string path = folder.file("new/folder/t.json");
  Results results = two_buckets();
  results.records[1].timing->throttled = true;
  results.records.push_back(timed_record(problem_at(4096), "b", {{"x", 1}, {"y", 2}}, 1.001));
  const TunedTable table = table_of({results});
  write_table(table, path);
  const TunedTable back = load_table(path);
  EXPECT_EQ(table_to_json(back), table_to_json(table));
  EXPECT_EQ(back.path, path);
  EXPECT_EQ(back.entries[1].ties.size(), 1u);
  EXPECT_EQ(back.entries[1].throttled, 1u);
  std::ifstream file(path);
  std::string line;
  std::size_t entries = 0;
  while (std::getline(file, line)) entries += line.starts_with("  {\"bucket\":") ? 1 : 0;
  EXPECT_EQ(entries, 2u);  // one a line
}

TEST(TunedTable, AFileThatIsNoneIsRefusedWithItsPlace) {
  const Json good = table_to_json(table_of({two_buckets()}));
  const auto error = [&](const std::function<void(Json&)>& change) {
    Json bad = good;
    change(bad);
    return error_of([&] { read_table(JsonNode(bad, "t.json")); });
  };
  EXPECT_EQ(error([](Json&) {}), "no error");
  EXPECT_NE(error([](Json& j) { j["tuned_version"] = 2; }).find("t.json: /tuned_version: found 2"),
            std::string::npos);
  EXPECT_NE(error([](Json& j) {
              j["entries"][1]["bucket"] = j["entries"][0]["bucket"];
            }).find("/entries/1/bucket: "),
            std::string::npos);
  EXPECT_NE(error([](Json& j) {
              j["entries"][0]["environment"] = 1;
            }).find("/entries/0/environment: found 1"),
            std::string::npos);
  EXPECT_NE(error([](Json& j) {
              j["entries"][0]["winner"]["tile"]["chunk"] = "64";
            }).find("/entries/0/winner/tile/chunk: "),
            std::string::npos);
  EXPECT_NE(error([](Json& j) { j["entries"][0]["speed"] = 1; }).find("speed"), std::string::npos);
  EXPECT_NE(error([](Json& j) { j["entries"][0].erase("regret"); }).find("regret"),
            std::string::npos);
}

TEST(TunedTable, WhereItCanNotBeWrittenTheOldOneStays) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("file")) << "x";
  EXPECT_THROW(write_table(table_of({two_buckets()}), folder.file("file/t.json")), OutputError);
}

TEST(TunedTable, IsLookedForByTheDevicesName) {
  EXPECT_EQ(table_name("NVIDIA H200"), "nvidia-h200.json");
  EXPECT_EQ(table_name("AMD EPYC 9654 (96 cores)"), "amd-epyc-9654-96-cores.json");
  EXPECT_EQ(table_name(""), "unknown.json");
}

TEST(TunedMerge, NewerMeasurementsReplaceAndOthersStay) {
  TunedTable table;
  MergeCounts counts = merge_tables(table, table_of({two_buckets()}), unchanged);
  EXPECT_EQ(counts.added, 2u);
  EXPECT_EQ(table.device, "NVIDIA H200");
  const Results newer = results_of({timed_record(problem_at(4096), "recurrent", {}, 0.5)},
                                   "2026-11-22T10:00:00Z", "newer.json");
  counts = merge_tables(table, table_of({newer}), unchanged);
  EXPECT_EQ(counts.replaced, 1u);
  ASSERT_EQ(table.entries.size(), 2u);
  EXPECT_EQ(table.entries[0].winner.variant, "chunk_fused");
  EXPECT_EQ(table.entries[1].winner.variant, "recurrent");
  const Results older = results_of({timed_record(problem_at(4096), "older", {}, 0.1)},
                                   "2026-11-01T10:00:00Z", "older.json");
  counts = merge_tables(table, table_of({older}), unchanged);
  EXPECT_EQ(counts.kept, 1u);
  EXPECT_EQ(table.entries[1].winner.variant, "recurrent");
}

TEST(TunedMerge, EntriesThatLostTheirSourcesAreDroppedOrLabelled) {
  TunedTable table;
  const auto now = [](const Bucket& bucket, const TunedChoice&) {
    return std::string(bucket.shape.seq == 1024 ? "" : "another hash");
  };
  const MergeCounts counts = merge_tables(table, table_of({two_buckets()}), now);
  EXPECT_EQ(counts.dropped, 1u);
  EXPECT_EQ(counts.stale, 1u);
  ASSERT_EQ(table.entries.size(), 1u);
  EXPECT_TRUE(table.entries[0].stale);
}

TEST(TunedMerge, EnvironmentsAreKeptOnceEach) {
  TunedTable table;
  merge_tables(table, table_of({two_buckets()}), unchanged);
  Results other = results_of({timed_record(problem_at(65536), "recurrent", {}, 1)});
  other.environment["driver"] = std::string("581");
  const TunedTable fresh = table_of({other});
  const auto labels = differing_environments(table, fresh, {});
  ASSERT_EQ(labels.size(), 1u);
  EXPECT_TRUE(labels[0].starts_with("driver: 580 before, 581 now")) << labels[0];
  merge_tables(table, fresh, unchanged);
  ASSERT_EQ(table.environments.size(), 2u);
  EXPECT_EQ(fact_text(table.environments[table.entries[2].environment], "driver"), "581");
  EXPECT_EQ(fact_text(table.environments[table.entries[0].environment], "driver"), "580");
  merge_tables(table, fresh, unchanged);
  EXPECT_EQ(table.environments.size(), 2u);
}

TEST(TunedMerge, AnotherPlaceIsRefusedUnlessAllowed) {
  TunedTable table;
  merge_tables(table, table_of({two_buckets()}), unchanged);
  table.path = "t.json";
  Results other = two_buckets();
  other.environment["multiprocessors"] = 66.0;
  const TunedTable fresh = table_of({other});
  const std::string error = error_of([&] { differing_environments(table, fresh, {}); });
  EXPECT_NE(error.find("t.json: holds entries of another place: multiprocessors: 132 before, 66"),
            std::string::npos)
      << error;
  EXPECT_EQ(differing_environments(table, fresh, {"multiprocessors"}).size(), 1u);
  other.environment["device"] = std::string("NVIDIA B200");
  EXPECT_THROW(merge_tables(table, table_of({other}), unchanged), InputError);
}

TEST(TunedReport, HasALineAnEntry) {
  const std::string text = table_report(table_of({two_buckets()}), true);
  EXPECT_NE(
      text.find("| gla forward bfloat16 | T~4096 BH~128 K=128 V=128 | chunk_fused chunk=64 |"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("+100.00 %"), std::string::npos) << text;
  EXPECT_NE(text.find("by only, 1 failed"), std::string::npos) << text;
}

TEST(TunedReport, SaysWhereTheRunnerUpSharesNoProblemWithTheWinner) {
  const Results apart = results_of({timed_record(problem_at(4096), "chunk_fused", {}, 1.0),
                                    timed_record(problem_at(4100), "recurrent", {}, 2.0)});
  const TunedTable table = table_of({apart});
  ASSERT_EQ(table.entries.size(), 1u);
  const std::string text = table_report(table, true);
  EXPECT_NE(text.find("| not timed beside it |"), std::string::npos) << text;
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
}

}  // namespace
}  // namespace gla_bench
