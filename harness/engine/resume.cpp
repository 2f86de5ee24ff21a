#include "harness/engine/resume.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.hpp"
#include "harness/verify/verifier_hash.hpp"

namespace gla_bench {

RecordFile create_run(const std::string& path, const Facts& environment, const Config& config,
                      RecordFile::Existing existing) {
  return RecordFile::create(path, environment, config_to_json(config), existing);
}

bool was_begun(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) || read_journal(journal_path(path)).has_value();
}

std::string_view other_place(const Facts& one, const Facts& other) {
  for (const std::string_view key : {"backend", "device"})
    if (fact_text(one, key) != fact_text(other, key)) return key;
  return "";
}

void expect_same_place(const std::string& path, const Facts& here, const Facts& there,
                       std::string_view done) {
  const std::string_view key = other_place(here, there);
  if (!key.empty())
    throw InputError(path + ": was made on another " + std::string(key) + " (\"" +
                     fact_text(there, key) + "\", this is \"" + fact_text(here, key) +
                     "\"), so it cannot be " + std::string(done));
}

void expect_same_shard(const std::string& path, const Facts& here, const Facts& there,
                       std::string_view done) {
  const auto shown = [](const Facts& facts) {
    const std::string shard = fact_text(facts, shard_fact);
    return shard.empty() ? std::string("all problems") : "shard " + shard;
  };
  const std::string now = shown(here), then = shown(there);
  if (now != then)
    throw InputError(path + ": is of " + then + ", this is " + now + ", so it cannot be " +
                     std::string(done));
}

std::string interrupted_steps(const Results& results) {
  std::string text;
  if (results.unfinished)
    for (const Started& started : results.unfinished->in_flight)
      text += "\nwhen the run before ended it was under way: " + describe(started);
  return text;
}

bool is_stale(const Record& record, const Variant& variant, const Place& place) {
  return record.source_hash != place.source_hash(variant) ||
         differs(match_verifier(record.verifier_hash, verifier_hash(place, record.problem.op)));
}

std::size_t drop_stale(std::vector<Record>& records, const Catalog& catalog, const Place& place) {
  std::set<RecordKey> stale;
  std::set<Problem> searched;
  for (const Record& record : records) {
    if (measured_elsewhere(record) || !was_tried(record)) continue;
    const Variant* variant = catalog.find_variant(record.problem.op, record.variant, record.backend,
                                                  record.problem.direction);
    if (variant != nullptr && !is_stale(record, *variant, place)) continue;
    stale.insert(key_of(record));
    if (record.search) searched.insert(record.problem);
  }
  if (stale.empty()) return 0;
  std::size_t dropped = 0;
  std::erase_if(records, [&](const Record& record) {
    if (measured_elsewhere(record)) return false;
    const bool goes = record.status == Status::rejected || stale.contains(key_of(record)) ||
                      searched.contains(record.problem);
    dropped += goes && was_tried(record) ? 1 : 0;
    return goes;
  });
  return dropped;
}

RecordFile resume_run(const std::string& path, const Facts& environment, const Config& config,
                      const Catalog& catalog, const Place& place, Results& results,
                      std::string& note) {
  note.clear();
  if (!was_begun(path)) return create_run(path, environment, config, RecordFile::Existing::refuse);
  // This does not change the file: a wrong path is left as it is.
  RecordFile file = RecordFile::resume(path, results);
  if (auto difference = first_difference(config_to_json(config), *results.config)) {
    // A search looks at each problem as a whole, so `tune` has nothing like it.
    const bool searched = std::any_of(results.records.begin(), results.records.end(),
                                      [](const Record& record) { return !!record.search; });
    throw InputError(path + ": is of another config, so it cannot be resumed: /config" +
                     *difference +
                     (searched ? "" : "; `run` and `verify` go on under another with --extend"));
  }
  expect_same_place(path, environment, results.environment, "resumed");
  expect_same_shard(path, environment, results.environment, "resumed");
  Extension here = extension_by(environment);
  const bool extended = !results.extended.empty();
  const Extension last = extended ? results.extended.back() : extension_by(results.environment);
  if (here.git_commit != last.git_commit)
    note = "the records in " + path + " were " + (extended ? "extended" : "begun") +
           " with commit " + last.git_commit + ", this is " + here.git_commit;
  note += interrupted_steps(results);
  if (const std::size_t dropped = drop_stale(results.records, catalog, place); dropped > 0) {
    here.records_stale = static_cast<std::int64_t>(dropped);
    here.records_kept = std::count_if(results.records.begin(), results.records.end(), was_tried);
    results.extended.push_back(here);
    results.unfinished.reset();
    file.begin_anew(results);
    note += "\n" + std::to_string(dropped) + (dropped == 1 ? " record is" : " records are") +
            " made again, for the sources or the verification have changed since";
  }
  if (note.starts_with('\n')) note.erase(0, 1);
  return file;
}

}  // namespace gla_bench
