#pragma once
// What happened to a candidate. Each struct of a record is followed by one declaration of its
// fields. That declaration writes them (record_json.cpp), reads them (record_read.cpp) and
// describes them (results_schema.cpp).

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/variant.hpp"
#include "harness/records/parts/measured.hpp"
#include "harness/records/parts/notes.hpp"
#include "harness/records/parts/status.hpp"
#include "harness/records/parts/verdict.hpp"

namespace gla_bench {

struct Record {
  Problem problem;
  std::string variant;
  std::string manifest;  ///< path of the manifest of a variant from outside; empty: the program's
  BackendId backend = BackendId::host;
  std::string device;
  Tile tile;
  Status status = Status::rejected;
  std::string reason;
  std::string wrong_tensors;
  std::int64_t refused_tiles = 0;
  std::optional<Verification> verification;
  std::optional<Timing> timing;
  std::optional<Timing> throttled_timing;
  std::vector<Stage> stages;
  double seconds = 0;
  double predicted_ms = 0;  ///< 0: not predicted
  Io io;
  std::optional<Energy> energy;
  double flops = 0;
  std::optional<BuildInfo> build;
  std::string source_hash;
  std::string
      verifier_hash;  ///< identifies what verified it (verify/verifier_hash.hpp); empty: unknown
  bool peer = false;
  std::optional<ChosenBy> chosen_by;
  std::optional<Against> against;
  std::optional<SearchNote> search;
};

/// Whether another program measured it, so that this one can neither run nor refresh it.
inline bool measured_elsewhere(const Record& record) {
  return record.peer && record.manifest.empty();
}

/// A shell command that verifies and measures the record's candidate again: gla-bench repeat
/// '{...}'.
std::string repeat_command(const Record& record);

// What is said of a candidate's name wherever it stands.
inline constexpr FieldInfo about_variant{.about = "The variant that was tried.",
                                         .column = "variant"};
inline constexpr FieldInfo about_manifest{
    .about = "The path of the manifest that describes the variant; missing for the program's own.",
    .presence = Presence::sparse};
inline constexpr FieldInfo about_backend{.about = "Where it ran.", .column = "backend"};
inline constexpr FieldInfo about_tile{"The value of each of the variant's axes."};

template <class Visitor>
void fields(Visitor& visit, Of<Record>) {
  using enum Presence;
  visit.of("record", "What happened to one candidate on one problem.");
  visit("variant", &Record::variant, about_variant);
  visit("manifest", &Record::manifest, about_manifest);
  visit("backend", &Record::backend, about_backend);
  visit("device", &Record::device,
        {.about = "The UUID of the GPU that it ran on (GPU-...); missing on the host.",
         .presence = sparse});
  visit("tile", &Record::tile, about_tile);
  visit("status", &Record::status, {.about = "What became of the candidate.", .column = "status"});
  visit("reason", &Record::reason, {"Why it was not measured; empty where it was."});
  visit("wrong_tensors", &Record::wrong_tensors,
        {.about = "The file with the inputs, outputs and reference of a wrong row, where they were "
                  "kept.",
         .presence = sparse});
  visit("refused_tiles", &Record::refused_tiles,
        {.about = "How many tiles were refused for such a reason (its numbers aside); `tile` is "
                  "the first of them.",
         .presence = sparse,
         .least = 1});
  visit.inlined([](const Record& record) -> const Problem& { return record.problem; },
                [](Record& record, Problem problem) { record.problem = std::move(problem); });
  visit("verification", &Record::verification,
        {.about = "The verdict on the outputs; null where nothing was verified.",
         .presence = added,
         .column = "*"});
  visit("timing", &Record::timing,
        {.about = "How long a call takes; null where nothing was measured.",
         .presence = added,
         .column = "*"});
  visit("throttled_timing", &Record::throttled_timing,
        {.about = "The first timing of a row that was throttled and then measured again.",
         .presence = sparse});
  visit("stages", &Record::stages,
        {.about = "The parts of a call, where the variant has stages.", .presence = sparse});
  visit("seconds", &Record::seconds,
        {.about = "How long the work on the candidate took: building, verifying and measuring it; "
                  "missing where it is not known.",
         .unit = "seconds",
         .presence = sparse,
         .least = 0});
  visit("predicted_ms", &Record::predicted_ms,
        {.about = "How long a call was predicted to take by a cost model that knows the variant, "
                  "before it was compiled; missing where there was none.",
         .unit = "milliseconds",
         .presence = sparse,
         .least = 0,
         .column = "predicted_ms"});
  visit("io", &Record::io, {"What a call moves through device memory."});
  visit("energy", &Record::energy,
        {.about = "What a call takes; missing where it was not asked for or not measured.",
         .presence = sparse,
         .column = "*"});
  visit("flops", &Record::flops,
        {.about = "The floating-point operations of one call, by the variant's model.",
         .presence = added});
  visit("build", &Record::build,
        {.about = "What compiling the candidate gave; null where nothing was compiled.",
         .presence = added});
  visit(
      "source_hash", &Record::source_hash,
      {.about = "The hash of the sources that the candidate is made of.", .column = "source_hash"});
  visit("verifier_hash", &Record::verifier_hash,
        {.about = "The hash of what verified it: verification, references, inputs, tolerances and "
                  "the compiler; missing in records from before the field.",
         .presence = sparse});
  visit("peer", &Record::peer,
        {.about = "Whether another project's implementation was measured: it is shown beside the "
                  "others and wins nothing. Without a manifest another program measured it.",
         .column = "peer"});
  visit.derived("command", repeat_command,
                {"A shell command that verifies and measures this candidate again."},
                [](const Record& record) { return !measured_elsewhere(record); });
  visit("chosen_by", &Record::chosen_by,
        {.about = "How `auto` came to the candidate; missing where the config named it.",
         .presence = sparse});
  visit("against", &Record::against,
        {.about = "The comparison with another binary, where one was asked for.",
         .presence = sparse});
  visit("search", &Record::search,
        {.about = "How a search ended with the candidate, in a search's results file.",
         .presence = sparse});
  visit.rule(R"({"allOf": [
    {"if": {"properties": {"status": {"const": "measured"}}},
     "then": {"required": ["verification", "timing"],
              "properties": {"verification": {"type": "object"}, "timing": {"type": "object"}}}},
    {"if": {"properties": {"status": {"const": "verified"}}},
     "then": {"required": ["verification"],
              "properties": {"verification": {"type": "object"}}}}]})");
}

/// What identifies a record. No two records of a results file have the same key.
using RecordKey = std::tuple<Problem, std::string, BackendId, Tile>;
RecordKey key_of(const Record& record);
/// The key that the candidate's record has.
RecordKey key_of(const Candidate& candidate);

/// "chunk_fused [cuda] block_v=32 on gla forward ...": a name that stays the same from run to run.
std::string describe(const RecordKey& key);

/// False where the candidate was not tried: rejected, left_out.
bool was_tried(const Record& record);

/// "wrong chunk_fused [cuda] block_v=32 on gla forward ...: reason", for messages.
std::string describe(const Record& record);

}  // namespace gla_bench
