#pragma once
// The journal of a run, beside its results file: OUT.json.journal.
//
// JSON lines: {"journal", "environment", "config"} once, then {"starting"} before each step of a
// candidate and {"record"} after it, and {"asked"} for a problem that was handed out. The file is
// only ever appended to, and a line is on the disk before the next one begins. Whatever kills the
// writer therefore costs at most the line that it was writing.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/records/record.hpp"
#include "harness/records/shards/shard.hpp"
#include "harness/support/facts.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

constexpr int journal_version = 1;

/// The most bytes of a results file or a journal that are read.
constexpr std::uint64_t most_results_bytes = std::uint64_t{1} << 30;

/// The journal of a results file; where that is a link, it lies beside the file itself.
std::string journal_path(const std::string& results);

/// A step of a candidate that has begun.
struct Started {
  std::string step;
  std::string where;
  RecordKey candidate;
};

template <class Visitor>
void fields(Visitor& visit, Of<Started>) {
  visit.of("starting", "A step of a candidate that was begun.");
  visit("step", &Started::step, {"What was begun: verify, measure, ..."});
  visit("where", &Started::where,
        {.about = "The worker, where there are several.", .presence = Presence::sparse});
  visit.inlined(
      [](const Started& started) -> const RecordKey& { return started.candidate; },
      [](Started& started, RecordKey candidate) { started.candidate = std::move(candidate); });
}

/// The step as an object, both ways. @throws InputError
Json started_to_json(const Started& started);
Started read_started(const JsonNode& node);

/// "measure chunk_fused [cuda] chunk=64 on gla forward ..., on GPU-12ab...", for people.
std::string describe(const Started& started);

struct JournalContent {
  Facts environment;
  std::shared_ptr<const Json> config;
  std::vector<Record> records;    ///< in order; a later one takes the place of an earlier one
  std::vector<AskedPoint> asked;  ///< likewise, by their places in the config
  std::vector<Started>
      in_flight;                 ///< steps that began last in their place and have no record since
  std::int64_t whole_bytes = 0;  ///< size up to the end of the last whole line
  bool torn = false;             ///< a half-written line follows
};

/// Parses a journal's text. Returns nothing where not even the first line is whole. A torn last
/// line is left out. `file` is for messages. @throws InputError naming the line, for any other line
/// that the writer would not have written
std::optional<JournalContent> parse_journal(std::string_view text, const std::string& file);

/// parse_journal() of a file; nothing where there is none. @throws InputError
std::optional<JournalContent> read_journal(const std::string& path);

/// True where a process holds the journal right now.
bool journal_is_held(const std::string& path);

// Each gives one line, without the newline.
std::string journal_head(const Json& environment, const Json& config);
std::string journal_starting(const Started& started);
std::string journal_record(std::string_view record);
std::string journal_asked(const AskedPoint& point);

/// A journal open for writing, locked against every other writer until it is closed. An empty
/// journal is removed when it is closed.
class Journal {
 public:
  /// Creates the file where there is none. @throws InputError where another process holds it,
  /// OutputError where it cannot be written
  static Journal open(const std::string& path);

  Journal(Journal&& other) noexcept;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  Journal& operator=(Journal&&) = delete;
  ~Journal();

  const std::string& path() const { return path_; }
  bool empty() const { return size_ == 0; }

  /// Truncates the file to its first bytes, to remove a torn line or everything. @throws
  /// OutputError
  void cut(std::int64_t bytes);

  /// Appends a line. With `durable` it is on the disk when this returns; without, it is handed over
  /// with the next durable line. Returns the error number, or 0. After an error the journal holds
  /// what it held before.
  int append(std::string_view line, bool durable);

  /// Ends the journal: the run is over, and the results file has everything.
  void remove();

 private:
  Journal(std::string path, int descriptor, std::int64_t size);

  std::string path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace gla_bench
