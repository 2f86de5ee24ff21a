#include "harness/resume.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/error.hpp"

namespace gla_bench {

RecordFile create_run(const std::string& path, const Facts& environment, const Config& config,
                      RecordFile::Existing existing) {
  return RecordFile::create(path, environment, config_to_json(config), existing);
}

RecordFile resume_run(const std::string& path, const Facts& environment, const Config& config,
                      Results& results, std::string& note) {
  std::error_code error;
  const bool begun =
      std::filesystem::exists(path, error) || read_journal(journal_path(path)).has_value();
  if (!begun) return create_run(path, environment, config, RecordFile::Existing::refuse);
  // It touches nothing: a wrong path is left as it is.
  RecordFile file = RecordFile::resume(path, results);
  if (auto difference = first_difference(config_to_json(config), *results.config))
    throw InputError(path + ": is of another config, so it can not be resumed: /config" +
                     *difference);
  for (const std::string_view key : {"backend", "device"}) {
    const std::string here = fact_text(environment, key);
    const std::string there = fact_text(results.environment, key);
    if (here != there)
      throw InputError(path + ": was made on another " + std::string(key) + " (\"" + there +
                       "\", this is \"" + here + "\"), so it can not be resumed");
  }
  const std::string commit = fact_text(environment, "git_commit");
  const std::string first = fact_text(results.environment, "git_commit");
  if (commit != first)
    note = "the records in " + path + " were begun with commit " + first + ", this is " + commit;
  if (results.unfinished)
    for (const Started& started : results.unfinished->in_flight)
      note += (note.empty() ? "" : "\n") +
              ("when the run before ended it was under way: " + describe(started));
  return file;
}

}  // namespace gla_bench
