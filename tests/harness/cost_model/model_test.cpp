// What models learn, predict and keep.

#include "harness/cost_model/model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.hpp"
#include "harness/config/space/rare_tiles.hpp"
#include "harness/cost_model/learn.hpp"
#include "harness/cost_model/model_file.hpp"
#include "tests/harness/cost_model/times.hpp"
#include "tests/support/places.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench::cost_model {
namespace {

CostModel learnt(const Results& results = made_up_records()) {
  auto examples = examples_of(std::span(&results, 1));
  return learn(std::span(&results, 1), examples);
}

const CostModel& model() {
  static const CostModel one = learnt();
  return one;
}

TEST(Features, SayHowADeviceIsFilled) {
  const DeviceRates rates = device_rates(made_up_environment());
  const Variant& variant = *find_variant("gla", "chunk_sm90", BackendId::cuda);
  Tile tile;
  for (const TileAxis& axis : variant.space) tile[axis.name] = axis.values.front();
  const auto value = [&](const Problem& problem, const std::string& name) {
    for (const Feature& feature : features_of({&variant, problem, tile}, rates).list)
      if (feature.name == name) return feature.value;
    ADD_FAILURE() << name;
    return 0.0;
  };
  const Problem few = made_up_problem(1, 4096, 4), many = made_up_problem(8, 4096, 64);
  EXPECT_EQ(value(few, "log2 batch heads"), 2);
  EXPECT_EQ(value(few, "log2 seq"), 12);
  EXPECT_LT(value(few, "log2 waves"), 0);
  EXPECT_GT(value(many, "log2 waves"), 0);
  EXPECT_GT(value(few, "log2 loss"), 1);  // most of the device has nothing to do
  EXPECT_EQ(value(few, "tile segments"), tile.at("segments"));
  EXPECT_EQ(value(few, "log2 seq over tile segments"), 12 - std::log2(tile.at("segments")));
  EXPECT_EQ(value(few, "log2 columns over tile segments"), missing_feature);  // none of softmax
}

TEST(Features, BoundIsThatOfTheRates) {
  const Variant& variant = *find_variant("gla", "chunk_sm90", BackendId::cuda);
  const Problem problem = made_up_problem(8, 4096, 16);
  Tile tile;
  for (const TileAxis& axis : variant.space) tile[axis.name] = axis.values.front();
  const Candidate candidate{&variant, problem, tile};
  const Traffic traffic = variant.traffic(problem, tile);
  const double bytes = (traffic.read_bytes + traffic.write_bytes) / 4000e9;
  const double bound = features_of(candidate, device_rates(made_up_environment())).bound;
  EXPECT_GT(bound, bytes);
  EXPECT_LT(bound, bytes + 10e-6);
  const double slower = features_of(candidate, device_rates(made_up_environment(132, 400))).bound;
  EXPECT_GT(slower, 9 * bytes);
}

TEST(DeviceRates, AreRefusedWhereTheyAreNotKnown) {
  Facts facts = made_up_environment();
  facts.erase("copy_gb_per_s");
  try {
    device_rates(facts);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("copy_gb_per_s"), std::string::npos) << error.what();
  }
  EXPECT_EQ(device_rates(completed(facts, made_up_environment())).copy_bytes_per_second, 4000e9);
}

TEST(Model, PredictsShapesThatItHasNotSeen) {
  ASSERT_EQ(model().variants.size(), 2u);
  const VariantModel* sm90 = model().find("chunk_sm90", Direction::forward);
  ASSERT_NE(sm90, nullptr);
  EXPECT_GT(sm90->rows, 100u);
  EXPECT_EQ(sm90->problems, 48u);
  EXPECT_LT(sm90->error.median, 0.1);
  EXPECT_LT(model().find("chunk_fused", Direction::forward)->error.p90, 0.05);
  EXPECT_EQ(model().regret.problems, 48u);
  EXPECT_LT(model().regret.p90, 0.3);

  const DeviceRates rates = device_rates(made_up_environment());
  const Variant& variant = *find_variant("gla", "chunk_sm90", BackendId::cuda);
  for (const Problem& problem : {made_up_problem(3, 2000, 10), made_up_problem(5, 5000, 20)})
    for (const Tile& tile : sm90->tiles) {
      const Candidate candidate{&variant, problem, tile};
      const Prediction prediction = predict(&model(), candidate, rates);
      const double seconds = made_up_seconds(candidate, made_up_environment());
      EXPECT_TRUE(prediction.learnt);
      EXPECT_LT(std::abs(std::log2(prediction.seconds / seconds)), 0.6) << describe(candidate);
    }
}

TEST(Model, SaysWhichCandidatesAreAhead) {
  const DeviceRates rates = device_rates(made_up_environment());
  const Problem problem = made_up_problem(3, 2000, 10);
  std::vector<std::pair<double, double>> said;  // time and score
  for (const VariantModel& one : model().variants)
    for (const Tile& tile : one.tiles) {
      const Candidate candidate{find_variant("gla", one.variant, BackendId::cuda), problem, tile};
      const Prediction prediction = predict(&model(), candidate, rates);
      Prediction surer = prediction;
      surer.sigma /= 2;
      EXPECT_LT(surer.rank(), prediction.rank());
      surer.sigma = 0;
      EXPECT_DOUBLE_EQ(surer.rank(), prediction.seconds * std::exp2(-0.25 * prediction.score));
      said.push_back({made_up_seconds(candidate, made_up_environment()), prediction.score});
    }
  const auto highest = std::max_element(
      said.begin(), said.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  EXPECT_LT(highest->first / std::min_element(said.begin(), said.end())->first, 1.1);
  std::size_t right = 0, pairs = 0;
  for (const auto& [seconds, score] : said)
    for (const auto& [more_seconds, other_score] : said) {
      if (!(more_seconds > 1.2 * seconds)) continue;
      ++pairs;
      right += score > other_score ? 1 : 0;
    }
  EXPECT_GT(pairs, 50u);
  EXPECT_GT(right, pairs * 9 / 10);
}

TEST(Model, LearnsNothingOfChoicesFromProblemsWithOneCandidate) {
  Results results = made_up_records();
  std::set<Problem> seen;
  std::erase_if(results.records,
                [&](const Record& record) { return !seen.insert(record.problem).second; });
  const CostModel model = learnt(results);
  EXPECT_TRUE(model.order.features().empty());
  const TemporaryFolder folder;
  write_model(model, folder.file("m.json"));
  const CostModel again = load_model(folder.file("m.json"));
  const Variant& variant = *find_variant("gla", model.variants.front().variant, BackendId::cuda);
  const Candidate candidate{&variant, made_up_problem(3, 2000, 10),
                            *model.variants.front().tiles.begin()};
  Prediction prediction = predict(&again, candidate, device_rates(made_up_environment()));
  EXPECT_EQ(prediction.score, 0);
  prediction.sigma = 0;
  EXPECT_EQ(prediction.rank(), prediction.seconds);
}

TEST(Model, GoesOverToAnotherDevice) {
  const Facts other = made_up_environment(66, 1000);
  const Variant& variant = *find_variant("gla", "chunk_fused", BackendId::cuda);
  const Problem problem = made_up_problem(4, 3000, 12);
  const Tile tile = *model().find("chunk_fused", Direction::forward)->tiles.begin();
  const Candidate candidate{&variant, problem, tile};
  const double predicted = predict(&model(), candidate, device_rates(other)).seconds;
  EXPECT_NEAR(predicted / made_up_seconds(candidate, other), 1, 0.2);
}

TEST(Model, OfAnUnknownVariantOnlyTheBoundIsKnown) {
  const Variant& variant = *find_variant("gla", "recurrent", BackendId::cuda);
  Tile tile;
  for (const TileAxis& axis : variant.space) tile[axis.name] = axis.values.front();
  const Candidate candidate{&variant, made_up_problem(1, 512, 4), tile};
  const DeviceRates rates = device_rates(made_up_environment());
  const Prediction prediction = predict(&model(), candidate, rates);
  EXPECT_FALSE(prediction.learnt);
  EXPECT_DOUBLE_EQ(prediction.seconds, unknown_factor * features_of(candidate, rates).bound);
  EXPECT_GT(prediction.sigma, 1);
}

TEST(Model, LearnsFromRightTimesAlone) {
  Results results = made_up_records();
  const std::size_t before = examples_of(std::span(&results, 1)).size();
  results.records.push_back(results.records.front());  // the same candidate again: one example
  results.records.back().problem.seed = 2;
  Record wrong = results.records.front(), peer = wrong, suspect = wrong, gone = wrong;
  Record throttled = wrong;
  for (Record* record : {&wrong, &peer, &suspect, &throttled}) record->problem.shape.seq = 77;
  wrong.verification->ok = false;
  peer.peer = true;
  suspect.timing->suspect = true;
  gone.variant = "no such variant";
  throttled.timing->throttled = true;
  for (const Record& record : {wrong, peer, suspect, gone, throttled})
    results.records.push_back(record);
  EXPECT_EQ(examples_of(std::span(&results, 1)).size(), before);
}

TEST(Model, LeavesOutTimesOfKernelsThatMovedOtherBytes) {
  Results results = made_up_records();
  const std::size_t before = examples_of(std::span(&results, 1)).size();
  Record& record = results.records.front();
  const Variant& variant =
      *find_variant(record.problem.op, record.variant, record.backend, record.problem.direction);
  const Traffic now = variant.traffic(record.problem, record.tile);
  record.io.model_read_bytes = 1.04 * now.read_bytes;
  record.io.model_write_bytes = 1.04 * now.write_bytes;
  EXPECT_EQ(examples_of(std::span(&results, 1)).size(), before);
  record.io.model_read_bytes = 1.06 * now.read_bytes;
  record.io.model_write_bytes = 1.06 * now.write_bytes;
  EXPECT_EQ(examples_of(std::span(&results, 1)).size(), before - 1);
}

TEST(Model, LearnsOfVariantsThatOnlyAnotherDeviceHasTimesOf) {
  Facts other_device = made_up_environment(66, 1000);
  other_device["device"] = std::string("another");
  Results own = made_up_records(), other = made_up_records(other_device);
  std::erase_if(own.records, [](const Record& one) { return one.variant == "chunk_sm90"; });
  const std::vector<Results> both{own, other};
  auto examples = examples_of(both);
  EXPECT_EQ(examples.size(), own.records.size() + other.records.size())
      << "times of one candidate on two devices are two times";
  const CostModel together = learn(both, examples);
  EXPECT_EQ(together.device, learnt().device) << "of the first file";
  std::set<std::string> variants;
  for (const VariantModel& one : together.variants) variants.insert(one.variant);
  EXPECT_TRUE(variants.contains("chunk_sm90"));
  // What was learnt there holds here, where the times of the first device were never seen.
  const Results whole = made_up_records();
  double worst = 0;
  for (const Record& record : whole.records) {
    if (record.variant != "chunk_sm90") continue;
    const Candidate candidate{find_variant("gla", record.variant, BackendId::cuda), record.problem,
                              record.tile};
    const Prediction said = predict(&together, candidate, device_rates(own.environment));
    const double seconds = 1e-3 * record.timing->cold.median_ms;
    worst = std::max(worst, std::abs(std::log2(said.seconds / seconds)));
  }
  EXPECT_LT(worst, 1.0) << "within a factor of two";
}

TEST(Model, IsOfOneBackend) {
  const Results one = made_up_records();
  Results other = one;
  other.environment["backend"] = std::string("host");
  other.file = "other.json";
  const std::vector<Results> both{one, other};
  try {
    examples_of(both);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("other.json: is of the backend host"),
              std::string::npos)
        << error.what();
  }
}

TEST(ModelFile, IsReadAsItWasWritten) {
  const TemporaryFolder folder;
  const std::string path = folder.file("m.json");
  write_model(model(), path);
  const CostModel again = load_model(path);
  EXPECT_EQ(again.path, path);
  EXPECT_EQ(model_to_json(again), model_to_json(model()));
  EXPECT_FALSE(again.environment.contains("command_line"));
  const Variant& variant = *find_variant("gla", "chunk_sm90", BackendId::cuda);
  const DeviceRates rates = device_rates(made_up_environment());
  for (const Tile& tile : again.find("chunk_sm90", Direction::forward)->tiles) {
    const Candidate candidate{&variant, made_up_problem(3, 2000, 10), tile};
    const Prediction read = predict(&again, candidate, rates);
    const Prediction written = predict(&model(), candidate, rates);
    EXPECT_NEAR(read.seconds / written.seconds, 1, 1e-3);
    EXPECT_NEAR(read.score, written.score, 1e-3);
  }
}

TEST(ModelFile, TheHeadSaysWhichBackendItIsOf) {
  const TemporaryFolder folder;
  const std::string path = folder.file("m.json");
  const auto backend_of = [&](const std::string& text) {
    std::ofstream(path) << text;
    return backend_of_model(path);
  };
  write_model(model(), path);
  EXPECT_EQ(backend_of_model(path), BackendId::cuda);
  EXPECT_EQ(backend_of(R"({"device": "x", "backend": "host", "common": )"), BackendId::host);
  EXPECT_EQ(backend_of(R"({"environment": {"backend": "host"}, "backend": "cuda"})"),
            BackendId::cuda);
  for (const char* none : {R"({"environment": {"backend": "host"}})", R"(["backend", "host"])",
                           R"({"backend": "abacus"})", R"({"device": )", "backend", ""})
    EXPECT_EQ(backend_of(none), std::nullopt) << none;
  EXPECT_THROW(backend_of_model(folder.file("none.json")), InputError);
}

TEST(ModelFile, ErrorsSayWhatStoodWhere) {
  const Json good = model_to_json(model());
  const auto error_of = [&](const std::string& pointer, const Json& value) {
    Json bad = good;
    bad[Json::json_pointer(pointer)] = value;
    try {
      read_model(JsonNode(bad, "m.json"));
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(error_of("/device", "NVIDIA H200"), "");
  for (const auto& [pointer, value] : std::vector<std::pair<std::string, Json>>{
           {"/model_version", 2},
           {"/backend", "rocm"},
           {"/regret/median", -1},
           {"/variants/0/direction", "sideways"},
           {"/variants/0/tiles/0", "segments"},
           {"/variants/0/factor/weights", Json::array({1})},
           {"/variants/0/factor/features", Json::array()},
           {"/variants/1/factor/trees/0/features/0", 1000},
           {"/variants/1/factor/trees/0/leaves", Json::array({1, 2, 3})},
           {"/variants/0/factor/high/0", -1e20},
           {"/common/trees/0/features/0", 1000},
           {"/order/constant", "much"},
           {"/variants/1/variant", good["variants"][0]["variant"]}}) {
    const std::string error = error_of(pointer, value);
    EXPECT_NE(error.find("m.json: " + pointer), std::string::npos) << pointer << ": " << error;
  }
}

TEST(Predictor, RanksTilesThatWereSeen) {
  const auto shared = std::make_shared<const CostModel>(model());
  const Predictor predictor(shared, made_up_environment());
  const Problem problem = made_up_problem(2, 6000, 8);
  const auto ranked = predictor.rank(program_catalog(), problem, admits);
  ASSERT_GT(ranked.size(), 10u);
  for (std::size_t i = 1; i < ranked.size(); ++i)
    EXPECT_LE(ranked[i - 1].prediction.rank(), ranked[i].prediction.rank());
  EXPECT_EQ(ranked.front().candidate.variant->name, "chunk_sm90");
  // 132 multiprocessors over 16 sequences: 8 segments fill the device.
  EXPECT_EQ(ranked.front().candidate.tile.at("segments"), 8);
  for (const Ranked& one : ranked)
    EXPECT_TRUE(model()
                    .find(one.candidate.variant->name, Direction::forward)
                    ->tiles.contains(one.candidate.tile));
}

// A model has times of them too, as the records that say so have.
TEST(Predictor, RanksWhatSweepsLeaveOutOnlyWhereNothingElseIsAdmitted) {
  ASSERT_TRUE(rare_tiles().at({"chunk_sm90", Direction::forward}).at("segments").contains(3));
  CostModel with_rare = model();
  const Tile usual = *with_rare.find("chunk_sm90", Direction::forward)->tiles.begin();
  Tile rare = usual;
  rare["segments"] = 3;
  for (VariantModel& one : with_rare.variants)
    if (one.variant == "chunk_sm90" && one.direction == Direction::forward) one.tiles.insert(rare);
  const Predictor predictor(std::make_shared<const CostModel>(with_rare), made_up_environment());
  const auto tiles_of = [&](const Admits& admits) {
    std::set<Tile> tiles;
    for (const Ranked& one : predictor.rank(program_catalog(), made_up_problem(2, 6000, 8), admits))
      if (one.candidate.variant->name == "chunk_sm90") tiles.insert(one.candidate.tile);
    return tiles;
  };
  const std::set<Tile> tiles = tiles_of([](const Candidate&) { return true; });
  EXPECT_TRUE(tiles.contains(usual));
  EXPECT_FALSE(tiles.contains(rare));
  EXPECT_EQ(tiles_of([&](const Candidate& one) { return one.tile == rare; }), std::set{rare});
}

TEST(Predictor, WithoutAModelGoesByTheRates) {
  const Predictor predictor(nullptr, made_up_environment());
  const auto ranked = predictor.rank(program_catalog(), made_up_problem(8, 4096, 16), admits);
  ASSERT_FALSE(ranked.empty());
  EXPECT_FALSE(ranked.front().prediction.learnt);
  EXPECT_NE(ranked.front().candidate.variant->name, "parallel");
  EXPECT_EQ(predictor.source(), "the device's rates alone");
}

// A seed of an older format would be refused at its first key, and the fuzzer would never get past.
TEST(ModelFile, SeedOfTheFuzzerIsRead) {
  const CostModel seed = load_model(std::string(places::source_dir) + "/fuzz/corpus/model/small");
  EXPECT_FALSE(seed.variants.empty());
  EXPECT_FALSE(seed.common.features().empty());
}

}  // namespace
}  // namespace gla_bench::cost_model
