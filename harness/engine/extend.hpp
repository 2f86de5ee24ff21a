#pragma once
// Going on with a results file under another config than it was made from (`run --extend`).

#include <span>
#include <string>
#include <vector>

#include "harness/config/config.hpp"
#include "harness/engine/assignment.hpp"
#include "harness/records/record_file.hpp"

namespace gla_bench {

/// What a config asks for in a place, with every candidate that it has (nothing dropped yet).
struct Asked {
  std::span<const Assignment> work;
  /// The same, were there memory enough: what does not fit today may be recorded all the same.
  std::vector<Assignment> roomy;
};

/// `chooser` as for assignments(), of which `work` comes, and which the result refers to.
Asked asked_of(const Config& config, const Catalog& catalog, const Place& place,
               const Chooser* chooser, std::span<const Assignment> work);

/// What of a file's records is taken over into a config.
struct TakenOver {
  std::vector<Record> records;  ///< in the file's order; refusals as they are decided today
  std::int64_t kept = 0;        ///< of the records, what was tried
  std::int64_t dropped = 0;     ///< not asked for any more
  std::int64_t stale = 0;       ///< asked for, but made of other sources or verified in another way
                                ///< than today: to be made again
};

/// A record stays where its candidate is asked for, its sources are today's (Place::source_hash)
/// and what verified it is not known to be different today (Place::verifier_hash); how `auto` came
/// to it is told anew. A refusal stays where there is one of the same candidate, as which it then
/// reads.
TakenOver take_over(std::vector<Record> records, const Asked& asked, const Place& place);

/// Goes on with a file under `config`; `results` receives what is taken over, and the environment
/// of the first run, `note` lines for people. The file is replaced whole before anything is tried,
/// so that resume_run() goes on with it from then on. Its list of extensions grows, unless this
/// changes nothing and is by the program that wrote last. A file that does not exist yet is made.
/// @throws InputError, with the file as it was: another backend or device, another policy of
/// measuring or verifying, rows of a search, of rounds or of a peer, nothing that `config` asks for
RecordFile extend_run(const std::string& path, const Facts& environment, const Config& config,
                      const Asked& asked, const Place& place, Results& results, std::string& note);

}  // namespace gla_bench
