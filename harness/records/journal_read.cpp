// Reads journals, also those whose writer was killed in the middle of a line or is still running.

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/records/journal.hpp"
#include "harness/records/record_json.hpp"

namespace gla_bench {
namespace {

constexpr std::size_t most_in_flight = 1000;  // one in each worker

void begin(std::vector<Started>& in_flight, Started started) {
  for (Started& other : in_flight)
    if (other.where == started.where) {
      other = std::move(started);
      return;
    }
  in_flight.push_back(std::move(started));
}

void read_line(const JsonNode& line, JournalContent& content) {
  line.expect_keys({"starting", "record", "asked"});
  if (line.json().size() != 1) line.fail("either \"starting\" or \"record\" or \"asked\"");
  if (const auto asked = line.find("asked")) {
    content.asked.push_back(read_asked_point(*asked));
    return;
  }
  if (const auto starting = line.find("starting")) {
    begin(content.in_flight, read_started(*starting));
    // Each record is compared with all of them.
    if (content.in_flight.size() > most_in_flight)
      starting->fail("at most " + std::to_string(most_in_flight) + " steps under way");
    return;
  }
  content.records.push_back(read_record(line.at("record")));
  std::erase_if(content.in_flight, [key = key_of(content.records.back())](const Started& started) {
    return started.candidate == key;
  });
}

void read_head(const JsonNode& head, JournalContent& content) {
  head.expect_keys({"journal", "environment", "config"});
  head.at("journal").integer(journal_version, journal_version);
  content.environment = read_facts(head.at("environment"));
  if (!head.at("config").is_object()) head.at("config").fail("an object");
  content.config = std::make_shared<const Json>(head.at("config").json());
}

}  // namespace

std::string describe(const Started& started) {
  std::string text = started.step + " " + describe(started.candidate);
  if (!started.where.empty()) text += ", by " + started.where;
  return text;
}

std::optional<JournalContent> parse_journal(std::string_view text, const std::string& file) {
  JournalContent content;
  std::size_t start = 0, number = 0;
  for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', start)) {
    const std::string_view line = text.substr(start, end - start);
    // What a power cut left of the last line may hold a newline and still be torn.
    const bool has_nul = line.find('\0') != std::string_view::npos;  // an end, to accept()
    if (end + 1 == text.size() && (has_nul || !Json::accept(line))) break;
    const std::string place = file + " line " + std::to_string(++number);
    const Json json = parse_json(line, place);
    if (number == 1)
      read_head(JsonNode(json, place), content);
    else
      read_line(JsonNode(json, place), content);
    start = end + 1;
  }
  content.whole_bytes = static_cast<std::int64_t>(start);
  content.torn = start < text.size();
  if (number == 0) return std::nullopt;
  return content;
}

std::optional<JournalContent> read_journal(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  return parse_journal(read_text_file(path, most_results_bytes), path);
}

}  // namespace gla_bench
