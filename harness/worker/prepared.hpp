#pragma once
// A candidate that is kept ready for samples whenever they are asked for: the worker's part in
// comparisons that take turns between two programs.

#include <memory>

#include "harness/run.hpp"
#include "harness/worker/protocol.hpp"

namespace gla_bench {

/// Opens the backend's device, by staging one number. @throws RunError where it can not be opened
void open_device(Backend& backend);

class Prepared {
 public:
  /// Verifies the only candidate of `work` and keeps it, where it is right, warmed up and with
  /// poisoned outputs. The record says how it went; `observer` sees the steps.
  Record make(Backend& backend, const Assignment& work, const RunPlan& plan, RunObserver& observer,
              Staged& staged);

  /// @throws InputError when nothing is prepared; RunError
  Samples sample(Backend& backend, const SampleRequest& request);

  /// Judges what the last sample left in the outputs. @throws InputError when nothing is prepared
  Record check();

  /// The record, ended so; nothing is prepared after it.
  Record failed(Status status, const std::string& reason);

  void clear();

 private:
  void expect_plan() const;

  std::unique_ptr<Plan> plan_;
  Record record_;
  Staged* staged_ = nullptr;
  Tolerance tolerance_;
};

}  // namespace gla_bench
