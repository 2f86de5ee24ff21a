#pragma once
// A results file: {"schema_version", "environment", "config", "records"}, one record per line.
//
// It is written so that it can be read whenever the writer dies: a record is appended by one write
// over the closing "\n]}\n", which it ends with again. A write that the system cuts in two (a kill
// in the middle of it, a full disk) leaves at most a torn last line, which the reader here drops.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/facts.hpp"
#include "harness/json.hpp"
#include "harness/record.hpp"

namespace gla_bench {

constexpr int schema_version = 1;

/// The content of a results file.
struct Results {
  std::string file;
  Facts environment;
  std::shared_ptr<const Json> config;  ///< an object, as config_to_json() writes it
  std::vector<Record> records;
  bool torn = false;  ///< a half-written last line was dropped
  std::int64_t tail =
      -1;  ///< where the closing text starts, in bytes; -1: not written by RecordFile
};

/// @throws InputError for a file that is not of this kind
Results read_results(const std::string& path);

class RecordFile {
 public:
  enum class Existing { refuse, replace };

  /// A new file without records; missing folders are made. @throws InputError where there is one
  /// already (unless it is to be replaced) or it can not be written
  static RecordFile create(const std::string& path, const Facts& environment, const Json& config,
                           Existing existing = Existing::refuse);

  /// Goes on with a file; a torn tail is cut off first. `content` receives what it holds.
  /// @throws InputError for a file that can not be read, written or is in use
  static RecordFile resume(const std::string& path, Results& content);

  RecordFile(RecordFile&& other) noexcept;
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;
  RecordFile& operator=(RecordFile&&) = delete;
  ~RecordFile();

  /// Appends one line. After a failure the file holds what it held before.
  /// @throws InputError saying why, and how many records are kept
  void append(const Record& record);

  const std::string& path() const { return path_; }
  std::size_t size() const { return count_; }

 private:
  RecordFile(std::string path, int descriptor);
  void lock();
  void restore_tail();

  std::string path_;
  int descriptor_ = -1;
  std::int64_t tail_ = 0;  ///< where the closing text starts
  std::size_t count_ = 0;
};

}  // namespace gla_bench
