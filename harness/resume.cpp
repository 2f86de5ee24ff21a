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
  if (!std::filesystem::exists(path, error))
    return create_run(path, environment, config, RecordFile::Existing::refuse);
  // Compared before the file is touched: a wrong path is left as it is.
  const Results before = read_results(path);
  if (auto difference = first_difference(config_to_json(config), *before.config))
    throw InputError(path + ": is of another config, so it can not be resumed: /config" +
                     *difference);
  for (const std::string_view key : {"backend", "device"}) {
    const std::string here = fact_text(environment, key);
    const std::string there = fact_text(before.environment, key);
    if (here != there)
      throw InputError(path + ": was made on another " + std::string(key) + " (\"" + there +
                       "\", this is \"" + here + "\"), so it can not be resumed");
  }
  const std::string commit = fact_text(environment, "git_commit");
  const std::string first = fact_text(before.environment, "git_commit");
  if (commit != first)
    note = "the records in " + path + " were begun with commit " + first + ", this is " + commit;
  return RecordFile::resume(path, results);
}

}  // namespace gla_bench
