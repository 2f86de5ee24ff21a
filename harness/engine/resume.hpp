#pragma once
// Opens the results file of a run: a new one, or an existing one to continue.

#include <string>
#include <string_view>
#include <vector>

#include "harness/config/config.hpp"
#include "harness/engine/assignment.hpp"
#include "harness/records/record_file.hpp"

namespace gla_bench {

/// RecordFile::create() with the config as JSON.
RecordFile create_run(const std::string& path, const Facts& environment, const Config& config,
                      RecordFile::Existing existing);

/// Continues a file of the same config, on the same backend and device. `results` receives what the
/// file holds, without the stale records (drop_stale()). Where there are any, the file is replaced
/// by one without them, whose list of extensions grows. A file that does not exist yet is made.
/// @throws InputError naming the first difference
RecordFile resume_run(const std::string& path, const Facts& environment, const Config& config,
                      const Catalog& catalog, const Place& place, Results& results,
                      std::string& note);

/// Whether a record of the variant was made from other sources than the place has now
/// (Place::source_hash), or is known to have been verified in another way (Place::verifier_hash).
bool is_stale(const Record& record, const Variant& variant, const Place& place);

/// Removes the records that are stale or of a variant that is gone, and with a search's the others
/// of the same problem, which were left out or ended for their sake. Refusals go too where anything
/// is removed: they are found anew. Returns how many records that were tried are removed. Peers
/// stay.
std::size_t drop_stale(std::vector<Record>& records, const Catalog& catalog, const Place& place);

// The functions below are shared by resume_run() and extend_run().

/// True where there is a file, or a journal of one.
bool was_begun(const std::string& path);

/// The first of backend and device that two environments differ in; empty: they are of one place.
std::string_view other_place(const Facts& one, const Facts& other);

/// @throws InputError "FILE: was made on another device ..., so it cannot be DONE", by backend and
/// device
void expect_same_place(const std::string& path, const Facts& here, const Facts& there,
                       std::string_view done);

/// @throws InputError where the file is of another shard, or one of the two is of all problems
void expect_same_shard(const std::string& path, const Facts& here, const Facts& there,
                       std::string_view done);

/// One line, each after a newline, for each step that the previous run did not finish.
std::string interrupted_steps(const Results& results);

}  // namespace gla_bench
