// The variant `auto`: in configs, in what is planned, in the gate, and through the program itself.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/engine/assignment.hpp"
#include "harness/judge/gate.hpp"
#include "harness/tuned_table/build.hpp"
#include "harness/tuned_table/choose.hpp"
#include "harness/tuned_table/table_file.hpp"
#include "tests/harness/tuned_table/records.hpp"
#include "tests/support/places.hpp"
#include "tests/support/sample_record.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/toy.hpp"

namespace gla_bench {
namespace {

Json toy_config(const std::string& variants) {
  return parse_json(R"({"sweeps": [{"operator": "toy", "dtypes": ["float32"],
        "shapes": [[1, 8, 2, 4, 4], [1, 512, 2, 4, 4]], "variants": )" +
                        variants + "}]}",
                    "c.json");
}

Config read_toy(const std::string& variants) {
  const Json document = toy_config(variants);
  return read_config(JsonNode(document, "c.json"), toy::catalog(), "");
}

Place toy_place(BackendId backend = BackendId::cuda) {
  Place place;
  place.backend = backend;
  place.source_hash = [](const Variant& variant) { return "hash of " + variant.name; };
  return place;
}

TunedTable table_for(std::int64_t seq, const std::string& variant, const Tile& tile) {
  Problem problem = toy::problem();
  problem.shape.seq = seq;
  const std::vector<Results> files{results_of({timed_record(problem, variant, tile, 1)})};
  TunedTable table = build_table(files);
  table.path = "t.json";
  return table;
}

Chooser chooser_by(const TunedTable& table) {
  return {toy::catalog(),         BackendId::cuda, table, table.environments.at(0), {},
          toy_place().source_hash};
}

TEST(AutoConfig, NamesItBesideOthersButNotAmongAll) {
  EXPECT_EQ(read_toy(R"(["auto"])").sweeps[0].variants, std::vector<std::string>{"auto"});
  EXPECT_FALSE(read_toy(R"(["auto"])").sweeps[0].refusals_allowed);
  const auto all = read_toy(R"("all")").sweeps[0].variants;
  EXPECT_EQ(std::count(all.begin(), all.end(), "auto"), 0);
  EXPECT_NE(error_of([] { read_toy(R"(["atuo"])"); }).find("auto"), std::string::npos);
}

TEST(AutoConfig, TheTablesPathIsTakenFromTheConfigsFolderAndEchoed) {
  Json document = toy_config(R"(["auto"])");
  document["tuned"] = "tables/t.json";
  const Config config = read_config(JsonNode(document, "c.json"), toy::catalog(), "/somewhere");
  EXPECT_EQ(config.tuned, "/somewhere/tables/t.json");
  EXPECT_EQ(config_to_json(config)["tuned"], "/somewhere/tables/t.json");
  EXPECT_FALSE(config_to_json(read_toy(R"(["auto"])")).contains("tuned"));
}

TEST(AutoPlan, BecomesTheTablesChoice) {
  const TunedTable table = table_for(512, "fast", {{"chunk", 32}, {"warps", 2}});
  const Chooser chooser = chooser_by(table);
  const auto work = assignments(read_toy(R"(["auto"])"), toy::catalog(), toy_place(), &chooser);
  ASSERT_EQ(work.size(), 2u);
  for (const Assignment& point : work) {
    ASSERT_EQ(point.accepted.size(), 1u);
    EXPECT_EQ(describe(point.accepted[0].tile), "chunk=32,warps=2");
    EXPECT_TRUE(point.refused.empty());
  }
  Record record = new_record(*work[1].op, work[1].accepted[0], toy_place());
  note_choice(work, record);
  ASSERT_TRUE(record.chosen_by);
  EXPECT_EQ(record.chosen_by->how, "bucket");
  EXPECT_EQ(record.chosen_by->table, "t.json");
  record = new_record(*work[0].op, work[0].accepted[0], toy_place());
  note_choice(work, record);
  EXPECT_EQ(record.chosen_by->how, "nearest");
  EXPECT_EQ(record.chosen_by->distance, 6.0);
  record.tile["chunk"] = 16;
  record.chosen_by.reset();
  note_choice(work, record);
  EXPECT_FALSE(record.chosen_by);
}

TEST(AutoPlan, IsOneCandidateWithTheSameOneNamed) {
  const TunedTable table = table_for(512, "slow", {});
  const Chooser chooser = chooser_by(table);
  for (const char* variants : {R"(["auto", "slow"])", R"(["slow", "auto"])"}) {
    const auto work = assignments(read_toy(variants), toy::catalog(), toy_place(), &chooser);
    ASSERT_EQ(work[0].accepted.size(), 1u);
    EXPECT_EQ(work[0].chosen.size(), 1u);
  }
}

TEST(AutoPlan, WithoutATableIsADefaultThatSaysSo) {
  const auto work = assignments(read_toy(R"(["auto"])"), toy::catalog(), toy_place());
  ASSERT_EQ(work[0].accepted.size(), 1u);
  EXPECT_EQ(work[0].accepted[0].variant->name, "device_only");
  EXPECT_EQ(work[0].chosen.begin()->second.how, "default");
  EXPECT_EQ(work[0].chosen.begin()->second.note, "no table was given");
}

TEST(AutoPlan, WhatDoesNotFitIsPassedOverAndTold) {
  const TunedTable table = table_for(512, "fast", {{"chunk", 32}, {"warps", 2}});
  const Chooser chooser = chooser_by(table);
  Place small = toy_place();
  small.limits.memory_bytes = 1;
  const auto work = assignments(read_toy(R"(["auto"])"), toy::catalog(), small, &chooser);
  EXPECT_TRUE(work[0].accepted.empty());
  ASSERT_EQ(work[0].refused.size(), 1u);
  const Record& refused = work[0].refused[0];
  EXPECT_EQ(refused.variant, "auto");
  EXPECT_NE(refused.reason.find("does not fit"), std::string::npos) << refused.reason;
  EXPECT_NE(refused.reason.find("no variant takes the problem"), std::string::npos);
}

Results gated(std::vector<Record> records) {
  Results results = results_of(std::move(records));
  results.config = std::make_shared<const Json>(parse_json(
      R"({"sweeps": [{"operator": "toy", "dtypes": ["float32"], "shapes": [[1, 8, 2, 4, 4]],
          "variants": ["auto"]}]})",
      "c"));
  return results;
}

std::size_t missing_requests(const Results& results) {
  const GatePolicy policy{toy::catalog(), default_tolerance(), false, toy_place().source_hash};
  std::size_t count = 0;
  for (const Verdict& verdict : gate(std::span(&results, 1), policy))
    for (const std::string& failure : verdict.failures)
      count += failure.starts_with("requested") ? 1 : 0;
  return count;
}

TEST(AutoGate, AsksForARecordThatWasChosen) {
  Record record = timed_record(toy::problem(), "slow", {}, 1);
  EXPECT_EQ(missing_requests(gated({record})), 1u);
  record.chosen_by = ChosenBy{"bucket", "t.json", "T~8", 0, ""};
  EXPECT_EQ(missing_requests(gated({record})), 0u);
  record.verification->ok = false;
  EXPECT_EQ(missing_requests(gated({record})), 1u);
}

class AutoCommand : public testing::Test {
 protected:
  int run(const std::string& arguments) {
    const std::string log = folder_.file("log");
    const int status = std::system((std::string("cd ") + folder_.path().string() + " && " +
                                    places::program + " " + arguments + " > " + log + " 2>&1")
                                       .c_str());
    std::ifstream file(log);
    printed_.assign(std::istreambuf_iterator<char>(file), {});
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  void write_config(const std::string& name, const Json& variants, std::vector<int> seqs) {
    Json shapes = Json::array();
    for (const int seq : seqs) shapes.push_back({1, seq, 2, 16, 16});
    const Json sweep{{"operator", "gla"},
                     {"variants", variants},
                     {"dtypes", {"float32"}},
                     {"shapes", shapes},
                     {"max_tiles", 1}};
    const Json timing{{"warmup", 0}, {"min_samples", 5}, {"max_samples", 5}, {"min_seconds", 0}};
    std::ofstream(folder_.file(name))
        << Json{{"backend", "host"}, {"sweeps", {sweep}}, {"policy", {{"timing", timing}}}}.dump();
  }

  void expect_printed(const std::string& part) const {
    EXPECT_NE(printed_.find(part), std::string::npos) << printed_;
  }

  TemporaryFolder folder_;
  std::string printed_;
};

TEST_F(AutoCommand, TuneFromRecordsThenRunByTheTable) {
  write_config("tuned.json", {"recurrent", "chunk_fused"}, {64});
  write_config("auto.json", {"auto"}, {60, 256});
  ASSERT_EQ(run("run tuned.json -q --threads 1 -o first.json"), 0) << printed_;
  ASSERT_EQ(run("tune --from first.json -o t.json --export-header tuned.hpp"), 0) << printed_;
  expect_printed("t.json: 1 entries (1 added, 0 replaced)");
  expect_printed("tuned.hpp: a C++ header of 1 entries");
  ASSERT_EQ(run("plan auto.json --tuned t.json --threads 1"), 0) << printed_;
  expect_printed("bucket: T~64 BH~2 K=16 V=16");
  ASSERT_EQ(run("run auto.json -q --threads 1 --tuned t.json -o second.json"), 0) << printed_;
  const Results second = read_results(folder_.file("second.json"));
  ASSERT_EQ(second.records.size(), 2u);
  const TunedTable table = load_table(folder_.file("t.json"));
  for (const Record& record : second.records) {
    EXPECT_EQ(record.variant, table.entries[0].winner.variant);
    ASSERT_TRUE(record.chosen_by);
    EXPECT_EQ(record.chosen_by->how, record.problem.shape.seq == 60 ? "bucket" : "nearest");
    EXPECT_EQ(record.chosen_by->table, "t.json");
  }
  EXPECT_EQ(run("gate second.json"), 0) << printed_;
  // The same row alone: what it was chosen from cannot be judged by it, but has no regret.
  EXPECT_EQ(run("tune --tuned t.json --evaluate second.json --most-worst 0"), 0) << printed_;
  expect_printed("2 problems that were not tuned: median regret 0 %, worst 0 %");
  EXPECT_EQ(run("tune --tuned t.json --evaluate first.json --most-worst 0"), 1) << printed_;
  expect_printed("0 problems that were not tuned");
}

// The table of a search is found again from any folder, and nothing is left in the current one.
TEST_F(AutoCommand, TheUsersTableServesEveryFolder) {
  ::setenv("XDG_DATA_HOME", folder_.file("data").c_str(), 1);
  write_config("named.json", {"recurrent"}, {16});
  write_config("auto.json", {"auto"}, {16});
  ASSERT_EQ(run("run named.json -q --threads 1 -o first.json"), 0) << printed_;
  ASSERT_EQ(run("tune --from first.json"), 0) << printed_;
  const auto tables = std::filesystem::directory_iterator(folder_.file("data/gla-bench/tuned"));
  const std::string table = std::filesystem::begin(tables)->path().string();
  expect_printed(table);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("results")));
  EXPECT_EQ(run("plan auto.json --threads 1"), 0) << printed_;
  expect_printed("auto goes by " + table);
  EXPECT_EQ(run("plan ../" + folder_.path().filename().string() + "/auto.json --threads 1"), 0)
      << printed_;
  expect_printed("auto goes by " + table);
  ::setenv("XDG_DATA_HOME", folder_.file("elsewhere").c_str(), 1);
  EXPECT_EQ(run("plan auto.json --threads 1"), 0) << printed_;
  expect_printed("warning: auto goes by defaults: there is no tuned table ");
  ::unsetenv("XDG_DATA_HOME");
}

TEST_F(AutoCommand, SaysWhatItCanNotUse) {
  write_config("auto.json", {"auto"}, {16});
  write_config("named.json", {"recurrent"}, {16});
  EXPECT_EQ(run("plan auto.json --tuned no.json"), 2);
  expect_printed("no.json");
  EXPECT_EQ(run("plan auto.json"), 0) << printed_;
  expect_printed("warning: auto goes by defaults: there is no tuned table ");
  expect_printed("default");
  EXPECT_EQ(run("plan named.json --tuned no.json"), 0) << printed_;
  expect_printed("no sweep asks for the variant auto");
  ASSERT_EQ(run("run named.json -q --threads 1 -o first.json"), 0) << printed_;
  ASSERT_EQ(run("tune --from first.json -o t.json"), 0) << printed_;
  Json table = read_json_file(folder_.file("t.json"));
  table["environments"][0]["threads"] = 4096;
  std::ofstream(folder_.file("t.json")) << table.dump();
  EXPECT_EQ(run("run auto.json -q --threads 1 --tuned t.json -o threads.json"), 0) << printed_;
  expect_printed("tuned in another environment: threads: 4096 before, 1 now");
  table["environments"][0]["cores"] = 4096;
  std::ofstream(folder_.file("t.json")) << table.dump();
  EXPECT_EQ(run("run auto.json -q --threads 1 --tuned t.json -o second.json"), 2);
  expect_printed("and not for where this runs: cores: 4096 before, ");
  expect_printed("`gla-bench tune` makes a table for here, and --allow cores takes this one");
  EXPECT_EQ(run("run auto.json -q --threads 1 --tuned t.json --allow cores -o second.json"), 0)
      << printed_;
  EXPECT_EQ(run("tune --export-header x.hpp"), 2);
  expect_printed("--tuned TABLE");
}

}  // namespace
}  // namespace gla_bench
