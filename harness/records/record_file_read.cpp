// Results files, read, with their journals.

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/records/record_file.hpp"
#include "harness/records/record_json.hpp"

namespace gla_bench {
namespace {

/// Reads the results file without its journal.
Results read_file(const std::string& path) {
  Results results;
  results.file = path;
  const Json document = read_json_file(path, most_results_bytes);
  const JsonNode root(document, path);
  root.expect_keys(
      {"schema_version", "environment", "config", "extended", "parts", "asked", "records"});
  root.at("schema_version").integer(schema_version, schema_version);
  results.environment = read_facts(root.at("environment"));
  if (!root.at("config").is_object()) root.at("config").fail("an object");
  results.config = std::make_shared<const Json>(root.at("config").json());
  if (const auto extended = root.find("extended")) results.extended = read_extensions(*extended);
  if (const auto parts = root.find("parts")) results.parts = read_parts(*parts);
  if (const auto asked = root.find("asked")) results.asked = read_asked(*asked);
  for (const JsonNode& record : root.at("records").items())
    results.records.push_back(read_record(record));
  return results;
}

/// Why a journal does not belong to this file, or nothing.
std::optional<std::string> another_run(const Results& results, const JournalContent& journal) {
  auto difference = first_difference(facts_to_json(journal.environment),
                                     facts_to_json(results.environment), "/environment");
  if (!difference) difference = first_difference(*journal.config, *results.config, "/config");
  return difference;
}

/// Adds what the journal has. Each record replaces an older one of the same candidate.
void merge(JournalContent journal, Results& results) {
  std::map<RecordKey, std::size_t> index;
  for (std::size_t i = 0; i < results.records.size(); ++i)
    index.try_emplace(key_of(results.records[i]), i);
  for (Record& record : journal.records) {
    const auto [place, fresh] = index.try_emplace(key_of(record), results.records.size());
    if (fresh)
      results.records.push_back(std::move(record));
    else
      results.records[place->second] = std::move(record);
    results.unfinished->records += fresh ? 1 : 0;
  }
  add_asked(results.asked, std::move(journal.asked));
  results.unfinished->in_flight = std::move(journal.in_flight);
}

}  // namespace

std::string describe(const Unfinished& unfinished, const std::string& path) {
  if (!unfinished.fault.empty()) return unfinished.fault + "; it is left out";
  std::string text = unfinished.running ? "a run is writing to it right now"
                                        : "its run has not come to its end: `run --resume -o " +
                                              path + "` goes on";
  if (unfinished.records > 0)
    text += "; " + std::to_string(unfinished.records) + " records are from " + unfinished.file;
  for (const Started& started : unfinished.in_flight)
    text += std::string("; ") + (unfinished.running ? "under way: " : "under way when it ended: ") +
            describe(started);
  return text;
}

std::size_t place_in_file(const Results& results, std::size_t index) {
  return index < results.places.size() ? results.places[index] : index + 1;
}

Results read_results(const std::string& path) {
  // The journal is read first: if its run ends in between, the file has everything.
  const std::string beside = journal_path(path);
  std::optional<JournalContent> journal;
  Unfinished unfinished{beside, journal_is_held(beside), 0, {}, ""};
  try {
    journal = read_journal(beside);
  } catch (const InputError& error) {
    unfinished.fault = error.what();
  }
  std::error_code error;
  Results results;
  if (journal && !std::filesystem::exists(path, error)) {
    results.file = path;
    results.environment = journal->environment;
    results.config = journal->config;
  } else {
    results = read_file(path);
  }
  if (!journal && unfinished.fault.empty()) return results;
  results.unfinished = std::move(unfinished);
  if (!journal) return results;
  if (const auto difference = another_run(results, *journal))
    results.unfinished->fault = beside + ": is of another run than " + path + ": " + *difference;
  else
    merge(std::move(*journal), results);
  return results;
}

std::vector<Results> read_results(std::span<const std::string> paths) {
  std::vector<Results> files;
  for (const std::string& path : paths) files.push_back(read_results(path));
  return files;
}

}  // namespace gla_bench
