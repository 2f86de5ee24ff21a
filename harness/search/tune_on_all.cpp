#include "harness/search/tune_on_all.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

namespace gla_bench::search {
namespace {

/// What the threads share.
class Sharing {
 public:
  Sharing(std::span<const Assignment> work, const TuneRequest& request, const LiveHooks& journal,
          Progress& progress)
      : work_(work), progress_(progress), request_(request) {
    for (std::size_t i = 0; i < work.size(); ++i) left_.push_back(i);
    if (request.signal)
      request_.signal = [this, take = request.signal]() -> std::optional<int> {
        const std::lock_guard lock(mutex_);
        if (signal_ == 0) signal_ = take().value_or(0);
        return signal_ == 0 ? std::nullopt : std::optional(signal_);
      };
    request_.upcoming = [this]() -> const Assignment* {
      const std::lock_guard lock(mutex_);
      return left_.empty() ? nullptr : &work_[left_.front()];
    };
    if (journal.starting)
      hooks_.starting = [this, &journal](const Candidate& candidate, RunStep step) {
        const std::lock_guard lock(mutex_);
        journal.starting(candidate, step);
      };
    if (journal.record)
      hooks_.record = [this, &journal](const Record& record) {
        const std::lock_guard lock(mutex_);
        journal.record(record);
      };
  }

  /// A worker's share of the work, until nothing is left.
  void work_with(WorkerClient& client) {
    while (const auto place = next()) try {
        add(*place, tune(client, work_.subspan(*place, 1), request_, hooks_, progress_));
      } catch (const WorkerError& error) {
        give_up(*place, error.what());
        return;
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!fault_) fault_ = std::current_exception();
        idle();
        return;
      }
  }

  TuneEnd end() {
    if (fault_) std::rethrow_exception(fault_);
    if (!left_.empty() && signal_ == 0) throw WorkerError("no worker is left: " + given_up_);
    TuneEnd end;
    for (auto& [place, of_problem] : ends_) {
      end.breakdown += of_problem.breakdown;
      end.problems.insert(end.problems.end(), of_problem.problems.begin(),
                          of_problem.problems.end());
    }
    end.signal = signal_;
    return end;
  }

 private:
  std::optional<std::size_t> next() {
    std::unique_lock lock(mutex_);
    // A worker that is given up leaves its problem to those that have none.
    changed_.wait(lock, [this] { return !left_.empty() || busy_ == 0 || signal_ != 0 || fault_; });
    if (left_.empty() || signal_ != 0 || fault_) return std::nullopt;
    const std::size_t place = left_.front();
    left_.pop_front();
    ++busy_;
    return place;
  }

  void add(std::size_t place, TuneEnd end) {
    const std::lock_guard lock(mutex_);
    ends_[place] = std::move(end);
    idle();
  }

  void give_up(std::size_t place, const std::string& why) {
    const std::lock_guard lock(mutex_);
    left_.push_front(place);
    given_up_ = why;
    idle();
    progress_.message("a worker is given up, the others go on: " + why);
  }

  /// With the lock: a worker has done what it can with its problem.
  void idle() {
    --busy_;
    changed_.notify_all();
  }

  std::span<const Assignment> work_;
  Progress& progress_;
  TuneRequest request_;
  LiveHooks hooks_;
  std::mutex mutex_;  ///< of what follows, and of the hooks
  std::condition_variable changed_;
  std::size_t busy_ = 0;
  std::deque<std::size_t> left_;
  std::map<std::size_t, TuneEnd> ends_;
  std::exception_ptr fault_;
  std::string given_up_;
  int signal_ = 0;
};

}  // namespace

TuneEnd tune_on_all(const WorkerClients& clients, std::span<const Assignment> work,
                    const TuneRequest& request, const LiveHooks& journal, Progress& progress) {
  if (clients.size() == 1) return tune(*clients.front(), work, request, journal, progress);
  Sharing sharing(work, request, journal, progress);
  std::vector<std::thread> threads;
  for (const auto& client : clients)
    threads.emplace_back([&sharing, &client] { sharing.work_with(*client); });
  for (std::thread& thread : threads) thread.join();
  return sharing.end();
}

}  // namespace gla_bench::search
