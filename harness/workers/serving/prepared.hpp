#pragma once
// A candidate that is kept ready for samples at any time. This is the worker's part in comparisons
// that alternate between two programs.

#include <memory>

#include "harness/engine/run.hpp"
#include "harness/workers/protocol.hpp"

namespace gla_bench {

/// Opens the backend's device by staging one number. @throws RunError where it cannot be opened
void open_device(Backend& backend);

class Prepared {
 public:
  /// Verifies the only candidate of `work`. Where it is right, keeps it warmed up and with poisoned
  /// outputs. The record holds the result; `observer` sees the steps.
  Record make(Backend& backend, const Assignment& work, const RunRules& plan, RunObserver& observer,
              Staged& staged);

  /// @throws InputError when nothing is prepared; RunError
  Samples sample(Backend& backend, const SampleRequest& request);

  /// Verifies the outputs of the last sample. @throws InputError when nothing is prepared
  Record check();

  /// Takes a sample of its own and verifies it, since others may have written the outputs since.
  /// Then compares `seconds`, the median of the samples, with a wall clock, and sets timing.wall_ms
  /// and timing.suspect of the record. @throws InputError when nothing is prepared; RunError
  Record check_anew(double seconds);

  /// Frees the plan and its workspace; renew() makes them again, without verifying.
  void release() { plan_.reset(); }
  bool is_ready() const { return plan_ != nullptr; }
  const Record& record() const { return record_; }
  /// @throws RunError
  void renew(Backend& backend);

  /// Ends the record with this status. Nothing is prepared afterwards.
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
