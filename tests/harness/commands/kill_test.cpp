// The program's parent is killed at random moments of a sweep and taken up again: every row is
// there in the end, none was made twice, and the results file is valid JSON at every instant.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <thread>

#include "harness/records/record_file.hpp"
#include "harness/records/record_json.hpp"
#include "tests/support/places.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

using namespace std::chrono_literals;

constexpr int kills = 50;

void write_config(const std::string& path) {
  std::ofstream(path) << R"({"backend": "host", "sweeps": [{"operator": "gla", "variants": "all",
      "dtypes": ["float32"], "gates": ["mild", "strong"], "max_tiles": 3,
      "shapes": [[1, 9, 1, 8, 4], [1, 5, 2, 4, 4], [1, 17, 1, 4, 8]]}]})";
}

/// What a row says, times aside.
std::map<RecordKey, std::string> rows_of(const std::vector<Record>& records) {
  std::map<RecordKey, std::string> rows;
  for (const Record& record : records) {
    Json json = record_to_json(record);
    for (const char* timed : {"timing", "build", "stages", "energy", "seconds"}) json.erase(timed);
    EXPECT_TRUE(rows.emplace(key_of(record), json.dump()).second) << "twice: " << json.dump();
  }
  return rows;
}

/// The program at work on a sweep.
class Sweep {
 public:
  Sweep(const std::string& config, const std::string& output) {
    const std::string log = output + ".log";
    pid_ = ::fork();
    if (pid_ != 0) return;
    const int text = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    ::dup2(text, STDOUT_FILENO);
    ::dup2(text, STDERR_FILENO);
    ::execl(places::program, places::program, "verify", config.c_str(), "--resume", "-o",
            output.c_str(), "-q", nullptr);
    ::_exit(127);
  }
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;
  ~Sweep() {
    if (!ended()) ::kill(pid_, SIGKILL);
    wait();
  }

  bool ended() {
    if (!status_) {
      int status = 0;
      if (::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
    }
    return status_.has_value();
  }
  /// The status that waitpid() gives.
  int wait() {
    int status = 0;
    if (!status_ && ::waitpid(pid_, &status, 0) == pid_) status_ = status;
    return status_.value_or(-1);
  }
  /// True where it was alive until then.
  bool kill() {
    if (ended()) return false;
    ::kill(pid_, SIGKILL);
    return WIFSIGNALED(wait());
  }

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
};

/// Children of a killed parent come to this process: the last of them must end by itself.
class Orphans {
 public:
  Orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
  ~Orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }
  Orphans(const Orphans&) = delete;
  Orphans& operator=(const Orphans&) = delete;

  /// True when there is none any more.
  static bool gone(std::chrono::seconds limit) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (std::chrono::steady_clock::now() < end) {
      const pid_t child = ::waitpid(-1, nullptr, WNOHANG);
      if (child < 0 && errno == ECHILD) return true;
      if (child == 0) std::this_thread::sleep_for(2ms);
    }
    return false;
  }
};

/// Looks at a results file all the time: wherever it is there, it must be whole.
class Onlooker {
 public:
  explicit Onlooker(std::string path) : path_(std::move(path)), thread_([this] { look(); }) {}
  ~Onlooker() {
    over_ = true;
    thread_.join();
  }
  Onlooker(const Onlooker&) = delete;
  Onlooker& operator=(const Onlooker&) = delete;

  int looks() const { return looks_; }
  int bad() const { return bad_; }

 private:
  void look() {
    while (!over_) {
      std::ifstream in(path_, std::ios::binary);
      if (in) {
        const std::string text{std::istreambuf_iterator<char>(in), {}};
        ++looks_;
        if (!Json::accept(text)) ++bad_;
      }
      std::this_thread::sleep_for(1ms);
    }
  }

  std::string path_;
  std::atomic<bool> over_ = false;
  std::atomic<int> looks_ = 0, bad_ = 0;
  std::thread thread_;
};

std::size_t size_of(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<std::size_t>(size);
}

/// A random moment: after some time, or after something more was journaled and a little time. It is
/// the journal and not the clock that a sweep's progress is told by, however busy the machine.
void wait_for_a_moment(Sweep& sweep, const std::string& journal, std::mt19937& random) {
  const auto pick = [&](int most) { return static_cast<int>(random() % (most + 1)); };
  if (pick(3) == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(pick(100'000)));
    return;
  }
  const std::size_t enough = size_of(journal) + static_cast<std::size_t>(pick(8'000));
  while (size_of(journal) < enough && !sweep.ended()) std::this_thread::sleep_for(200us);
  std::this_thread::sleep_for(std::chrono::microseconds(pick(5'000)));
}

class Kill : public testing::Test {
 protected:
  void SetUp() override {
    write_config(config_);
    const std::string undisturbed = folder_.file("undisturbed.json");
    ASSERT_EQ(Sweep(config_, undisturbed).wait(), 0) << read_text_file(undisturbed + ".log");
    expected_ = rows_of(read_results(undisturbed).records);
    ASSERT_GT(expected_.size(), 50u);
  }

  /// What is there after a kill: whole rows, as they are in the undisturbed run, and all that were
  /// there before.
  void expect_nothing_lost(const std::string& output, std::size_t& known) const {
    if (!std::filesystem::exists(output)) return;  // it was killed before it began
    const std::string journal = journal_path(output);
    if (const auto content = read_journal(journal)) rows_of(content->records);  // none twice
    const auto rows = rows_of(read_results(output).records);
    EXPECT_GE(rows.size(), known);
    known = rows.size();
    for (const auto& [key, row] : rows) {
      const auto found = expected_.find(key);
      ASSERT_NE(found, expected_.end()) << row;
      EXPECT_EQ(row, found->second);
    }
  }

  TemporaryFolder folder_{memory_folder()};
  std::string config_ = folder_.file("c.json");
  std::map<RecordKey, std::string> expected_;
};

TEST_F(Kill, OfTheParentAtAnyMomentCostsNoRow) {
  const Orphans orphans;
  std::mt19937 random(20261121);
  int killed = 0, finished = 0;
  for (int sweep = 0; killed < kills; ++sweep) {
    const std::string output = folder_.file("killed" + std::to_string(sweep) + ".json");
    const Onlooker onlooker(output);
    std::size_t known = 0;
    for (bool done = false; !done;) {
      Sweep life(config_, output);
      if (killed < kills) wait_for_a_moment(life, journal_path(output), random);
      const bool alive = killed < kills && life.kill();
      killed += alive ? 1 : 0;
      if (!alive) {
        ASSERT_EQ(life.wait(), 0) << read_text_file(output + ".log");
      }
      ASSERT_TRUE(Orphans::gone(30s)) << "a child outlives its parent";
      ASSERT_NO_FATAL_FAILURE(expect_nothing_lost(output, known));
      done = !alive;
    }
    EXPECT_EQ(rows_of(read_results(output).records), expected_);
    EXPECT_FALSE(std::filesystem::exists(journal_path(output)));
    EXPECT_EQ(onlooker.bad(), 0) << "of " << onlooker.looks();
    EXPECT_GT(onlooker.looks(), 0);
    ++finished;
  }
  RecordProperty("sweeps", finished);
}

}  // namespace
}  // namespace gla_bench
