#include "harness/engine/resume.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/error.hpp"

namespace gla_bench {

RecordFile create_run(const std::string& path, const Facts& environment, const Config& config,
                      RecordFile::Existing existing) {
  return RecordFile::create(path, environment, config_to_json(config), existing);
}

bool was_begun(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) || read_journal(journal_path(path)).has_value();
}

void expect_same_place(const std::string& path, const Facts& here, const Facts& there,
                       std::string_view done) {
  for (const std::string_view key : {"backend", "device"}) {
    const std::string now = fact_text(here, key), then = fact_text(there, key);
    if (now != then)
      throw InputError(path + ": was made on another " + std::string(key) + " (\"" + then +
                       "\", this is \"" + now + "\"), so it cannot be " + std::string(done));
  }
}

std::string interrupted_steps(const Results& results) {
  std::string text;
  if (results.unfinished)
    for (const Started& started : results.unfinished->in_flight)
      text += "\nwhen the run before ended it was under way: " + describe(started);
  return text;
}

RecordFile resume_run(const std::string& path, const Facts& environment, const Config& config,
                      Results& results, std::string& note) {
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
  const Extension here = extension_by(environment);
  const bool extended = !results.extended.empty();
  const Extension last = extended ? results.extended.back() : extension_by(results.environment);
  if (here.git_commit != last.git_commit)
    note = "the records in " + path + " were " + (extended ? "extended" : "begun") +
           " with commit " + last.git_commit + ", this is " + here.git_commit;
  note += interrupted_steps(results);
  if (note.starts_with('\n')) note.erase(0, 1);
  return file;
}

}  // namespace gla_bench
