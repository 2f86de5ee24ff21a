#pragma once
// Continues a results file under another config than it was made from (`run --extend`).

#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/config/config.hpp"
#include "harness/engine/assignment.hpp"
#include "harness/records/record_file.hpp"

namespace gla_bench {

/// What a config asks for in a place, with all of its candidates (nothing is dropped yet).
struct Asked {
  std::span<const Assignment> work;
  /// The same with unlimited memory: a problem that does not fit today may have been recorded
  /// before.
  std::vector<Assignment> roomy;
  /// Of a shard: the problems of the config that other shards have.
  std::set<Problem> elsewhere = {};
};

/// `chooser` is used as in assignments(), which makes `work`. The result refers to it.
Asked asked_of(const Config& config, const Catalog& catalog, const Place& place,
               const Chooser* chooser, std::span<const Assignment> work);

/// Which of a file's records are taken over into a config.
struct TakenOver {
  std::vector<Record> records;  ///< in the file's order; refusals are decided anew
  std::int64_t kept = 0;        ///< how many of the records were tried
  std::int64_t dropped = 0;     ///< how many are no longer asked for, or of another shard now
  std::int64_t elsewhere = 0;   ///< how many of those dropped are of another shard now
  std::int64_t stale = 0;  ///< how many are asked for, but were made from other sources or verified
                           ///< in another way than today, and have to be made again
};

/// A record is kept where its candidate is asked for, its sources are today's (Place::source_hash)
/// and its verifier is not known to differ from today's (Place::verifier_hash). How `auto` chose it
/// is noted anew. A refusal is kept where the same candidate is refused today, and takes over
/// today's reason.
TakenOver take_over(std::vector<Record> records, const Asked& asked, const Place& place);

/// Continues a file under `config`. `results` receives the records that are taken over and the
/// environment of the first run; `note` receives lines for people. The file is replaced as a whole
/// before anything is tried, so that resume_run() can continue it from then on. Its list of
/// extensions grows, unless this call changes nothing and the same program wrote last. A file that
/// does not exist yet is made.
/// @throws InputError and leaves the file as it was: another backend or device, another policy of
/// measuring or verifying, rows of a search, of rounds or of a peer, nothing that `config` asks for
RecordFile extend_run(const std::string& path, const Facts& environment, const Config& config,
                      const Asked& asked, const Place& place, Results& results, std::string& note);

}  // namespace gla_bench
