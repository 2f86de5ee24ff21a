#include "harness/report/maps/crossover.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <list>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "harness/report/maps/crossover_text.hpp"
#include "harness/support/table.hpp"

namespace gla_bench {
namespace {

struct Where {
  std::int64_t batch = 1, seq = 64, heads = 4;
};

/// Twenty samples that lie within half a percent of `ms`.
Record timed(const std::string& variant, double ms, Where where = {}) {
  Record record;
  record.problem.op = "gla";
  record.problem.dtype = DType::bfloat16;
  record.problem.shape = {where.batch, where.seq, where.heads, 128, 128};
  record.variant = variant;
  record.backend = BackendId::cuda;
  record.tile = {{"chunk", 64}};
  record.status = Status::measured;
  record.verification.emplace().ok = true;
  Timing& timing = record.timing.emplace();
  for (int i = 0; i < 20; ++i)
    timing.cold.samples_ms.push_back(ms * (1 + 0.0005 * ((i * 7) % 20 - 9.5)));
  timing.cold.median_ms = ms;
  return record;
}

Results results_named(std::vector<Record> records, const std::string& name = "r.json") {
  Results results;
  results.file = name;
  results.environment["device"] = std::string("toy");
  results.records = std::move(records);
  return results;
}

/// The one map, and the one problem of its one place. It points into the files, which are kept.
Contest point_of(const std::vector<Results>& temporary) {
  static std::list<std::vector<Results>> kept;
  const std::vector<Results>& files = kept.emplace_back(temporary);
  const auto maps = crossover_maps(files);
  EXPECT_EQ(maps.size(), 1u);
  EXPECT_EQ(maps.at(0).cells.size(), 1u);
  EXPECT_EQ(maps.at(0).cells.at(0).points.size(), 1u);
  return maps.at(0).cells.at(0).points.at(0);
}

std::string text_of(const std::vector<Results>& files, std::size_t width = 0,
                    bool markdown = false) {
  const ContestPolicy policy;
  return crossover_text(crossover_maps(files, policy), policy, {markdown, width});
}

/// The part of a text from the line that starts with a word.
std::string line_of(const std::string& text, const std::string& start) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (line.substr(std::min(line.find_first_not_of(' '), line.size())).starts_with(start))
      return line;
  return "";
}

TEST(Crossover, TheFastestTileOfEachVariantContends) {
  Record slower_tile = timed("fast", 0.3);
  slower_tile.tile["chunk"] = 32;
  const auto point =
      point_of({results_named({slower_tile, timed("slow", 0.4), timed("fast", 0.2)})});
  ASSERT_EQ(point.entrants.size(), 2u);
  EXPECT_EQ(point.winners(), std::vector<std::string>{"fast"});
  EXPECT_EQ(point.entrants[0].record->tile.at("chunk"), 64);
  const Entrant* next = point.runner_up();
  ASSERT_NE(next, nullptr);
  EXPECT_EQ(next->record->variant, "slow");
  EXPECT_NEAR(next->over_winner.ratio, 2, 0.01);
  EXPECT_LT(next->over_winner.low, 2);
  EXPECT_GT(next->over_winner.high, 2);
}

TEST(Crossover, TimesThatCanNotBeToldApartAreTies) {
  const auto point = point_of({results_named({timed("a", 1), timed("b", 1.005), timed("c", 1.2)})});
  EXPECT_EQ(point.winners(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(point.runner_up()->record->variant, "c");
  // Far enough for one run, and not for two.
  EXPECT_EQ(point_of({results_named({timed("a", 1), timed("b", 1.025)})}).winners().size(), 1u);
  EXPECT_EQ(
      point_of({results_named({timed("a", 1)}), results_named({timed("b", 1.025)}, "other.json")})
          .winners()
          .size(),
      2u);
}

TEST(Crossover, WhatCanNotBeEstimatedIsATieAndNoWin) {
  Record nan = timed("b", 1.5);
  nan.timing->cold.samples_ms[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(point_of({results_named({timed("a", 1), nan})}).winners().size(), 2u);
}

TEST(Crossover, WrongSuspectUnverifiedAndPeersTakeNoPart) {
  Record wrong = timed("wrong", 0.1);
  wrong.status = Status::wrong;
  wrong.verification->ok = false;
  Record unverified = timed("unverified", 0.1);
  unverified.verification.reset();
  Record suspect = timed("suspect", 0.1);
  suspect.timing->suspect = true;
  Record crashed = timed("crashed", 0.1);
  crashed.status = Status::crashed;
  Record peer = timed("peer", 0.1);
  peer.peer = true;
  Record untimed = timed("untimed", std::numeric_limits<double>::quiet_NaN());
  const auto point = point_of(
      {results_named({wrong, unverified, suspect, crashed, peer, untimed, timed("right", 0.4)})});
  ASSERT_EQ(point.entrants.size(), 1u);
  EXPECT_EQ(point.entrants[0].record->variant, "right");
  EXPECT_EQ(point.runner_up(), nullptr);
}

TEST(Crossover, APlaceWhereNothingIsRightIsNotAnEmptyOne) {
  Record wrong = timed("wrong", 0.1, {1, 64, 4});
  wrong.status = Status::wrong;
  Record refused = timed("refused", 0.1, {2, 64, 4});
  refused.status = Status::rejected;
  refused.timing.reset();
  const std::string text =
      text_of({results_named({wrong, refused, timed("right", 1, {1, 128, 8})})});
  EXPECT_NE(line_of(text, "4 ").find("none"), std::string::npos) << text;
  EXPECT_EQ(line_of(text, "8 ").find("none"), std::string::npos) << text;
  EXPECT_NE(line_of(text, "8 ").find("right"), std::string::npos) << text;
}

TEST(Crossover, AxesAreLengthAndBatchTimesHeads) {
  Record seed = timed("fast", 0.2, {2, 64, 2});
  seed.problem.seed = 2;
  const auto maps = crossover_maps(std::vector<Results>{
      results_named({timed("fast", 0.2, {2, 64, 2}), seed, timed("fast", 0.2, {1, 64, 4}),
                     timed("fast", 0.2, {1, 128, 8})})});
  ASSERT_EQ(maps.size(), 1u);
  EXPECT_EQ(maps[0].lengths, (std::vector<std::int64_t>{64, 128}));
  EXPECT_EQ(maps[0].widths, (std::vector<std::int64_t>{4, 8}));
  ASSERT_EQ(maps[0].cells.size(), 2u);
  EXPECT_EQ(maps[0].cells[0].points.size(), 3u);
}

TEST(Crossover, WhatIsNoAxisMakesAMapOfItsOwn) {
  std::vector<Record> records{timed("a", 1)};
  const auto another = [&](const std::function<void(Record&)>& change) {
    records.push_back(timed("a", 1));
    change(records.back());
  };
  another([](Record& r) { r.problem.dtype = DType::float32; });
  another([](Record& r) { r.problem.shape.key_dim = 64; });
  another([](Record& r) { r.problem.shape.value_dim = 64; });
  another([](Record& r) { r.problem.gate = "strong"; });
  another([](Record& r) { r.problem.layout = Layout::head_first; });
  another([](Record& r) { r.problem.direction = Direction::backward; });
  another([](Record& r) { r.problem.initial_state = true; });
  another([](Record& r) { r.problem.options["causal"] = "false"; });
  another([](Record& r) { r.problem.shape.key_heads = 2; });
  another([](Record& r) { r.problem.shape.key_seq = 512; });
  another([](Record& r) { r.problem.shape.sequences = 3; });
  another([](Record& r) { r.backend = BackendId::host; });
  Results other = results_named({timed("a", 1)}, "o.json");
  other.environment["device"] = std::string("another");
  const auto maps = crossover_maps(std::vector<Results>{results_named(records), other});
  EXPECT_EQ(maps.size(), records.size() + 1);
  std::set<std::string> headings;
  for (const CrossoverMap& map : maps) headings.insert(describe(map.subject));
  EXPECT_EQ(headings.size(), maps.size());
}

TEST(Crossover, KeysAndColumnsAreLengthsToo) {
  Record decoding = timed("a", 1);
  decoding.problem.shape = {2, 1, 32, 128, 128};
  decoding.problem.shape.key_seq = 4096;
  decoding.problem.shape.key_heads = 8;
  Record rows = timed("a", 1);
  rows.problem.op = "softmax";
  rows.problem.shape = {};
  rows.problem.shape.batch = 300;
  rows.problem.shape.columns = 1000;
  const auto maps = crossover_maps(std::vector<Results>{results_named({decoding, rows})});
  ASSERT_EQ(maps.size(), 2u);
  EXPECT_EQ(maps[0].length_axis + " " + std::to_string(maps[0].lengths[0]), "keys 4096");
  EXPECT_EQ(maps[0].widths[0], 64);
  EXPECT_EQ(maps[0].subject.common.shape.heads, 4);
  EXPECT_EQ(maps[1].length_axis + " " + std::to_string(maps[1].lengths[0]), "columns 1000");
  EXPECT_EQ(maps[1].widths[0], 300);
  EXPECT_EQ(describe(maps[1].subject).find("K="), std::string::npos);
}

std::vector<Results> trade_off() {
  return {results_named(
      {timed("recurrent", 1, {1, 64, 4}), timed("chunk_fused", 1.5, {1, 64, 4}),
       timed("recurrent", 4, {1, 256, 4}), timed("chunk_fused", 4.01, {1, 256, 4}),
       timed("recurrent", 16, {1, 1024, 4}), timed("chunk_fused", 8, {1, 1024, 4}),
       timed("recurrent", 64, {1, 4096, 4}), timed("chunk_fused", 32, {1, 4096, 4})})};
}

TEST(CrossoverText, NamesWinnerMarginAndTies) {
  const std::string row = line_of(text_of(trade_off()), "4 ");
  for (const char* part : {"recurrent (chunk_fused 1.50x)", "recurrent = chunk_fused",
                           "chunk_fused (recurrent 2.00x)"})
    EXPECT_NE(row.find(part), std::string::npos) << part << " in: " << row;
}

TEST(CrossoverText, SaysBetweenWhichLengthsTheWinnerChanges) {
  std::vector<Results> files = trade_off();
  EXPECT_EQ(text_of(files).find("up to"), std::string::npos) << "the tie is of both";
  std::erase_if(files[0].records,
                [](const Record& record) { return record.problem.shape.seq == 256; });
  EXPECT_NE(text_of(files).find("B*H 4: recurrent up to T 64, chunk_fused from 1024"),
            std::string::npos)
      << text_of(files);
}

TEST(CrossoverText, FitsTheWidthByInitialsAndThenByMoreTables) {
  for (const std::size_t width : {100u, 60u, 40u, 24u}) {
    std::istringstream lines(text_of(trade_off(), width));
    std::string all;
    for (std::string line; std::getline(lines, line); all += line + "\n")
      EXPECT_LE(display_width(line), width) << line;
    EXPECT_NE(all.find("CF (R 2.00x)"), std::string::npos) << all;
    EXPECT_NE(all.find("R = CF"), std::string::npos) << all;
    EXPECT_NE(all.find("CF: chunk_fused"), std::string::npos) << all;
    for (const char* length : {"64", "256", "1024", "4096"})
      EXPECT_NE(all.find(length), std::string::npos) << length << " in " << all;
  }
}

TEST(CrossoverText, ProblemsOfOnePlaceThatDifferAreBothTold) {
  const std::string text = text_of({results_named(
      {timed("a", 1, {1, 64, 4}), timed("b", 2, {1, 64, 4}), timed("a", 3, {2, 64, 2}),
       timed("b", 1, {2, 64, 2}), timed("a", 1, {4, 64, 1}), timed("b", 1.5, {4, 64, 1})})});
  EXPECT_NE(text.find("a (b 1.50x) / b (a 3.00x)"), std::string::npos) << text;
}

TEST(CrossoverText, MarkdownHasTheWholeNames) {
  const std::string text = text_of(trade_off(), 30, true);
  EXPECT_NE(text.find("### gla forward bfloat16 K=128 V=128"), std::string::npos) << text;
  EXPECT_NE(text.find("| chunk_fused (recurrent 2.00x) |"), std::string::npos) << text;
}

TEST(CrossoverText, InitialsDiffer) {
  const auto symbols =
      initials({"chunk_fused", "clever_form", "flash2", "flash2_deterministic", "decode"});
  EXPECT_EQ(symbols.at("chunk_fused"), "CF");
  EXPECT_EQ(symbols.at("clever_form"), "CF_2");
  EXPECT_EQ(symbols.at("flash2"), "F2");
  EXPECT_EQ(symbols.at("flash2_deterministic"), "F2D");
  EXPECT_EQ(symbols.at("decode"), "D");
}

TEST(CrossoverJson, HasEveryVariantsTimeAndInterval) {
  const ContestPolicy policy;
  const auto files = trade_off();
  const Json json = crossover_json(crossover_maps(files, policy), policy);
  const Json& map = json.at("maps").at(0);
  EXPECT_EQ(map.at("lengths"), Json({64, 256, 1024, 4096}));
  const Json& problem = map.at("cells").at(0).at("problems").at(0);
  EXPECT_EQ(problem.at("winners"), Json({"recurrent"}));
  EXPECT_EQ(problem.at("runner_up"), "chunk_fused");
  const Json& over = problem.at("contenders").at(1).at("over_winner");
  EXPECT_LT(over.at("low").get<double>(), 1.5);
  EXPECT_GT(over.at("high").get<double>(), 1.5);
  EXPECT_EQ(problem.at("contenders").at(1).at("file"), "r.json");
}

TEST(CrossoverText, NothingMeasuredIsSaid) {
  EXPECT_EQ(text_of({results_named({})}), "no measured records\n");
}

}  // namespace
}  // namespace gla_bench
