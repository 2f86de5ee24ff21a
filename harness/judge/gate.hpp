#pragma once
// Turns records into the verdicts that CI relies on. Pure functions, except that the manifests of a
// file's config are read. They need no GPU.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/catalog.hpp"
#include "harness/config/config.hpp"
#include "harness/records/record_file.hpp"
#include "harness/verify/tolerance.hpp"

namespace gla_bench {

struct GatePolicy {
  Catalog catalog;
  Tolerance tolerance;         ///< caps that no bound may exceed
  bool require_fresh = false;  ///< a stale source_hash or verifier_hash fails instead of warning
  /// Hash of a variant's sources as they are now.
  std::function<std::string(const Variant&)> source_hash;
  /// Hash of the code that verifies an operator's candidates on a backend now
  /// (verify/verifier_hash.hpp); empty: unknown.
  std::function<std::string(BackendId, const std::string& op)> verifier_hash = {};
  /// The caps hold for the errors themselves, whatever they were verified by: a bound may exceed
  /// its cap then.
  bool caps_for_errors = false;
};

/// The verdict on one record, or on something that a file should hold.
struct Verdict {
  std::string file;
  std::string subject;                ///< the record's identity, the same from run to run
  std::vector<std::string> failures;  ///< empty: it passes
  std::vector<std::string> warnings;
  std::string skipped;    ///< why it proves nothing: refused, only built
  std::string note = {};  ///< a remark that is neither a failure nor a warning
  double seconds = 0;     ///< how long the work on the candidate took; 0: unknown
};

/// These fail, per file. A status that is_failure(). A `measured` or `verified` record whose
/// verification is missing, is not ok, lacks an output, holds a NaN, an error above its bound or a
/// bound above the cap, or whose last timed launch was not verified. Times that are not finite and
/// positive or do not follow from their samples, and those that cannot be true (`suspect`) unless
/// the config's policy names the variant. A file without records. A requested variant
/// without a verified record on a problem of the file's config. Where the sweep allows refusals, a
/// problem of which every tile was rejected with a reason passes, as long as the variant was
/// verified on another problem. A variant that took less than the least share of an operator's
/// problems that the policy asks for (shares.hpp).
std::vector<Verdict> gate(std::span<const Results> files, const GatePolicy& policy);

/// The verdict on one record alone. `asked`: the policy of the file's config.
Verdict judge_record(const Record& record, const std::string& file, const GatePolicy& policy,
                     const Policy& asked = {});

/// True where there is a verdict and none has a failure.
bool passed(std::span<const Verdict> verdicts);

/// The verdicts as JUnit XML: a test suite per file, a test case per verdict, with its time where
/// that is known. A CI system follows a test by its name, which says nothing of how it went.
std::string junit_xml(std::span<const Verdict> verdicts);

}  // namespace gla_bench
