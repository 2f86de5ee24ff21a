#include "harness/record_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/error.hpp"
#include "harness/record_json.hpp"
#include "tests/harness/temporary_folder.hpp"

namespace gla_bench {
namespace {

Record sample_record(int number, std::size_t samples = 3) {
  Record record;
  record.problem.op = "gla";
  record.problem.seed = static_cast<std::uint64_t>(number);
  record.problem.scale = 0.5;
  record.variant = "chunk_fused";
  record.tile = {{"chunk", 64}};
  record.status = Status::measured;
  Verification verification;
  verification.ok = true;
  verification.arithmetic = Arithmetic::tf32;
  verification.reference = "host";
  verification.deterministic = true;
  verification.last_timed_ok = true;
  verification.tensors["o"] = {1e-4, 2e-4, 3e-4, 1e-3, 4e-3, 2e-2, 5e-5, {{0, 1, 2, 3}, 1, 2},
                               true};
  record.verification = verification;
  Timing timing;
  timing.cold.samples_ms.assign(samples, 1.25);
  timing.cold.median_ms = timing.cold.min_ms = timing.cold.p20_ms = timing.cold.p80_ms = 1.25;
  timing.cold.stopped_because = "noise";
  timing.clock_mhz_before = 1980;
  record.timing = timing;
  record.stages = {{"projections", 0.75, 100, 200}, {"gla", 0.5, 300, 400}};
  record.device = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f";
  record.throttled_timing = timing;
  record.throttled_timing->throttled = true;
  record.throttled_timing->clock_reasons = {"sw_power_cap", "hw_thermal_slowdown"};
  record.io = {100, 200, 300, 400};
  record.io.measured =
      CounterReading{CounterSource::cupti, "", 210, 310, 10, 900, 1, {{"lts__t_bytes.sum", 900}}};
  record.energy = Energy{0.25, 500, 0.31, 620, ""};
  record.flops = 1e9;
  record.build = BuildInfo{32, 4, 1024, 0.5, true, {{"chunk_fused", 32, 4, 1024}}, "warned"};
  record.source_hash = "0123456789abcdef";
  record.against =
      Against{Status::verified, "",   "fedcba9876543210", verification, 2, {1, 1.125, 2, 4},
              {1, 2, 3, 4},     "bn", "precision"};
  return record;
}

Json config() {
  return parse_json(R"({"description": "a test"})", "config");
}

Facts environment() {
  return {{"device", "toy"}, {"copy_gb_per_s", 10.5}, {"git_dirty", true}};
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(RecordJson, SurvivesTheWayThereAndBack) {
  for (Record record : {sample_record(1), Record{}}) {
    const std::string text = record_to_json(record).dump();
    const Json parsed = parse_json(text, "r");
    EXPECT_EQ(record_to_json(read_record(JsonNode(parsed, "r"))).dump(), text);
  }
}

TEST(RecordJson, EveryStatusHasANameAndComesBack) {
  const std::map<Status, bool> failures{
      {Status::measured, false}, {Status::verified, false},    {Status::wrong, true},
      {Status::rejected, false}, {Status::build_failed, true}, {Status::run_failed, true},
      {Status::crashed, true},   {Status::timeout, true},      {Status::built, false}};
  for (const auto& [status, failure] : failures) {
    Record record = sample_record(1);
    record.status = status;
    const Json json = record_to_json(record);
    EXPECT_EQ(json["status"], std::string(name(status)));
    EXPECT_EQ(read_record(JsonNode(json, "r")).status, status) << name(status);
    EXPECT_EQ(is_failure(status), failure) << name(status);
    EXPECT_NE(status_list().find(name(status)), std::string::npos);
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

TEST(RecordJson, AnUnknownCounterSourceIsAnError) {
  Json json = record_to_json(sample_record(1));
  json["io"]["measured"]["source"] = "guessed";
  const std::string error = error_of([&] { read_record(JsonNode(json, "r")); });
  EXPECT_NE(error.find("/io/measured/source"), std::string::npos) << error;
  EXPECT_NE(error.find("guessed"), std::string::npos) << error;
}

TEST(RecordJson, HasTheNamesOfTheContract) {
  const Json json = record_to_json(sample_record(1));
  for (const char* key : {"operator", "direction", "variant", "backend", "dtype", "layout", "shape",
                          "gate", "seed", "tile", "status", "reason", "verification", "timing",
                          "io", "flops", "build", "source_hash", "peer"})
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

TEST(RecordJson, RoundsAndTheirTimesMustFit) {
  Json json = record_to_json(sample_record(1));
  json["against"]["new_ms"].push_back(1.0);
  const std::string error = error_of([&] { read_record(JsonNode(json, "r")); });
  EXPECT_NE(error.find("r: /against/new_ms: "), std::string::npos) << error;
  EXPECT_NE(error.find("expected 4 times"), std::string::npos) << error;
}

TEST(RecordFile, IsWholeAfterEveryAppend) {
  const TemporaryFolder folder;
  const std::string path = folder.file("deep/er/r.json");
  RecordFile file = RecordFile::create(path, environment(), config());
  for (int i = 0; i <= 5; ++i) {
    if (i > 0) file.append(sample_record(i));
    const Results results = read_results(path);
    EXPECT_FALSE(results.torn);
    ASSERT_EQ(results.records.size(), static_cast<std::size_t>(i));
    EXPECT_EQ((*results.config)["description"], "a test");
    EXPECT_EQ(fact_text(results.environment, "device"), "toy");
    EXPECT_EQ(fact_number(results.environment, "copy_gb_per_s"), 10.5);
    EXPECT_EQ(fact_text(results.environment, "git_dirty"), "true");
  }
  const Results results = read_results(path);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(results.records[i].problem.seed, i + 1);
}

TEST(RecordFile, HasOneLinePerRecord) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  {
    RecordFile file = RecordFile::create(path, {}, config());
    file.append(sample_record(1));
    file.append(sample_record(2));
  }
  const std::string text = read_text_file(path);
  const auto start = text.find("\"records\": [\n");
  ASSERT_NE(start, std::string::npos);
  const std::string list = text.substr(start);
  EXPECT_EQ(std::count(list.begin(), list.end(), '\n'), 4);
}

TEST(RecordFile, RefusesToReplaceUnlessTold) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  { RecordFile::create(path, environment(), config()).append(sample_record(1)); }
  EXPECT_NE(error_of([&] { RecordFile::create(path, {}, config()); }).find("exists already"),
            std::string::npos);
  EXPECT_EQ(read_results(path).records.size(), 1u);
  RecordFile::create(path, {}, config(), RecordFile::Existing::replace);
  EXPECT_EQ(read_results(path).records.size(), 0u);
  EXPECT_NE(error_of([&] {
              RecordFile::create(folder.path().string(), {}, config());
            }).find("is a folder"),
            std::string::npos);
}

TEST(RecordFile, OneWriterAtATime) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  const RecordFile file = RecordFile::create(path, {}, config());
  Results content;
  EXPECT_NE(error_of([&] { RecordFile::resume(path, content); }).find("another run"),
            std::string::npos);
  const auto replace = [&] {
    RecordFile::create(path, {}, config(), RecordFile::Existing::replace);
  };
  EXPECT_NE(error_of(replace).find("another run"), std::string::npos);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1)
      << "nothing is left behind";
}

TEST(RecordFile, ResumeGoesOnBehindTheLastRecord) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  { RecordFile::create(path, environment(), config()).append(sample_record(1)); }
  Results content;
  {
    RecordFile file = RecordFile::resume(path, content);
    EXPECT_EQ(content.records.size(), 1u);
    file.append(sample_record(2));
  }
  EXPECT_EQ(read_results(path).records.size(), 2u);
}

// Every way in which a write can be cut in two: any prefix of the new text over the old closing
// text.
TEST(RecordFile, AnyTornTailIsDroppedAndMended) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  for (const int before : {0, 1, 2}) {
    std::string old_text, new_text;
    {
      RecordFile file =
          RecordFile::create(path, environment(), config(), RecordFile::Existing::replace);
      for (int i = 1; i <= before; ++i) file.append(sample_record(i));
      old_text = read_text_file(path);
      file.append(sample_record(9));
      new_text = read_text_file(path);
    }
    const std::size_t tail = old_text.size() - 4;
    for (std::size_t cut = tail; cut < new_text.size(); cut += cut < tail + 8 ? 1 : 37) {
      std::string torn = new_text.substr(0, cut);
      if (cut < old_text.size()) torn += old_text.substr(cut);
      std::ofstream(path, std::ios::binary) << torn;
      const Results read = read_results(path);
      ASSERT_LE(read.records.size(), static_cast<std::size_t>(before) + 1) << cut;
      ASSERT_GE(read.records.size() + 1, static_cast<std::size_t>(before)) << cut;
      Results content;
      RecordFile::resume(path, content).append(sample_record(7));
      const Results mended = read_results(path);
      ASSERT_FALSE(mended.torn);
      ASSERT_EQ(mended.records.size(), read.records.size() + 1);
      ASSERT_EQ(mended.records.back().problem.seed, 7u);
    }
  }
}

TEST(RecordFile, OtherBrokenFilesAreErrors) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  for (const std::string text : {"", "{", "[]",
                                 "{\"schema_version\": 2, \"environment\": {}, "
                                 "\"config\": {}, \"records\": []}",
                                 "{\"records\": []}"}) {
    std::ofstream(path, std::ios::binary) << text;
    EXPECT_NE(error_of([&] { read_results(path); }), "no error") << text;
  }
  std::ofstream(path, std::ios::binary)
      << R"({"schema_version": 1, "environment": {}, "config": {}, "records": []})";
  Results content;
  EXPECT_NE(error_of([&] { RecordFile::resume(path, content); }).find("was not written by"),
            std::string::npos);
}

// A child appends as fast as it can and is killed at some moment: the file is whole.
TEST(RecordFile, SurvivesAKill) {
  const TemporaryFolder folder;
  std::size_t most = 0;
  for (int round = 0; round < 20; ++round) {
    const std::string path = folder.file("r" + std::to_string(round) + ".json");
    { RecordFile::create(path, environment(), config()); }
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Results content;
      RecordFile file = RecordFile::resume(path, content);
      const Record record = sample_record(1, 2000);  // several pages
      while (true) file.append(record);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10 + 3 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    Results results;
    ASSERT_EQ(error_of([&] { results = read_results(path); }), "no error");
    for (const Record& record : results.records)
      ASSERT_EQ(record.timing->cold.samples_ms.size(), 2000u);
    most = std::max(most, results.records.size());
  }
  EXPECT_GT(most, 3u) << "the children never got to write";
}

// A file-size limit in a child stands for a full disk.
TEST(RecordFile, AFullDiskKeepsWhatWasWritten) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  const std::string note = folder.file("note");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    RecordFile file = RecordFile::create(path, environment(), config());
    file.append(sample_record(1));
    file.append(sample_record(2));
    struct stat state {};
    ::stat(path.c_str(), &state);
    const rlim_t limit = static_cast<rlim_t>(state.st_size) + 100;  // not enough for a third
    const rlimit limits{limit, limit};
    ::setrlimit(RLIMIT_FSIZE, &limits);
    const std::string error = error_of([&] { file.append(sample_record(3, 5000)); });
    std::ofstream(note) << error;
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  const std::string error = read_text_file(note);
  EXPECT_NE(error.find("could not be written"), std::string::npos) << error;
  EXPECT_NE(error.find("2 records before it are kept"), std::string::npos) << error;
  const Results results = read_results(path);
  EXPECT_FALSE(results.torn);
  EXPECT_EQ(results.records.size(), 2u);
}

TEST(RecordFile, FoldersThatCanNotBeMadeAreErrors) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("file")) << "x";
  EXPECT_NE(error_of([&] { RecordFile::create(folder.file("file/r.json"), {}, config()); }),
            "no error");
}

}  // namespace
}  // namespace gla_bench
