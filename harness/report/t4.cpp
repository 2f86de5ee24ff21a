#include "harness/report/t4.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/records/environment.hpp"
#include "harness/records/shape_json.hpp"

namespace gla_bench {
namespace {

constexpr const char* format_version = "1.0.0";

class Measurements {
 public:
  void add(const std::string& name, double value, const char* unit) {
    list_.push_back({{"name", name}, {"value", number_to_json(value)}, {"unit", unit}});
  }
  void add(const std::string& name, const std::string& value) {
    if (!value.empty()) list_.push_back({{"name", name}, {"value", value}, {"unit", ""}});
  }
  Json take() { return std::move(list_); }

 private:
  Json list_ = Json::array();
};

bool is_right(const Record& record) {
  return record.verification && record.verification->ok &&
         (record.status == Status::measured || record.status == Status::verified);
}

bool is_believable(const Timing& timing) {
  const auto& samples = timing.cold.samples_ms;
  return !timing.suspect &&
         std::all_of(samples.begin(), samples.end(), [](double ms) { return std::isfinite(ms); });
}

const char* invalidity_of(const Record& record) {
  switch (record.status) {
    case Status::rejected:
      return "constraints";
    case Status::build_failed:
      return "compile";
    case Status::timeout:
      return "timeout";
    case Status::wrong:
      return "correctness";
    case Status::measured:
    case Status::verified:
      if (!is_right(record)) return "correctness";
      return record.timing && !is_believable(*record.timing) ? "runtime" : "correct";
    default:
      return "runtime";
  }
}

Json configuration_of(const Record& record) {
  const Problem& problem = record.problem;
  Json json{{"variant", record.variant}};
  for (const auto& [axis, value] : record.tile) json[axis] = value;
  const auto add = [&](const std::string& key, const Json& value) {
    json["problem_" + key] = value;
  };
  add("operator", problem.op);
  add("direction", name(problem.direction));
  add("dtype", name(problem.dtype));
  add("layout", name(problem.layout));
  const Json shape = shape_to_json(problem.shape);
  for (const auto& [extent, value] : shape.items()) add(extent, value);
  add("gate", problem.gate);
  add("initial_state", problem.initial_state);
  add("final_state", problem.final_state);
  if (problem.scale) add("scale", number_to_json(*problem.scale));
  for (const auto& [option, value] : problem.options) add(option, value);
  if (!problem.tensors.empty()) add("tensors", problem.tensors);
  add("seed", problem.seed);
  return json;
}

Json times_of(const Record& record) {
  Json json{{"runtimes", Json::array()}};
  if (record.timing && is_believable(*record.timing))
    for (const double ms : record.timing->cold.samples_ms) json["runtimes"].push_back(ms);
  if (record.build && std::isfinite(record.build->seconds))
    json["compilation_time"] = 1e3 * record.build->seconds;
  return json;
}

void add_times(const Timing& timing, Measurements& list) {
  // It has another name, so that no tool mistakes an impossible time for a good one.
  const std::string prefix = is_believable(timing) ? "time" : "suspect_time";
  list.add(prefix, timing.cold.median_ms, "ms");
  list.add(prefix + "_min", timing.cold.min_ms, "ms");
  list.add(prefix + "_p20", timing.cold.p20_ms, "ms");
  list.add(prefix + "_p80", timing.cold.p80_ms, "ms");
  if (timing.hot) list.add(prefix + "_hot", timing.hot->median_ms, "ms");
  if (timing.sustained) list.add(prefix + "_sustained", timing.sustained->median_ms, "ms");
  list.add("suspect_check", timing.suspect_check);
  if (timing.throttled) list.add("throttled", 1, "");
}

void add_errors(const Verification& verification, Measurements& list) {
  list.add("arithmetic", std::string(name(verification.arithmetic)));
  for (const auto& [tensor, verdict] : verification.tensors) {
    list.add(tensor + ".rel_l2", verdict.rel_l2, "");
    list.add(tensor + ".rel_l2_bound", verdict.bound, "");
    list.add(tensor + ".worst_chunk_rel_l2", verdict.worst_chunk_rel_l2, "");
    list.add(tensor + ".worst_chunk_rel_l2_bound", verdict.worst_chunk_bound, "");
    list.add(tensor + ".max_abs", verdict.max_abs, "");
    list.add(tensor + ".max_abs_bound", verdict.max_abs_bound, "");
  }
  list.add("failed_check", verification.check);
}

void add_bytes(const Record& record, Measurements& list) {
  const Io& io = record.io;
  if (io.floor_bytes > 0) list.add("floor_bytes", io.floor_bytes, "B");
  if (io.model_read_bytes + io.model_write_bytes > 0)
    list.add("model_bytes", io.model_read_bytes + io.model_write_bytes, "B");
  list.add("workspace_bytes", io.workspace_bytes, "B");
  if (io.measured && io.measured->dram_read_bytes)
    list.add("dram_read_bytes", *io.measured->dram_read_bytes, "B");
  if (io.measured && io.measured->dram_write_bytes)
    list.add("dram_write_bytes", *io.measured->dram_write_bytes, "B");
  if (record.flops > 0) list.add("flops", record.flops, "");
}

Json measurements_of(const Record& record) {
  Measurements list;
  if (record.timing) add_times(*record.timing, list);
  if (record.verification) add_errors(*record.verification, list);
  add_bytes(record, list);
  if (record.energy && record.energy->joules_per_call)
    list.add("energy", *record.energy->joules_per_call, "J");
  if (record.build) {
    list.add("registers", record.build->registers, "");
    list.add("spill_bytes", record.build->spill_bytes, "B");
    list.add("shared_bytes", record.build->shared_bytes, "B");
  }
  if (record.refused_tiles > 0)
    list.add("refused_tiles", static_cast<double>(record.refused_tiles), "");
  list.add("status", std::string(name(record.status)));
  list.add("reason", record.reason);
  list.add("source_hash", record.source_hash);
  return list.take();
}

Json result_of(const Record& record) {
  return {{"configuration", configuration_of(record)},
          {"objectives", {"time"}},
          {"times", times_of(record)},
          {"invalidity", invalidity_of(record)},
          {"correctness", is_right(record) ? 1 : 0},
          {"measurements", measurements_of(record)}};
}

/// Refuses facts that the files of one T4 file cannot differ in.
void expect_same_place(const Results& first, const Results& other) {
  for (const char* key : {"device", "backend"})
    if (fact_text(first.environment, key) != fact_text(other.environment, key))
      throw InputError(other.file + ": /environment/" + key + ": found \"" +
                       fact_text(other.environment, key) + "\", expected \"" +
                       fact_text(first.environment, key) + "\" as in " + first.file +
                       ": a T4 file is of one device");
}

/// The newest run's facts, for all the files that have results. A file of peers has none.
Json metadata_of(std::span<const Results> files) {
  const Results* first = nullptr;
  const Facts* newest = nullptr;
  for (const Results& results : files) {
    if (std::none_of(results.records.begin(), results.records.end(), has_t4_result)) continue;
    if (first == nullptr) first = &results;
    expect_same_place(*first, results);
    if (newest == nullptr ||
        fact_text(*newest, "started") < fact_text(results.environment, "started"))
      newest = &results.environment;
  }
  Json json = Json::object();
  const Facts none{};
  if (newest == nullptr) newest = &none;
  if (fact_text(*newest, "backend") == "cuda") json["compute_api"] = "CUDA";
  json["device"] = fact_text(*newest, "device");
  json["autotuner"] = "gla-bench";
  json["autotuner_version"] = fact_text(*newest, "program_version");
  json["timestamp"] = fact_text(*newest, "started");
  json["timeunit"] = "milliseconds";
  json["environment"] = Json::object();
  for (const char* key :
       {"driver", "toolkit", "cublas", "compute_capability", "host_compiler", "git_commit", "uuid"})
    if (const std::string fact = fact_text(*newest, key); !fact.empty())
      json["environment"][key] = fact;
  return json;
}

}  // namespace

bool has_t4_result(const Record& record) {
  return !record.peer && record.status != Status::built && record.status != Status::left_out;
}

Json t4_document(std::span<const Results> files) {
  Json list = Json::array();
  for (const Results& results : files)
    for (const Record& record : results.records)
      if (has_t4_result(record)) list.push_back(result_of(record));
  return {{"schema_version", format_version},
          {"metadata", metadata_of(files)},
          {"results", std::move(list)}};
}

}  // namespace gla_bench
