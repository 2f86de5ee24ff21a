#pragma once
// Records -> verdicts: what CI believes. Pure: reads nothing, needs no GPU.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/catalog.hpp"
#include "harness/records/record_file.hpp"
#include "harness/verify/tolerance.hpp"

namespace gla_bench {

struct GatePolicy {
  Catalog catalog;
  Tolerance tolerance;         ///< the caps that no bound may be above
  bool require_fresh = false;  ///< a stale source_hash or verifier_hash fails instead of warning
  /// Name of a variant's sources as they are now.
  std::function<std::string(const Variant&)> source_hash;
  /// Name of what verifies on a backend now (verify/verifier_hash.hpp); empty: unknown.
  std::function<std::string(BackendId)> verifier_hash = {};
};

/// What is said about one record, or about something that a file should hold.
struct Verdict {
  std::string file;
  std::string subject;                ///< the record's identity
  std::vector<std::string> failures;  ///< none: it passes
  std::vector<std::string> warnings;
  std::string skipped;    ///< why it proves nothing: refused, only built
  std::string note = {};  ///< what is worth a line, but neither a failure nor a warning
};

/// Fails, per file: a status that is_failure(); a `measured` or `verified`
/// record whose verification is missing, not ok, lacks an output, holds a NaN, an error above its
/// bound or a bound above the cap, or whose last timed launch was not verified; times that are not
/// finite and positive or do not follow from their samples; no records; and a requested variant
/// without a verified record on a problem of the file's config. Where the sweep allows refusals a
/// problem whose every tile was rejected by name passes, as long as the variant was verified on
/// another.
std::vector<Verdict> gate(std::span<const Results> files, const GatePolicy& policy);

/// The verdict on one record alone.
Verdict judge_record(const Record& record, const std::string& file, const GatePolicy& policy);

/// True where there is a verdict and none has a failure.
bool passed(std::span<const Verdict> verdicts);

/// The verdicts as JUnit XML: a test suite per file, a test case per verdict.
std::string junit_xml(std::span<const Verdict> verdicts);

}  // namespace gla_bench
