// Records out of JSON: the other half of record_json.cpp.

#include <limits>

#include "harness/records/dtype_json.hpp"
#include "harness/records/measured_json.hpp"
#include "harness/records/record_json.hpp"
#include "harness/records/shape_json.hpp"

namespace gla_bench {
namespace {

constexpr int most_int = std::numeric_limits<int>::max();
constexpr double most_double = std::numeric_limits<double>::max();

/// A member that may be null or missing.
std::optional<JsonNode> present(const JsonNode& node, std::string_view key) {
  auto member = node.find(key);
  if (member && member->is_null()) return std::nullopt;
  return member;
}

template <class Enum>
Enum read_enum(const JsonNode& node, std::optional<Enum> (*parse)(std::string_view),
               const std::string& expected) {
  const auto value = parse(node.text());
  if (!value) node.fail(expected);
  return *value;
}

Arithmetic read_arithmetic(const JsonNode& node) {
  for (const Arithmetic arithmetic :
       {Arithmetic::float32, Arithmetic::tf32, Arithmetic::bfloat16, Arithmetic::float16})
    if (node.text() == name(arithmetic)) return arithmetic;
  node.fail("an arithmetic: float32, tf32, bfloat16, float16");
}

/// A member that only this program's records have: a peer's need not.
double number_or(const JsonNode& node, std::string_view key, double missing) {
  const auto member = present(node, key);
  return member ? member->any_number() : missing;
}

bool flag_or(const JsonNode& node, std::string_view key, bool missing) {
  const auto member = present(node, key);
  return member ? member->boolean() : missing;
}

std::string text_or(const JsonNode& node, std::string_view key, std::string missing) {
  const auto member = present(node, key);
  return member ? member->text() : std::move(missing);
}

int read_int(const JsonNode& node) {
  return static_cast<int>(node.integer(std::numeric_limits<int>::min(), most_int));
}

/// What a computation in the problem's own dtype declares.
Arithmetic plain_arithmetic(DType dtype) {
  return dtype == DType::bfloat16  ? Arithmetic::bfloat16
         : dtype == DType::float16 ? Arithmetic::float16
                                   : Arithmetic::float32;
}

TensorVerdict read_tensor(const JsonNode& node) {
  node.expect_keys({"rel_l2", "max_abs", "worst_chunk_rel_l2", "bound", "worst_chunk_bound",
                    "max_abs_bound", "baseline_rel_l2", "worst", "ok"});
  TensorVerdict verdict;
  verdict.rel_l2 = node.at("rel_l2").any_number();
  verdict.max_abs = node.at("max_abs").any_number();
  verdict.worst_chunk_rel_l2 = node.at("worst_chunk_rel_l2").any_number();
  verdict.bound = node.at("bound").any_number();
  verdict.worst_chunk_bound = number_or(node, "worst_chunk_bound", 0);
  verdict.max_abs_bound = number_or(node, "max_abs_bound", 0);
  verdict.baseline_rel_l2 = number_or(node, "baseline_rel_l2", 0);
  if (const auto worst = present(node, "worst")) {
    worst->expect_keys({"index", "got", "expected"});
    for (const JsonNode& item : worst->at("index").items())
      verdict.worst.index.push_back(item.integer(0, std::numeric_limits<std::int64_t>::max()));
    verdict.worst.got = worst->at("got").any_number();
    verdict.worst.expected = worst->at("expected").any_number();
  }
  verdict.ok = node.at("ok").boolean();
  return verdict;
}

/// `missing`: the arithmetic of a verification that does not declare one.
Verification read_verification(const JsonNode& node, Arithmetic missing) {
  node.expect_keys({"ok", "arithmetic", "reference", "tensors", "deterministic", "last_timed_ok",
                    "fault", "check"});
  Verification verification;
  verification.ok = node.at("ok").boolean();
  verification.arithmetic = missing;
  if (const auto arithmetic = present(node, "arithmetic"))
    verification.arithmetic = read_arithmetic(*arithmetic);
  verification.reference = text_or(node, "reference", "");
  for (const auto& [tensor, verdict] : node.at("tensors").members())
    verification.tensors[tensor] = read_tensor(verdict);
  verification.deterministic = flag_or(node, "deterministic", false);
  if (const auto ok = present(node, "last_timed_ok")) verification.last_timed_ok = ok->boolean();
  verification.fault = text_or(node, "fault", "");
  verification.check = text_or(node, "check", "");
  return verification;
}

std::vector<double> read_numbers(const JsonNode& node) {
  std::vector<double> numbers;
  for (const JsonNode& number : node.items()) numbers.push_back(number.any_number());
  return numbers;
}

Series read_series(const JsonNode& node) {
  node.expect_keys({"median_ms", "min_ms", "p20_ms", "p80_ms", "samples_ms", "stopped_because"});
  Series series;
  series.median_ms = node.at("median_ms").any_number();
  series.min_ms = node.at("min_ms").any_number();
  series.p20_ms = node.at("p20_ms").any_number();
  series.p80_ms = node.at("p80_ms").any_number();
  series.samples_ms = read_numbers(node.at("samples_ms"));
  series.stopped_because = node.at("stopped_because").text();
  return series;
}

Timing read_timing(const JsonNode& node) {
  node.expect_keys({"cold", "hot", "clock_mhz_before", "clock_mhz_after", "wall_ms", "suspect",
                    "suspect_check", "throttled", "clock_reasons"});
  Timing timing;
  timing.cold = read_series(node.at("cold"));
  if (const auto hot = present(node, "hot")) timing.hot = read_series(*hot);
  if (const auto clock = present(node, "clock_mhz_before"))
    timing.clock_mhz_before = clock->any_number();
  if (const auto clock = present(node, "clock_mhz_after"))
    timing.clock_mhz_after = clock->any_number();
  if (const auto wall = present(node, "wall_ms")) timing.wall_ms = wall->any_number();
  timing.suspect = flag_or(node, "suspect", false);
  timing.throttled = flag_or(node, "throttled", false);
  if (const auto reasons = present(node, "clock_reasons"))
    for (const JsonNode& reason : reasons->items()) timing.clock_reasons.push_back(reason.text());
  timing.suspect_check = text_or(node, "suspect_check", timing.suspect ? "floor" : "");
  return timing;
}

Status read_status(const JsonNode& node) {
  return read_enum(node, parse_status, "a status: " + status_list());
}

Against read_against(const JsonNode& node, Arithmetic missing) {
  node.expect_keys({"status", "reason", "source_hash", "verification", "samples", "base_ms",
                    "new_ms", "first", "stopped_because"});
  Against against;
  against.status = read_status(node.at("status"));
  against.reason = node.at("reason").text();
  against.source_hash = node.at("source_hash").text();
  if (const auto found = present(node, "verification"))
    against.verification = read_verification(*found, missing);
  against.samples = static_cast<int>(node.at("samples").integer(0, most_int));
  against.base_ms = read_numbers(node.at("base_ms"));
  against.new_ms = read_numbers(node.at("new_ms"));
  against.first = node.at("first").text();
  against.stopped_because = node.at("stopped_because").text();
  const auto samples = against.first.size() * static_cast<std::size_t>(against.samples);
  if (against.base_ms.size() != samples)
    node.at("base_ms").fail(std::to_string(samples) + " times, samples for each round of first");
  if (against.new_ms.size() != samples)
    node.at("new_ms").fail(std::to_string(samples) + " times, samples for each round of first");
  return against;
}

ChosenBy read_chosen(const JsonNode& node) {
  node.expect_keys({"how", "table", "entry", "distance", "note"});
  return {node.at("how").one_of({"bucket", "nearest", "default"}, "a way to choose"),
          node.at("table").text(), node.at("entry").text(), node.at("distance").number(0, 1e9),
          node.at("note").text()};
}

Stage read_stage(const JsonNode& node) {
  node.expect_keys({"name", "median_ms", "model_read_bytes", "model_write_bytes"});
  return {node.at("name").text(), node.at("median_ms").any_number(),
          node.at("model_read_bytes").any_number(), node.at("model_write_bytes").any_number()};
}

Io read_io(const JsonNode& node) {
  node.expect_keys(
      {"floor_bytes", "model_read_bytes", "model_write_bytes", "workspace_bytes", "measured"});
  Io io{node.at("floor_bytes").any_number(),
        number_or(node, "model_read_bytes", 0),
        number_or(node, "model_write_bytes", 0),
        number_or(node, "workspace_bytes", 0),
        {}};
  if (const auto measured = present(node, "measured")) io.measured = read_reading(*measured);
  return io;
}

BuildInfo read_build(const JsonNode& node) {
  node.expect_keys(
      {"registers", "spill_bytes", "shared_bytes", "seconds", "cached", "kernels", "warnings"});
  BuildInfo build;
  build.registers = read_int(node.at("registers"));
  build.spill_bytes = read_int(node.at("spill_bytes"));
  build.shared_bytes = read_int(node.at("shared_bytes"));
  build.seconds = node.at("seconds").any_number();
  build.cached = node.at("cached").boolean();
  build.warnings = text_or(node, "warnings", "");
  const auto kernels = present(node, "kernels");
  for (const JsonNode& kernel : kernels ? kernels->items() : std::vector<JsonNode>{}) {
    kernel.expect_keys({"entry", "registers", "spill_bytes", "shared_bytes"});
    build.kernels.push_back({kernel.at("entry").text(), read_int(kernel.at("registers")),
                             read_int(kernel.at("spill_bytes")),
                             read_int(kernel.at("shared_bytes"))});
  }
  return build;
}

std::optional<std::array<double, 2>> read_interval(const JsonNode& node, std::string_view key) {
  const auto member = present(node, key);
  if (!member) return std::nullopt;
  const auto ends = member->items();
  if (ends.size() != 2) member->fail("two numbers, the ends of an interval");
  return std::array<double, 2>{ends[0].any_number(), ends[1].any_number()};
}

SearchNote read_search(const JsonNode& node) {
  node.expect_keys({"strategy", "left", "rounds", "interval_ms", "best_ms"});
  return {node.at("strategy").text(),
          node.at("left").one_of({"end", "slower", "traffic", "unvisited", "failed", "stopped"},
                                 "how a search ends with a candidate"),
          static_cast<int>(node.at("rounds").integer(0, most_int)),
          read_interval(node, "interval_ms"), read_interval(node, "best_ms")};
}

/// In lines of what was asked, where it ran, what came of it, and what was counted.
std::vector<std::string> record_keys() {
  std::vector<std::string> keys;
  for (const auto& line : std::initializer_list<std::vector<std::string>>{
           {"operator", "direction", "dtype", "layout", "shape", "gate", "seed"},
           {"initial_state", "final_state", "scale", "tensors", "options"},
           {"variant", "backend", "device", "tile", "source_hash", "peer", "build"},
           {"status", "reason", "wrong_tensors", "refused_tiles", "verification", "command"},
           {"timing", "throttled_timing", "stages", "io", "energy", "flops", "chosen_by"},
           {"against", "search"}})
    keys.insert(keys.end(), line.begin(), line.end());
  return keys;
}

}  // namespace

Problem read_problem(const JsonNode& node) {
  Problem problem;
  problem.op = node.at("operator").text();
  problem.direction =
      read_enum(node.at("direction"), parse_direction, "a direction: forward, backward");
  problem.dtype = read_dtype(node.at("dtype"));
  problem.layout = read_enum(node.at("layout"), parse_layout, "a layout: seq_first, head_first");
  problem.shape = read_shape(node.at("shape"));
  problem.gate = node.at("gate").text();
  problem.seed = node.at("seed").unsigned_integer();
  problem.initial_state = flag_or(node, "initial_state", false);
  problem.final_state = flag_or(node, "final_state", true);
  if (const auto scale = present(node, "scale"))
    problem.scale = scale->number(-most_double, most_double);
  if (const auto tensors = present(node, "tensors")) {
    tensors->expect_keys({"file", "names"});
    problem.tensors = tensors->at("file").text();
    for (const auto& [input, stored] : tensors->at("names").members())
      problem.tensor_names[input] = stored.text();
  }
  if (const auto options = present(node, "options"))
    for (const auto& [option, value] : options->members()) problem.options[option] = value.text();
  return problem;
}

RecordKey read_key(const JsonNode& node) {
  Tile tile;
  for (const auto& [axis, value] : node.at("tile").members()) tile[axis] = read_int(value);
  return {read_problem(node), node.at("variant").text(),
          read_enum(node.at("backend"), parse_backend, "a backend: host, cuda"), std::move(tile)};
}

Facts read_facts(const JsonNode& node) {
  Facts facts;
  for (const auto& [key, fact] : node.members()) {
    if (fact.is_string())
      facts[key] = fact.text();
    else if (fact.is_boolean())
      facts[key] = fact.boolean();
    else
      facts[key] = fact.any_number();
  }
  return facts;
}

Record read_record(const JsonNode& node) {
  node.expect_keys(record_keys());
  Record record;
  std::tie(record.problem, record.variant, record.backend, record.tile) = read_key(node);
  record.device = text_or(node, "device", "");
  record.status = read_status(node.at("status"));
  record.reason = node.at("reason").text();
  record.wrong_tensors = text_or(node, "wrong_tensors", "");  // "command" follows from the rest
  if (const auto tiles = present(node, "refused_tiles"))
    record.refused_tiles = tiles->integer(1, std::numeric_limits<std::int64_t>::max());
  if (const auto found = present(node, "verification"))
    record.verification = read_verification(*found, plain_arithmetic(record.problem.dtype));
  if (const auto found = present(node, "timing")) record.timing = read_timing(*found);
  if (const auto found = present(node, "throttled_timing"))
    record.throttled_timing = read_timing(*found);
  if (const auto stages = present(node, "stages"))
    for (const JsonNode& stage : stages->items()) record.stages.push_back(read_stage(stage));
  record.io = read_io(node.at("io"));
  if (const auto found = present(node, "energy")) record.energy = read_energy(*found);
  record.flops = number_or(node, "flops", 0);
  if (const auto found = present(node, "build")) record.build = read_build(*found);
  record.source_hash = node.at("source_hash").text();
  record.peer = node.at("peer").boolean();
  if (const auto found = present(node, "chosen_by")) record.chosen_by = read_chosen(*found);
  if (const auto found = present(node, "against"))
    record.against = read_against(*found, plain_arithmetic(record.problem.dtype));
  if (const auto found = present(node, "search")) record.search = read_search(*found);
  return record;
}

}  // namespace gla_bench
