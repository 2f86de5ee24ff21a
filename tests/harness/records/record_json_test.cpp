#include "harness/records/record_json.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <sstream>

#include "tests/support/places.hpp"
#include "tests/support/sample_record.hpp"

namespace gla_bench {
namespace {

TEST(RecordJson, SurvivesTheWayThereAndBack) {
  for (Record record : {sample_record(1), Record{}}) {
    const std::string text = record_to_json(record).dump();
    const Json parsed = parse_json(text, "r");
    EXPECT_EQ(record_to_json(read_record(JsonNode(parsed, "r"))).dump(), text);
  }
}

TEST(RecordJson, EveryStatusHasANameAndComesBack) {
  const std::map<Status, bool> failures{{Status::measured, false},    {Status::verified, false},
                                        {Status::wrong, true},        {Status::rejected, false},
                                        {Status::build_failed, true}, {Status::run_failed, true},
                                        {Status::crashed, true},      {Status::timeout, true},
                                        {Status::built, false},       {Status::left_out, false}};
  for (const auto& [status, failure] : failures) {
    Record record = sample_record(1);
    record.status = status;
    const Json json = record_to_json(record);
    EXPECT_EQ(json["status"], std::string(name(status)));
    EXPECT_EQ(read_record(JsonNode(json, "r")).status, status) << name(status);
    EXPECT_EQ(is_failure(status), failure) << name(status);
    Json wrong = json;
    wrong["status"] = "fine";
    const std::string error = error_of([&] { read_record(JsonNode(wrong, "r")); });
    EXPECT_NE(error.find(name(status)), std::string::npos) << error;
  }
}

TEST(RecordJson, NaNAndInfinitySurvive) {
  Record record = sample_record(1);
  record.verification->tensors["o"].rel_l2 = std::numeric_limits<double>::quiet_NaN();
  record.verification->tensors["o"].max_abs = std::numeric_limits<double>::infinity();
  record.timing->cold.samples_ms[1] = std::numeric_limits<double>::quiet_NaN();
  const Json parsed = parse_json(record_to_json(record).dump(), "r");
  const Record back = read_record(JsonNode(parsed, "r"));
  EXPECT_TRUE(std::isnan(back.verification->tensors.at("o").rel_l2));
  EXPECT_TRUE(std::isinf(back.verification->tensors.at("o").max_abs));
  EXPECT_TRUE(std::isnan(back.timing->cold.samples_ms[1]));
}

TEST(RecordJson, WhyThereAreNoFiguresSurvives) {
  Record record = sample_record(1);
  record.io.measured = CounterReading{.source = CounterSource::denied, .reason = "CUPTI_ERROR_35"};
  record.energy = Energy{.reason = "NVML is not there"};
  const Json json = record_to_json(record);
  EXPECT_FALSE(json["io"]["measured"].contains("dram_read_bytes"));
  const Record back = read_record(JsonNode(json, "r"));
  EXPECT_EQ(back.io.measured->source, CounterSource::denied);
  EXPECT_EQ(back.io.measured->reason, "CUPTI_ERROR_35");
  EXPECT_FALSE(back.io.measured->dram_read_bytes);
  EXPECT_FALSE(back.energy->joules_per_call);
  EXPECT_EQ(back.energy->reason, "NVML is not there");
}

// As in a command that was written by hand; what is written has the long name again.
TEST(RecordJson, TakesOtherNamesOfDtypes) {
  Json json = record_to_json(sample_record(1));
  json["dtype"] = "bf16";
  EXPECT_EQ(record_to_json(read_record(JsonNode(json, "r")))["dtype"], "bfloat16");
}

TEST(RecordJson, AnUnknownCounterSourceIsAnError) {
  Json json = record_to_json(sample_record(1));
  json["io"]["measured"]["source"] = "guessed";
  const std::string error = error_of([&] { read_record(JsonNode(json, "r")); });
  EXPECT_NE(error.find("/io/measured/source"), std::string::npos) << error;
  EXPECT_NE(error.find("guessed"), std::string::npos) << error;
}

TEST(RecordJson, HasTheNamesOfTheContract) {
  const Json json = record_to_json(sample_record(1));
  for (const char* key : {"operator", "direction", "variant",      "backend",       "dtype",
                          "layout",   "shape",     "gate",         "seed",          "tile",
                          "status",   "reason",    "verification", "timing",        "io",
                          "flops",    "build",     "source_hash",  "verifier_hash", "peer"})
    EXPECT_TRUE(json.contains(key)) << key;
  for (const char* key : {"batch", "seq", "heads", "key_dim", "value_dim"})
    EXPECT_TRUE(json["shape"].contains(key)) << key;
  for (const char* key : {"rel_l2", "max_abs", "worst_chunk_rel_l2", "bound", "ok"})
    EXPECT_TRUE(json["verification"]["tensors"]["o"].contains(key)) << key;
  for (const char* key :
       {"median_ms", "min_ms", "p20_ms", "p80_ms", "samples_ms", "stopped_because"})
    EXPECT_TRUE(json["timing"]["cold"].contains(key)) << key;
}

TEST(RecordJson, ReadsAPeersShorterRecord) {
  const Json json = parse_json(R"({"operator": "gla", "direction": "forward", "variant": "p",
    "backend": "cuda", "dtype": "bfloat16", "layout": "seq_first",
    "shape": {"batch": 1, "seq": 2, "heads": 1, "key_dim": 4, "value_dim": 4}, "gate": "mild",
    "seed": 1, "tile": {}, "status": "measured", "reason": "", "io": {"floor_bytes": 5},
    "verification": {"ok": true, "tensors": {"o": {"rel_l2": 1, "max_abs": 1,
      "worst_chunk_rel_l2": 1, "bound": 1, "ok": true}}},
    "timing": {"cold": {"median_ms": 1, "min_ms": 1, "p20_ms": 1, "p80_ms": 1, "samples_ms": [1],
      "stopped_because": "samples"}},
    "source_hash": "", "peer": true})",
                               "r");
  const Record record = read_record(JsonNode(json, "r"));
  EXPECT_TRUE(record.peer);
  EXPECT_EQ(record.verification->arithmetic, Arithmetic::bfloat16);
}

TEST(RecordJson, EnergyIsOfAtLeastOneCall) {
  Json json = record_to_json(sample_record(1));
  json["energy"].erase("calls");
  EXPECT_EQ(error_of([&] { read_record(JsonNode(json, "r")); }),
            "r: /energy: found an object, expected calls of at least 1 beside joules_per_call");
}

TEST(RecordJson, UnknownAndMissingMembersAreErrors) {
  Json json = record_to_json(sample_record(1));
  json["statsu"] = 1;
  EXPECT_NE(error_of([&] { read_record(JsonNode(json, "r")); }).find("/statsu"), std::string::npos);
  json.erase("statsu");
  json["status"] = "fine";
  EXPECT_NE(error_of([&] { read_record(JsonNode(json, "r")); }).find("found \"fine\""),
            std::string::npos);
  json["status"] = "built";
  json.erase("variant");
  EXPECT_NE(error_of([&] { read_record(JsonNode(json, "r")); }).find("variant"), std::string::npos);
}

// Who asks an operator about the problem, as `gate` does for its outputs, turns values into
// numbers.
TEST(RecordJson, AnOptionHasAValueThatTheOperatorKnows) {
  Json json = record_to_json(sample_record(1));
  json["operator"] = "linear_attention";
  json["options"] = {{"states_every", "16"}, {"of_another_version", "whatever"}};
  EXPECT_EQ(read_record(JsonNode(json, "r")).problem.options.at("states_every"), "16");
  json["options"]["states_every"] = "value_first";
  EXPECT_EQ(error_of([&] { read_record(JsonNode(json, "r")); }),
            "r: /options/states_every: found \"value_first\", expected a value of states_every: "
            "0, 16, 32, 48, 64, 128, 256, 512");
  json["operator"] = "of_somebody";
  EXPECT_EQ(read_record(JsonNode(json, "r")).problem.options.size(), 2u);
}

TEST(RecordJson, RoundsAndTheirTimesMustFit) {
  Json json = record_to_json(sample_record(1));
  json["against"]["new_ms"].push_back(1.0);
  const std::string error = error_of([&] { read_record(JsonNode(json, "r")); });
  EXPECT_NE(error.find("r: /against/new_ms: "), std::string::npos) << error;
  EXPECT_NE(error.find("expected 4 times"), std::string::npos) << error;
}

/// The rows of a results file as its lines have them.
std::vector<std::string> rows_of(const std::filesystem::path& path) {
  std::istringstream text(read_text_file(path.string()));
  std::vector<std::string> rows;
  std::string line;
  while (std::getline(text, line) && line != "\"records\": [") continue;
  while (std::getline(text, line) && line != "]}") {
    if (line.ends_with(',')) line.pop_back();
    rows.push_back(line);
  }
  return rows;
}

TEST(RecordJson, CommittedRowsAreWrittenAsTheyStand) {
  int compared = 0;
  const auto folder = std::filesystem::path(places::source_dir) / "results" / "h200";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    if (!file.ends_with(".json") || file.starts_with("peers-")) continue;  // not this program's
    for (const std::string& row : rows_of(entry.path())) {
      const Json parsed = parse_json(row, file);
      ASSERT_EQ(record_to_json(read_record(JsonNode(parsed, file))).dump(), row) << file;
      ++compared;
    }
  }
  EXPECT_GT(compared, 5000);
}

}  // namespace
}  // namespace gla_bench
