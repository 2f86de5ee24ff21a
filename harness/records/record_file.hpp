#pragma once
// A results file: {"schema_version", "environment", "config", "records"}, one record per line. A
// file that was continued under another config also has "extended" (extended.hpp), a shard's file
// "asked" and a merged file "parts" (shards/shard.hpp).
//
// During a run the journal (journal.hpp) has everything. The results file is replaced as a whole
// from time to time and at the end, when the journal is removed. The file is therefore valid JSON
// at every instant, and no record is lost however the run ends.

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/records/extended.hpp"
#include "harness/records/journal.hpp"
#include "harness/records/record.hpp"
#include "harness/records/shards/shard.hpp"
#include "harness/support/facts.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

constexpr int schema_version = 1;

/// A journal beside a results file, which means that the run has not come to its end.
struct Unfinished {
  std::string file;
  bool running = false;            ///< a run holds it right now
  std::size_t records = 0;         ///< records of the journal that the results file lacks
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
  std::vector<AskedPoint> asked;  ///< of a shard's file
  std::vector<MergedPart> parts;  ///< of a merged file
  std::vector<Record> records;
  std::optional<Unfinished> unfinished;
  /// The records' places in the file, counted from 1, where some of its records were left out.
  /// Empty: the places are those in `records`.
  std::vector<std::size_t> places = {};
};

/// The text of a results file with these records, each as JSON; what `results` holds of records is
/// left aside.
std::string results_text(const Results& results, const std::vector<std::string>& lines);

/// A record as it stands in the file.
std::string record_line(const Record& record);

/// The place n of a record in FILE#n.
std::size_t place_in_file(const Results& results, std::size_t index);

/// Reads the file together with what its journal adds. A journal that cannot be read or belongs to
/// another run is left out, with the reason. @throws InputError for a file that is not a results
/// file
Results read_results(const std::string& path);
/// All of them, in this order.
std::vector<Results> read_results(std::span<const std::string> paths);

/// True when the results file should be written again. The last write took `write_seconds` for
/// `written` bytes and ended `seconds` ago; `fresh` bytes of records came since. At most 5 % of the
/// time goes into writing, and all writes together are at most 17 times the last one.
bool rewrite_is_due(double seconds, double write_seconds, std::size_t fresh, std::size_t written);

/// A results file that is being made, locked against every other run. Not thread-safe.
class RecordFile {
 public:
  enum class Existing { refuse, replace };

  /// Fails where create() would fail (or resume(), with `replace`), before any time is spent on
  /// what to write. It leaves nothing behind but the folders. @throws InputError, OutputError
  static void expect_writable(const std::string& path, Existing existing);

  /// Opens a new file without records, and makes missing folders. @throws InputError where the file
  /// exists already (unless it is to be replaced) or another run writes to it; OutputError where it
  /// cannot be written
  static RecordFile create(const std::string& path, const Facts& environment, const Json& config,
                           Existing existing = Existing::refuse);

  /// Continues a file and its journal, of which either may be missing. `content` receives what they
  /// hold. Before the first starting() or append() nothing is written, except that a torn last line
  /// is cut off. @throws InputError for a file or journal that cannot be read, or is in use;
  /// OutputError
  static RecordFile resume(const std::string& path, Results& content);

  /// For a file that resume() opened: replaces its environment, config, extensions and records by
  /// `content`, which is on the disk when this returns. If the process ends in between, either the
  /// old or the new content is there. @throws OutputError, in which case the old content is there
  void begin_anew(const Results& content);

  /// Writes into the file what the shard has to bring, unless it says so already. @throws
  /// OutputError
  void ask(std::vector<AskedPoint> points);

  /// Journals what it has to bring besides: problems that are handed out one by one. They are on
  /// the disk when this returns. @throws OutputError
  void ask_also(std::vector<AskedPoint> points);

  /// Journals that a step of a candidate begins. The line is on the disk when this returns. `where`
  /// names the worker where there are several. @throws OutputError
  void starting(const Candidate& candidate, std::string_view step, std::string_view where = "");

  /// Journals a record, which is on the disk when this returns. (A refusal may reach the disk
  /// later, because it costs nothing to find again.) The record replaces one of the same key_of().
  /// After a failure the journal holds what it held before. @throws OutputError saying why, and
  /// what is kept
  void append(const Record& record);

  /// Puts the records that `order` names behind the others, in its order: where several workers
  /// bring them, they come as problems end.
  void arrange(std::span<const RecordKey> order);

  /// Writes the results file and removes the journal: the run has come to its end. If it is never
  /// called, both files stay as they are. Nothing else may be called after it. @throws OutputError
  void finish();

  /// Does the same as finish(), with an environment that has changed since the start.
  void finish(const Facts& environment, const Json& config);

  const std::string& path() const { return path_; }
  std::size_t size() const { return lines_.size(); }

 private:
  RecordFile(std::string path, Journal journal);
  static Journal open_journal(const std::string& path, Existing existing);
  void set_head(const Results& content);
  void keep(const Record& record, std::string line);
  void journal(const std::string& line, bool durable);
  int replace_now();
  void write_now();
  [[noreturn]] void fail(const std::string& what, int error) const;

  std::string path_;
  Journal journal_;
  std::string journal_head_;
  Results head_;                    ///< what the file holds besides its records
  std::vector<std::string> lines_;  ///< the records, as JSON
  std::map<RecordKey, std::size_t> index_;
  bool stale_ = false;     ///< the results file lacks something
  std::size_t fresh_ = 0;  ///< bytes that it lacks
  std::size_t written_ = 0;
  double write_seconds_ = 0;
  std::chrono::steady_clock::time_point written_at_ = std::chrono::steady_clock::now();
};

}  // namespace gla_bench
