#pragma once
// A candidate that is kept ready for samples whenever they are asked for: the worker's part in
// comparisons that take turns between two programs.

#include <memory>

#include "harness/engine/run.hpp"
#include "harness/workers/protocol.hpp"

namespace gla_bench {

/// Opens the backend's device, by staging one number. @throws RunError where it can not be opened
void open_device(Backend& backend);

class Prepared {
 public:
  /// Verifies the only candidate of `work` and keeps it, where it is right, warmed up and with
  /// poisoned outputs. The record says how it went; `observer` sees the steps.
  Record make(Backend& backend, const Assignment& work, const RunRules& plan, RunObserver& observer,
              Staged& staged);

  /// @throws InputError when nothing is prepared; RunError
  Samples sample(Backend& backend, const SampleRequest& request);

  /// Judges what the last sample left in the outputs. @throws InputError when nothing is prepared
  Record check();

  /// Judges a sample of its own, taken for it: others may have written the outputs since. Then
  /// holds `seconds`, the median of the samples, against a wall clock: timing.wall_ms and
  /// timing.suspect of the record are set. @throws InputError when nothing is prepared; RunError
  Record check_anew(double seconds);

  /// Gives the plan with its workspace back; renew() makes it again, without verifying.
  void release() { plan_.reset(); }
  bool is_ready() const { return plan_ != nullptr; }
  const Record& record() const { return record_; }
  /// @throws RunError
  void renew(Backend& backend);

  /// The record, ended so; nothing is prepared after it.
  Record failed(Status status, const std::string& reason);

  void clear();

 private:
  void expect_plan() const;

  void make_plan(Backend& backend);

  std::unique_ptr<Plan> plan_;
  Candidate candidate_;
  int warmup_ = 0;
  Record record_;
  Staged* staged_ = nullptr;
  Tolerance tolerance_;
};

}  // namespace gla_bench
