// Results files, written.

#include "harness/records/record_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/error.hpp"
#include "harness/records/record_json.hpp"
#include "harness/support/atomic_file.hpp"
#include "harness/support/elapsed.hpp"
#include "harness/support/output_file.hpp"

namespace gla_bench {
namespace {

namespace fs = std::filesystem;

std::string pretty(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

std::string on_one_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// An array with one element on each line.
void add_lines(std::string& text, const std::vector<std::string>& lines) {
  text += "[";
  for (std::size_t i = 0; i < lines.size(); ++i)
    text.append(i == 0 ? "\n" : ",\n").append(lines[i]);
  text += "\n]";
}

}  // namespace

std::string record_line(const Record& record) {
  return on_one_line(record_to_json(record));
}

std::string results_text(const Results& results, const std::vector<std::string>& lines) {
  std::string text = "{\"schema_version\": " + std::to_string(schema_version) +
                     ",\n\"environment\": " + pretty(facts_to_json(results.environment)) +
                     ",\n\"config\": " + pretty(*results.config);
  if (!results.extended.empty())
    text += ",\n\"extended\": " + pretty(extensions_to_json(results.extended));
  if (!results.parts.empty()) text += ",\n\"parts\": " + pretty(parts_to_json(results.parts));
  if (!results.asked.empty()) {
    std::vector<std::string> points;
    for (const AskedPoint& point : results.asked)
      points.push_back(on_one_line(asked_to_json(point)));
    text += ",\n\"asked\": ";
    add_lines(text, points);
  }
  text += ",\n\"records\": ";
  add_lines(text, lines);
  return text + "}\n";
}

bool rewrite_is_due(double seconds, double write_seconds, std::size_t fresh, std::size_t written) {
  constexpr double share_of_time = 0.05;
  constexpr std::size_t growth = 16;  // a geometric series: 17 times its last member at most
  return write_seconds <= share_of_time * seconds && fresh >= written / growth;
}

Journal RecordFile::open_journal(const std::string& path, Existing existing) {
  make_folder_of(path);
  if (output_target(path).kind != OutputTarget::Kind::file)
    throw InputError(path +
                     ": is no regular file, expected one for results, which are replaced as a "
                     "whole and have a journal beside them");
  const auto refuse = [&](bool there) {
    if (there && existing == Existing::refuse)
      throw InputError(path + ": exists already; --resume goes on with it, --force replaces it");
  };
  std::error_code error;
  refuse(fs::exists(path, error));
  Journal journal = Journal::open(journal_path(path));
  refuse(!journal.empty());
  return journal;
}

void RecordFile::expect_writable(const std::string& path, Existing existing) {
  open_journal(path, existing);  // the journal holds nothing, so it is removed again
}

RecordFile::RecordFile(std::string path, Journal journal)
    : path_(std::move(path)), journal_(std::move(journal)) {}

RecordFile RecordFile::create(const std::string& path, const Facts& environment, const Json& config,
                              Existing existing) {
  RecordFile file(path, open_journal(path, existing));
  std::error_code error;
  const bool there = fs::exists(path, error);
  // The old journal goes first and the new one comes last: neither ever lies beside the other's
  // results.
  file.journal_.cut(0);
  Results content;
  content.environment = environment;
  content.config = std::make_shared<const Json>(config);
  file.set_head(content);
  try {
    file.write_now();
    file.journal(file.journal_head_, true);
  } catch (const OutputError&) {
    if (!there) ::unlink(output_target(path).path.c_str());
    throw;
  }
  return file;
}

RecordFile RecordFile::resume(const std::string& path, Results& content) {
  RecordFile file(path, open_journal(path, Existing::replace));
  content = read_results(path);
  if (content.unfinished && !content.unfinished->fault.empty())
    throw InputError(content.unfinished->fault + "; it cannot be resumed with it");
  if (content.unfinished) content.unfinished->running = false;  // this is the run that holds it
  file.set_head(content);
  for (const Record& record : content.records) file.keep(record, record_line(record));
  std::error_code error;
  file.stale_ = content.unfinished || !fs::exists(path, error);
  if (const auto known = read_journal(file.journal_.path()))
    file.journal_.cut(known->whole_bytes);
  else
    file.journal_.cut(0);                  // not even its head was whole
  ::unlink(temporary_name(path).c_str());  // of a run that was killed while it wrote
  return file;
}

void RecordFile::begin_anew(const Results& content) {
  // Records that only the old journal has are written to the old file first. Then that journal can
  // be removed, because it must not lie beside the new file.
  if (stale_) write_now();
  journal_.cut(0);
  set_head(content);
  lines_.clear();
  index_.clear();
  for (const Record& record : content.records) keep(record, record_line(record));
  if (const int error = replace_now())
    throw OutputError(path_ + ": cannot be written: " + std::strerror(error) +
                      "; it holds what it held before");
  journal(journal_head_, true);
}

void RecordFile::set_head(const Results& content) {
  head_ = {};
  head_.environment = content.environment;
  head_.config = content.config;
  head_.extended = content.extended;
  head_.asked = content.asked;
  head_.parts = content.parts;
  journal_head_ = journal_head(facts_to_json(head_.environment), *head_.config);
}

void RecordFile::ask(std::vector<AskedPoint> points) {
  if (points == head_.asked) return;
  head_.asked = std::move(points);
  write_now();
}

void RecordFile::ask_also(std::vector<AskedPoint> points) {
  std::erase_if(points, [&](const AskedPoint& point) {
    return std::find(head_.asked.begin(), head_.asked.end(), point) != head_.asked.end();
  });
  for (const AskedPoint& point : points) {
    const std::string line = journal_asked(point);
    journal(line, &point == &points.back());
    fresh_ += line.size();
  }
  if (points.empty()) return;
  stale_ = true;
  add_asked(head_.asked, std::move(points));
}

void RecordFile::keep(const Record& record, std::string line) {
  const auto [place, fresh] = index_.try_emplace(key_of(record), lines_.size());
  if (fresh)
    lines_.push_back(std::move(line));
  else
    lines_[place->second] = std::move(line);
}

void RecordFile::fail(const std::string& what, int error) const {
  std::string text = what + ": " + std::strerror(error);
  if (!journal_.empty() || !lines_.empty())  // else there is no file yet
    text += "; " + std::to_string(lines_.size()) + " records are kept in " + path_ +
            (stale_ ? " and its journal" : "") + ", --resume goes on";
  throw OutputError(text);
}

void RecordFile::journal(const std::string& line, bool durable) {
  if (journal_.empty() && line != journal_head_) journal(journal_head_, true);
  if (const int error = journal_.append(line, durable))
    fail(journal_.path() + ": a line could not be written", error);
}

void RecordFile::starting(const Candidate& candidate, std::string_view step,
                          std::string_view where) {
  journal(journal_starting({std::string(step), std::string(where), key_of(candidate)}), true);
}

void RecordFile::append(const Record& record) {
  std::string line = record_line(record);
  journal(journal_record(line), was_tried(record));
  stale_ = true;
  fresh_ += line.size();
  keep(record, std::move(line));
  if (rewrite_is_due(seconds_since(written_at_), write_seconds_, fresh_, written_)) write_now();
}

int RecordFile::replace_now() {
  const auto start = std::chrono::steady_clock::now();
  const std::string text = results_text(head_, lines_);
  if (const int error = replace_file(path_, text)) return error;
  stale_ = false;
  fresh_ = 0;
  written_ = text.size();
  written_at_ = std::chrono::steady_clock::now();
  write_seconds_ = seconds_since(start);
  return 0;
}

void RecordFile::write_now() {
  if (const int error = replace_now()) fail(path_ + ": cannot be written", error);
}

void RecordFile::finish(const Facts& environment, const Json& config) {
  if (stale_) write_now();
  // The journal must not lie beside a file with another environment: it would be of another run.
  journal_.cut(0);
  head_.environment = environment;
  head_.config = std::make_shared<const Json>(config);
  write_now();
  journal_.remove();
}

void RecordFile::arrange(std::span<const RecordKey> order) {
  std::map<RecordKey, std::size_t> places;  // from 1
  for (const RecordKey& key : order) places.emplace(key, places.size() + 1);
  struct Row {
    std::size_t place, line;
    std::size_t* index;
  };
  std::vector<Row> rows;
  for (auto& [key, line] : index_) {
    const auto found = places.find(key);
    rows.push_back({found == places.end() ? 0 : found->second, line, &line});
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.place, a.line) < std::tie(b.place, b.line);
  });
  std::vector<std::string> lines;
  for (const Row& row : rows) {
    lines.push_back(std::move(lines_[row.line]));
    *row.index = lines.size() - 1;
  }
  lines_ = std::move(lines);
  stale_ = true;
}

void RecordFile::finish() {
  if (stale_) write_now();
  journal_.remove();
}

}  // namespace gla_bench
