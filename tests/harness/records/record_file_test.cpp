#include "harness/records/record_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "harness/support/atomic_file.hpp"
#include "tests/support/sample_record.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/toy.hpp"

namespace gla_bench {
namespace {

/// The files of a folder, by name.
std::vector<std::string> files_in(const TemporaryFolder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::uint64_t> seeds(const Results& results) {
  std::vector<std::uint64_t> list;
  for (const Record& record : results.records) list.push_back(record.problem.seed);
  return list;
}

std::size_t size_of(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<std::size_t>(size);
}

using Seeds = std::vector<std::uint64_t>;
using Names = std::vector<std::string>;

TEST(RecordFile, HoldsEveryRecordAfterEveryAppend) {
  const TemporaryFolder folder{memory_folder()};
  const std::string path = folder.file("deep/er/r.json");
  RecordFile file = RecordFile::create(path, environment(), config());
  Seeds expected;
  for (int i = 0; i <= 40; ++i) {
    if (i > 0) {
      file.append(sample_record(i));
      expected.push_back(static_cast<std::uint64_t>(i));
    }
    ASSERT_TRUE(Json::accept(read_text_file(path))) << i;
    const Results results = read_results(path);
    ASSERT_EQ(seeds(results), expected);
    ASSERT_TRUE(results.unfinished);
    EXPECT_TRUE(results.unfinished->running);
    EXPECT_EQ(results.unfinished->fault, "");
    EXPECT_EQ((*results.config)["description"], "a test");
    EXPECT_EQ(fact_text(results.environment, "device"), "toy");
    EXPECT_EQ(fact_number(results.environment, "copy_gb_per_s"), 10.5);
    EXPECT_EQ(fact_text(results.environment, "git_dirty"), "true");
  }
  file.finish();
  const Results results = read_results(path);
  EXPECT_FALSE(results.unfinished);
  EXPECT_EQ(seeds(results), expected);
  EXPECT_FALSE(std::filesystem::exists(journal_path(path)));
}

TEST(RecordFile, HasOneLinePerRecord) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  RecordFile file = RecordFile::create(path, {}, config());
  file.append(sample_record(1));
  file.append(sample_record(2));
  file.finish();
  const std::string text = read_text_file(path);
  const auto start = text.find("\"records\": [\n");
  ASSERT_NE(start, std::string::npos);
  const std::string list = text.substr(start);
  EXPECT_EQ(std::count(list.begin(), list.end(), '\n'), 4);
}

TEST(RecordFile, ALaterRecordOfTheSameCandidateTakesItsPlace) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  {
    RecordFile file = RecordFile::create(path, {}, config());
    for (const int number : {1, 2, 1}) file.append(sample_record(number, number == 2 ? 3 : 5));
    EXPECT_EQ(file.size(), 2u);
    Record again = sample_record(1, 7);
    file.append(again);
  }
  Results content;
  RecordFile::resume(path, content).finish();
  const Results results = read_results(path);
  EXPECT_EQ(seeds(results), (Seeds{1, 2}));
  EXPECT_EQ(results.records[0].timing->cold.samples_ms.size(), 7u);
}

TEST(RecordFile, RefusesToReplaceUnlessTold) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  const auto again = [&] { RecordFile::create(path, {}, config()); };
  { RecordFile::create(path, environment(), config()).append(sample_record(1)); }
  EXPECT_NE(error_of(again).find("exists already"), std::string::npos);
  EXPECT_EQ(read_results(path).records.size(), 1u);
  std::filesystem::remove(path);
  EXPECT_NE(error_of(again).find("exists already"), std::string::npos) << "its journal does";
  EXPECT_EQ(read_results(path).records.size(), 1u);
  RecordFile::create(path, {}, config(), RecordFile::Existing::replace);
  EXPECT_EQ(read_results(path).records.size(), 0u);
}

TEST(RecordFile, RefusesWhatIsNoFile) {
  const TemporaryFolder folder;
  const auto create = [](const std::string& path) {
    return error_of([&] { RecordFile::create(path, {}, config(), RecordFile::Existing::replace); });
  };
  EXPECT_NE(create(folder.path().string()).find("is a folder"), std::string::npos);
  EXPECT_NE(create("/dev/null").find("is no regular file"), std::string::npos);
  std::ofstream(folder.file("file")) << "x";
  EXPECT_NE(create(folder.file("file/r.json")), "no error");
  EXPECT_EQ(files_in(folder), (Names{"file"}));
}

TEST(RecordFile, AFolderThatTakesNoFilesIsToldAtOnce) {
  try {
    RecordFile::create("/proc/r.json", {}, config());
    FAIL() << "it was written";
  } catch (const OutputError& error) {
    EXPECT_NE(std::string(error.what()).find("/proc/r.json"), std::string::npos) << error.what();
  }
}

TEST(RecordFile, WhetherItCanBeWrittenIsKnownBeforehand) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  const auto check = [](const std::string& file, RecordFile::Existing existing) {
    return error_of([&] { RecordFile::expect_writable(file, existing); });
  };
  using Existing = RecordFile::Existing;
  EXPECT_EQ(check(path, Existing::refuse), "no error");
  EXPECT_EQ(files_in(folder), Names{});
  EXPECT_THROW(RecordFile::expect_writable("/proc/r.json", Existing::refuse), OutputError);
  {
    RecordFile file = RecordFile::create(path, environment(), config());
    EXPECT_NE(check(path, Existing::replace).find("another run"), std::string::npos);
    file.append(sample_record(1));
  }
  EXPECT_NE(check(path, Existing::refuse).find("exists already"), std::string::npos);
  EXPECT_EQ(check(path, Existing::replace), "no error");
  EXPECT_EQ(seeds(read_results(path)), (Seeds{1})) << "nothing is touched";
}

TEST(RecordFile, OneWriterAtATime) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  const RecordFile file = RecordFile::create(path, {}, config());
  Results content;
  EXPECT_NE(error_of([&] { RecordFile::resume(path, content); }).find("another run"),
            std::string::npos);
  const auto replace = [&] {
    RecordFile::create(path, {}, config(), RecordFile::Existing::replace);
  };
  EXPECT_NE(error_of(replace).find("another run"), std::string::npos);
  EXPECT_EQ(files_in(folder), (Names{"r.json", "r.json.journal"})) << "nothing is left behind";
}

TEST(RecordFile, ResumeGoesOnBehindTheLastRecord) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  { RecordFile::create(path, environment(), config()).append(sample_record(1)); }
  for (std::uint64_t next = 2; next < 5; ++next) {
    Results content;
    RecordFile file = RecordFile::resume(path, content);
    ASSERT_TRUE(content.unfinished);
    EXPECT_FALSE(content.unfinished->running) << "not by another";
    EXPECT_EQ(content.records.size(), next - 1);
    file.append(sample_record(static_cast<int>(next)));
  }
  EXPECT_EQ(seeds(read_results(path)), (Seeds{1, 2, 3, 4}));
}

TEST(RecordFile, ResumeGoesOnWithAFinishedFile) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  RecordFile::create(path, environment(), config()).finish();
  Results content;
  { const RecordFile untouched = RecordFile::resume(path, content); }
  EXPECT_EQ(files_in(folder), (Names{"r.json"})) << "nothing was begun, so there is no journal";
  { RecordFile::resume(path, content).append(sample_record(1)); }
  EXPECT_EQ(seeds(read_results(path)), (Seeds{1}));
  RecordFile file = RecordFile::resume(path, content);
  file.append(sample_record(2));
  file.finish();
  EXPECT_EQ(seeds(read_results(path)), (Seeds{1, 2}));
  EXPECT_EQ(files_in(folder), (Names{"r.json"}));
}

TEST(RecordFile, TheJournalAloneIsEnough) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  { RecordFile::create(path, environment(), config()).append(sample_record(1)); }
  std::filesystem::remove(path);
  Results content;
  RecordFile::resume(path, content).finish();
  EXPECT_EQ(seeds(read_results(path)), (Seeds{1}));
  EXPECT_EQ(fact_number(read_results(path).environment, "copy_gb_per_s"), 10.5);
}

TEST(RecordFile, ATemporaryFileOfAKilledWriterIsCleared) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  { RecordFile::create(path, environment(), config()).append(sample_record(1)); }
  std::ofstream(temporary_name(path)) << "{\"half";
  Results content;
  RecordFile::resume(path, content).finish();
  EXPECT_EQ(files_in(folder), (Names{"r.json"}));
}

TEST(RecordFile, AJournalOfAnotherRunIsLeftOutAndNotResumed) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json"), other = folder.file("o.json");
  { RecordFile::create(path, environment(), config()).append(sample_record(1)); }
  {
    Facts elsewhere = environment();
    elsewhere["device"] = std::string("another toy");
    RecordFile::create(other, elsewhere, config()).append(sample_record(2));
  }
  std::filesystem::rename(journal_path(other), journal_path(path));
  const Results results = read_results(path);
  ASSERT_TRUE(results.unfinished);
  EXPECT_NE(results.unfinished->fault.find("/environment/device"), std::string::npos)
      << results.unfinished->fault;
  for (const Record& record : results.records) EXPECT_EQ(record.problem.seed, 1u);
  Results content;
  EXPECT_NE(error_of([&] { RecordFile::resume(path, content); }).find("is of another run"),
            std::string::npos);
}

TEST(RecordFile, BrokenFilesAreErrors) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  for (const std::string text : {"", "{", "[]",
                                 "{\"schema_version\": 2, \"environment\": {}, "
                                 "\"config\": {}, \"records\": []}",
                                 "{\"records\": []}"}) {
    std::ofstream(path, std::ios::binary) << text;
    EXPECT_NE(error_of([&] { read_results(path); }), "no error") << text;
    Results content;
    EXPECT_NE(error_of([&] { RecordFile::resume(path, content); }), "no error") << text;
    EXPECT_EQ(read_text_file(path), text);
    EXPECT_EQ(files_in(folder), (Names{"r.json"}));
  }
}

TEST(RecordFile, RewritesTakeAFixedShareOfTheTimeAndOfTheDisk) {
  EXPECT_TRUE(rewrite_is_due(0, 0, 100, 0)) << "the first record";
  EXPECT_TRUE(rewrite_is_due(20, 1, 1000, 1000));
  EXPECT_FALSE(rewrite_is_due(19.9, 1, 1000, 1000)) << "more than 5 % of the time";
  EXPECT_FALSE(rewrite_is_due(1e6, 1, 999, 16000)) << "too little new to write it all again";
  EXPECT_TRUE(rewrite_is_due(1e6, 1, 1000, 16000));
  // A sweep of 10,000 records, one a millisecond: what is written in all stays near what is kept.
  double written_in_all = 0;
  std::size_t size = 0, written = 0;
  for (int i = 0; i < 10000; ++i) {
    size += 4000;
    if (!rewrite_is_due(1e9, 0, size - written, written)) continue;
    written = size;
    written_in_all += static_cast<double>(size);
  }
  EXPECT_LT(written_in_all, 20.0 * static_cast<double>(size));
}

// A child appends as fast as it can and is killed at some moment: nothing that was there is lost.
TEST(RecordFile, SurvivesAKill) {
  const TemporaryFolder folder{memory_folder()};
  const std::string path = folder.file("r.json");
  { RecordFile::create(path, environment(), config()).append(sample_record(1, 200)); }
  std::size_t before = 1;
  for (int round = 0; round < 10; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Results content;
      RecordFile file = RecordFile::resume(path, content);
      for (int next = static_cast<int>(file.size()) + 1;; ++next)
        file.append(sample_record(next, 200));
    }
    // By what it wrote, not by the clock: a machine may be as busy as it likes.
    const std::size_t enough = size_of(journal_path(path)) + 1500 + 701 * round;
    while (size_of(journal_path(path)) < enough)
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ASSERT_TRUE(Json::accept(read_text_file(path)));
    const Results results = read_results(path);
    ASSERT_GE(results.records.size(), before);
    before = results.records.size();
    for (std::size_t i = 0; i < before; ++i) {
      ASSERT_EQ(results.records[i].problem.seed, i + 1);
      ASSERT_EQ(results.records[i].timing->cold.samples_ms.size(), 200u);
    }
  }
  EXPECT_GE(before, 11u) << "the children never got to write";
}

/// The error of an action in a child whose files may not grow above a size.
std::string error_under_limit(const std::string& note, std::size_t bytes,
                              const std::function<void()>& action) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limits{bytes, bytes};
    ::setrlimit(RLIMIT_FSIZE, &limits);
    const std::string error = error_of(action);
    std::ofstream(note) << error.substr(0, bytes);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  return read_text_file(note);
}

// A file-size limit stands for a full disk.
TEST(RecordFile, AFullDiskKeepsWhatWasWritten) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  {
    RecordFile file = RecordFile::create(path, environment(), config());
    file.append(sample_record(1));
    file.append(sample_record(2));
  }
  const std::size_t size = std::filesystem::file_size(journal_path(path));
  const std::string error = error_under_limit(folder.file("note"), size + 100, [&] {
    Results content;
    RecordFile::resume(path, content).append(sample_record(3, 5000));
  });
  EXPECT_NE(error.find("could not be written"), std::string::npos) << error;
  EXPECT_NE(error.find("2 records are kept"), std::string::npos) << error;
  EXPECT_EQ(seeds(read_results(path)), (Seeds{1, 2}));
  EXPECT_FALSE(read_journal(journal_path(path))->torn);
}

// The journal fits, and the results file no more: everything is in the journal.
TEST(RecordFile, AResultsFileThatDoesNotFitIsToldAndNothingIsLost) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  std::string error;
  {
    RecordFile file = RecordFile::create(path, environment(), config());
    std::filesystem::create_directory(temporary_name(path));  // nothing can be written there
    try {
      for (int i = 1; i < 100; ++i) file.append(sample_record(i));
      file.finish();
    } catch (const OutputError& caught) {
      error = caught.what();
    }
  }
  EXPECT_NE(error.find("r.json: cannot be written"), std::string::npos) << error;
  EXPECT_NE(error.find("kept in " + path + " and its journal, --resume goes on"), std::string::npos)
      << error;
  EXPECT_TRUE(Json::accept(read_text_file(path)));
  const Results results = read_results(path);
  ASSERT_FALSE(results.records.empty());
  EXPECT_NE(error.find("; " + std::to_string(results.records.size()) + " records"),
            std::string::npos)
      << error;
}

TEST(RecordFile, ANewFileThatDoesNotFitLeavesNothing) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  for (const std::size_t bytes : {0u, 100u, 130u}) {
    const TemporaryFolder notes;
    const std::string error = error_under_limit(
        notes.file("note"), bytes, [&] { RecordFile::create(path, environment(), config()); });
    EXPECT_NE(error, "no error") << bytes;  // without room for the note it is empty
    EXPECT_EQ(files_in(folder), Names{}) << bytes;
  }
}

}  // namespace
}  // namespace gla_bench
