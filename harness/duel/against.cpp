#include "harness/duel/against.hpp"

#include <algorithm>

#include "harness/measure/series.hpp"

namespace gla_bench {
namespace {

/// One of the two programs, working on one candidate.
class Side {
 public:
  Side(WorkerClient& client, const Assignment& work, const Candidate& candidate,
       const WorkConditions& conditions)
      : client_(client),
        candidate_(candidate),
        record_(new_record(*work.op, candidate, conditions.place)),
        limit_([&work, &candidate, &conditions](RunStep step) {
          return step_limit(conditions, step, *work.op, candidate.problem, &candidate);
        }) {}

  const Record& record() const { return record_; }
  bool ready() const { return record_.status == Status::verified; }

  void prepare() {
    attempt([&] {
      record_ =
          client_.prepare(candidate_.problem, {candidate_.variant->name, candidate_.tile}, limit_);
    });
  }

  /// Empty once it has failed: the record then says why.
  std::vector<double> sample(int samples) {
    Samples taken;
    attempt([&] {
      taken = client_.sample({CacheState::cold, samples, 1}, limit_(RunStep::measure));
    });
    if (taken.clock_mhz) {
      if (!clock_before_) clock_before_ = taken.clock_mhz;
      clock_after_ = taken.clock_mhz;
    }
    return taken.seconds;
  }

  void check() {
    attempt([&] { record_ = client_.check(limit_(RunStep::verify)); });
  }

  void add_clocks(Timing& timing) const {
    timing.clock_mhz_before = clock_before_;
    timing.clock_mhz_after = clock_after_;
  }

 private:
  template <class Action>
  void attempt(Action action) {
    try {
      action();
    } catch (const WorkerLost& lost) {
      record_.status = status_of(lost.end);
      record_.reason = lost.what();
      client_.restart();
    } catch (const WorkerError&) {
      throw;
    } catch (const RunError& error) {
      record_.status = Status::run_failed;
      record_.reason = error.what();
    }
  }

  WorkerClient& client_;
  const Candidate& candidate_;
  Record record_;
  WorkerClient::Limit limit_;
  std::optional<double> clock_before_, clock_after_;
};

/// Ends the rounds of a row, since one of the two programs cannot go on.
struct SideFailed {};

Series series_of(const std::vector<double>& times_ms) {
  std::vector<double> seconds;
  for (const double time : times_ms) seconds.push_back(time * 1e-3);
  return summarize(seconds, "samples");
}

Timing timing_of(const Against& against, const Side& fresh, const Assignment& work,
                 const WorkSettings& settings) {
  Timing timing;
  timing.cold = series_of(against.new_ms);
  fresh.add_clocks(timing);
  timing.suspect =
      is_suspect(timing.cold.median_ms * 1e-3, {work.op->work(work.problem).least_bytes(),
                                                settings.copy_gb_per_s, settings.last_level_cache});
  return timing;
}

void take_rounds(Side& base, Side& fresh, const RoundPolicy& rounds, Against& against) {
  const auto taker = [](Side& side) {
    return [&side](int samples) {
      std::vector<double> seconds = side.sample(samples);
      if (seconds.empty()) throw SideFailed{};
      return seconds;
    };
  };
  try {
    take_rounds(taker(base), taker(fresh), rounds, against);
    base.check();
    fresh.check();
  } catch (const SideFailed&) {
    against.samples = 0;
    against.base_ms.clear();
    against.new_ms.clear();
    against.first.clear();
  }
}

Record one_row(WorkerClient& base_client, WorkerClient& fresh_client, const Assignment& work,
               const Candidate& candidate, const WorkConditions& conditions,
               const RoundPolicy& rounds, Progress& progress) {
  Side base(base_client, work, candidate, conditions);
  Side fresh(fresh_client, work, candidate, conditions);
  progress.at("verify " + describe(candidate));
  fresh.prepare();
  base.prepare();
  progress.advance();
  progress.at("rounds of " + describe(candidate));
  Against against;
  if (base.ready() && fresh.ready()) take_rounds(base, fresh, rounds, against);
  against.status = base.record().status;
  against.reason = base.record().reason;
  against.source_hash = base.record().source_hash;
  against.verification = base.record().verification;
  Record record = fresh.record();
  if (!against.first.empty()) {
    record.timing = timing_of(against, fresh, work, conditions.settings);
    if (record.status == Status::verified) record.status = Status::measured;
  }
  record.against = std::move(against);
  progress.advance();
  return record;
}

}  // namespace

RunSummary run_against(WorkerClient& base, WorkerClient& fresh, std::span<const Assignment> work,
                       const WorkConditions& conditions, RoundPolicy rounds, const RecordSink& sink,
                       Progress& progress) {
  RunSummary summary;
  const auto emit = [&](const Record& record) {
    ++summary.counts[record.status];
    sink(record);
  };
  for (const Assignment& point : work) {
    for (const Record& record : point.refused) emit(record);
    for (const Candidate& candidate : point.accepted) {
      ++rounds.seed;  // who goes first is drawn anew for each row
      emit(one_row(base, fresh, point, candidate, conditions, rounds, progress));
    }
  }
  return summary;
}

Facts environment_against(Facts environment, const Hello& base, const std::string& path) {
  environment["against"] = path;
  for (const char* key : {"git_commit", "git_dirty", "program_version", "nvrtc", "toolkit",
                          "host_compiler", "architecture"}) {
    const auto found = base.environment.find(key);
    if (found != base.environment.end()) environment["against_" + std::string(key)] = found->second;
  }
  return environment;
}

}  // namespace gla_bench
