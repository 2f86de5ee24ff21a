#include "harness/records/record_json.hpp"

#include <nlohmann/json.hpp>

#include "harness/records/measured_json.hpp"
#include "harness/records/selection.hpp"
#include "harness/records/shape_json.hpp"

namespace gla_bench {
namespace {

Json numbers_to_json(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(number_to_json(value));
  return list;
}

template <class T, class Write>
Json optional_to_json(const std::optional<T>& value, Write write) {
  return value ? Json(write(*value)) : Json(nullptr);
}

Json tensor_to_json(const TensorVerdict& verdict) {
  return {{"rel_l2", number_to_json(verdict.rel_l2)},
          {"max_abs", number_to_json(verdict.max_abs)},
          {"worst_chunk_rel_l2", number_to_json(verdict.worst_chunk_rel_l2)},
          {"bound", number_to_json(verdict.bound)},
          {"worst_chunk_bound", number_to_json(verdict.worst_chunk_bound)},
          {"max_abs_bound", number_to_json(verdict.max_abs_bound)},
          {"baseline_rel_l2", number_to_json(verdict.baseline_rel_l2)},
          {"worst",
           {{"index", verdict.worst.index},
            {"got", number_to_json(verdict.worst.got)},
            {"expected", number_to_json(verdict.worst.expected)}}},
          {"ok", verdict.ok}};
}

Json verification_to_json(const Verification& verification) {
  Json tensors = Json::object();
  for (const auto& [tensor, verdict] : verification.tensors)
    tensors[tensor] = tensor_to_json(verdict);
  return {
      {"ok", verification.ok},
      {"arithmetic", name(verification.arithmetic)},
      {"reference", verification.reference},
      {"tensors", std::move(tensors)},
      {"deterministic", verification.deterministic},
      {"last_timed_ok", optional_to_json(verification.last_timed_ok, [](bool ok) { return ok; })},
      {"fault", verification.fault},
      {"check", verification.check}};
}

Json series_to_json(const Series& series) {
  return {{"median_ms", number_to_json(series.median_ms)},
          {"min_ms", number_to_json(series.min_ms)},
          {"p20_ms", number_to_json(series.p20_ms)},
          {"p80_ms", number_to_json(series.p80_ms)},
          {"samples_ms", numbers_to_json(series.samples_ms)},
          {"stopped_because", series.stopped_because}};
}

Json timing_to_json(const Timing& timing) {
  Json json{{"cold", series_to_json(timing.cold)},
            {"hot", optional_to_json(timing.hot, series_to_json)},
            {"clock_mhz_before", optional_to_json(timing.clock_mhz_before, number_to_json)},
            {"clock_mhz_after", optional_to_json(timing.clock_mhz_after, number_to_json)},
            {"wall_ms", optional_to_json(timing.wall_ms, number_to_json)},
            {"suspect", timing.suspect}};
  if (timing.suspect) json["suspect_check"] = timing.suspect_check;
  json["throttled"] = timing.throttled;
  json["clock_reasons"] = timing.clock_reasons;
  return json;
}

Json io_to_json(const Io& io) {
  Json json{{"floor_bytes", number_to_json(io.floor_bytes)},
            {"model_read_bytes", number_to_json(io.model_read_bytes)},
            {"model_write_bytes", number_to_json(io.model_write_bytes)},
            {"workspace_bytes", number_to_json(io.workspace_bytes)}};
  if (io.measured) json["measured"] = reading_to_json(*io.measured);
  return json;
}

Json stages_to_json(const std::vector<Stage>& stages) {
  Json list = Json::array();
  for (const Stage& stage : stages)
    list.push_back({{"name", stage.name},
                    {"median_ms", number_to_json(stage.median_ms)},
                    {"model_read_bytes", number_to_json(stage.model_read_bytes)},
                    {"model_write_bytes", number_to_json(stage.model_write_bytes)}});
  return list;
}

Json build_to_json(const BuildInfo& build) {
  Json kernels = Json::array();
  for (const KernelBuild& kernel : build.kernels)
    kernels.push_back({{"entry", kernel.entry},
                       {"registers", kernel.registers},
                       {"spill_bytes", kernel.spill_bytes},
                       {"shared_bytes", kernel.shared_bytes}});
  return {{"registers", build.registers},
          {"spill_bytes", build.spill_bytes},
          {"shared_bytes", build.shared_bytes},
          {"seconds", number_to_json(build.seconds)},
          {"cached", build.cached},
          {"kernels", std::move(kernels)},
          {"warnings", build.warnings}};
}

Json against_to_json(const Against& against) {
  return {{"status", name(against.status)},
          {"reason", against.reason},
          {"source_hash", against.source_hash},
          {"verification", optional_to_json(against.verification, verification_to_json)},
          {"samples", against.samples},
          {"base_ms", numbers_to_json(against.base_ms)},
          {"new_ms", numbers_to_json(against.new_ms)},
          {"first", against.first},
          {"stopped_because", against.stopped_because}};
}

Json chosen_to_json(const ChosenBy& chosen) {
  return {{"how", chosen.how},
          {"table", chosen.table},
          {"entry", chosen.entry},
          {"distance", number_to_json(chosen.distance)},
          {"note", chosen.note}};
}

Json interval_to_json(const std::array<double, 2>& interval) {
  return {number_to_json(interval[0]), number_to_json(interval[1])};
}

Json search_to_json(const SearchNote& note) {
  return {{"strategy", note.strategy},
          {"left", note.left},
          {"rounds", note.rounds},
          {"interval_ms", optional_to_json(note.interval_ms, interval_to_json)},
          {"best_ms", optional_to_json(note.best_ms, interval_to_json)}};
}

}  // namespace

Json problem_to_json(const Problem& problem) {
  Json json;
  json["operator"] = problem.op;
  json["direction"] = name(problem.direction);
  json["dtype"] = name(problem.dtype);
  json["layout"] = name(problem.layout);
  json["shape"] = shape_to_json(problem.shape);
  json["gate"] = problem.gate;
  json["seed"] = problem.seed;
  json["initial_state"] = problem.initial_state;
  json["final_state"] = problem.final_state;
  json["scale"] = optional_to_json(problem.scale, number_to_json);
  json["tensors"] = nullptr;
  if (!problem.tensors.empty())
    json["tensors"] = {{"file", problem.tensors}, {"names", problem.tensor_names}};
  if (!problem.options.empty()) json["options"] = problem.options;
  return json;
}

Json facts_to_json(const Facts& facts) {
  Json json = Json::object();
  for (const auto& [key, fact] : facts) {
    if (const double* number = std::get_if<double>(&fact))
      json[key] = number_to_json(*number);
    else
      std::visit([&, &name = key](const auto& value) { json[name] = value; }, fact);
  }
  return json;
}

Json record_to_json(const Record& record) {
  Json json;
  json["variant"] = record.variant;
  json["backend"] = name(record.backend);
  if (!record.device.empty()) json["device"] = record.device;
  json["tile"] = record.tile.empty() ? Json::object() : Json(record.tile);
  json["status"] = name(record.status);
  json["reason"] = record.reason;
  if (!record.wrong_tensors.empty()) json["wrong_tensors"] = record.wrong_tensors;
  if (record.refused_tiles > 0) json["refused_tiles"] = record.refused_tiles;
  json.update(problem_to_json(record.problem));
  json["verification"] = optional_to_json(record.verification, verification_to_json);
  json["timing"] = optional_to_json(record.timing, timing_to_json);
  if (record.throttled_timing) json["throttled_timing"] = timing_to_json(*record.throttled_timing);
  if (!record.stages.empty()) json["stages"] = stages_to_json(record.stages);
  json["io"] = io_to_json(record.io);
  if (record.energy) json["energy"] = energy_to_json(*record.energy);
  json["flops"] = number_to_json(record.flops);
  json["build"] = optional_to_json(record.build, build_to_json);
  json["source_hash"] = record.source_hash;
  json["peer"] = record.peer;
  if (!record.peer) json["command"] = repeat_command(record);
  if (record.chosen_by) json["chosen_by"] = chosen_to_json(*record.chosen_by);
  if (record.against) json["against"] = against_to_json(*record.against);
  if (record.search) json["search"] = search_to_json(*record.search);
  return json;
}

}  // namespace gla_bench
