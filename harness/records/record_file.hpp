#pragma once
// A results file: {"schema_version", "environment", "config", "records"}, one record per line; one
// that was gone on with under another config has "extended" (extended.hpp), too.
//
// While a run is going on its journal (journal.hpp) has everything; the results file is replaced
// whole now and then, and at the end, when the journal is removed. So the file is valid JSON at
// every instant, and whatever ends the run costs no record.

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/records/extended.hpp"
#include "harness/records/journal.hpp"
#include "harness/records/record.hpp"
#include "harness/support/facts.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

constexpr int schema_version = 1;

/// A journal that lies beside a results file: its run has not come to its end.
struct Unfinished {
  std::string file;
  bool running = false;            ///< a run holds it right now
  std::size_t records = 0;         ///< of the journal's, which the results file lacks
  std::vector<Started> in_flight;  ///< what was begun last, without a record
  std::string fault;               ///< why the journal is left out; empty: it is taken
};

/// A sentence or two for people; `path` is the results file.
std::string describe(const Unfinished& unfinished, const std::string& path);

/// The content of a results file, and of its journal where there is one.
struct Results {
  std::string file;
  Facts environment;
  std::shared_ptr<const Json> config;  ///< an object, as config_to_json() writes it
  std::vector<Extension> extended;
  std::vector<Record> records;
  std::optional<Unfinished> unfinished;
  /// The records' places in the file, counted from 1, where some of it were left out; empty: as
  /// they stand here.
  std::vector<std::size_t> places = {};
};

/// Of a record: n of FILE#n.
std::size_t place_in_file(const Results& results, std::size_t index);

/// The file with what its journal adds. A journal that can not be read or is of another run is left
/// out, with the reason. @throws InputError for a file that is not of this kind
Results read_results(const std::string& path);

/// True when the results file is to be written again: the last time took `write_seconds`, of
/// `written` bytes, and ended `seconds` ago, and `fresh` bytes of records came since. At most 5 %
/// of the time goes into it, and all the writes together are at most 17 times the last of them.
bool rewrite_is_due(double seconds, double write_seconds, std::size_t fresh, std::size_t written);

/// A results file being made, held against every other run. Not for several threads at a time.
class RecordFile {
 public:
  enum class Existing { refuse, replace };

  /// Fails as create() would (as resume() with `replace`), before any time is spent on what to
  /// write. It leaves nothing but the folders. @throws InputError, OutputError
  static void expect_writable(const std::string& path, Existing existing);

  /// A new file without records; missing folders are made. @throws InputError where there is one
  /// already (unless it is to be replaced) or another run writes to it; OutputError where it can
  /// not be written
  static RecordFile create(const std::string& path, const Facts& environment, const Json& config,
                           Existing existing = Existing::refuse);

  /// Goes on with a file and its journal, of which either may be missing. `content` receives what
  /// they hold. Nothing is written before the first starting() or append() but a torn last line cut
  /// off. @throws InputError for a file or journal that can not be read, or is in use; OutputError
  static RecordFile resume(const std::string& path, Results& content);

  /// Of a file that resume() opened: puts `content` in the place of what it holds, environment,
  /// config, extensions and records, on the disk when this returns. Whatever ends it in between
  /// leaves the old or the new. @throws OutputError with the old
  void begin_anew(const Results& content);

  /// Journals that a step of a candidate begins, on the disk when this returns. `where` is the
  /// worker where there are several. @throws OutputError
  void starting(const Candidate& candidate, std::string_view step, std::string_view where = "");

  /// Journals a record, on the disk when this returns (a refusal is on its way there: it costs
  /// nothing to find again). It takes the place of one of the same key_of(). After a failure the
  /// journal holds what it held before. @throws OutputError saying why, and what is kept
  void append(const Record& record);

  /// Writes the results file and removes the journal: the run has come to its end. Without it both
  /// stay as they are. Nothing else may be called after it. @throws OutputError
  void finish();

  /// finish(), with an environment that has learnt something since the start.
  void finish(const Facts& environment, const Json& config);

  const std::string& path() const { return path_; }
  std::size_t size() const { return lines_.size(); }

 private:
  RecordFile(std::string path, Journal journal);
  static Journal open_journal(const std::string& path, Existing existing);
  void set_head(const Facts& environment, const Json& config);
  std::string file_head(const Json& environment, const Json& config) const;
  void keep(const Record& record, std::string line);
  void journal(const std::string& line, bool durable);
  int replace_now();
  void write_now();
  [[noreturn]] void fail(const std::string& what, int error) const;

  std::string path_;
  Journal journal_;
  std::string journal_head_;
  std::vector<Extension> extended_;
  std::string head_;                ///< the file's text up to its records
  std::vector<std::string> lines_;  ///< the records, as JSON
  std::map<RecordKey, std::size_t> index_;
  bool stale_ = false;     ///< the results file lacks something
  std::size_t fresh_ = 0;  ///< bytes that it lacks
  std::size_t written_ = 0;
  double write_seconds_ = 0;
  std::chrono::steady_clock::time_point written_at_ = std::chrono::steady_clock::now();
};

}  // namespace gla_bench
