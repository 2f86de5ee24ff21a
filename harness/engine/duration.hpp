#pragma once
// Estimates how long a sweep takes, before it runs and from what has run. Pure functions of
// numbers.

#include <cstddef>
#include <span>

#include "harness/config/config.hpp"
#include "harness/engine/assignment.hpp"
#include "harness/engine/work_rates.hpp"

namespace gla_bench {

/// Seconds of a candidate's two stages.
struct CandidateSeconds {
  double verify = 0, measure = 0;
};

/// The time that a candidate is expected to take. Verifying takes a few calls and a comparison.
/// Measuring takes each series of samples until the policy stops it. The samples of a device settle
/// soon after `min_seconds`. Those of a host are noisier and end on average halfway to
/// `max_seconds`.
CandidateSeconds likely_seconds(const StepWork& work, const WorkRates& rates,
                                const TimingPolicy& timing, BackendId backend);

/// The time that a sweep is expected to take, and the most where every series of samples goes on as
/// long as the policy allows. In seconds. References and compilation are estimated from nominal
/// rates.
struct SweepSeconds {
  double likely = 0, longest = 0;
};

struct SweepPlan {
  BackendId backend = BackendId::host;
  bool measure = true;
  TimingPolicy timing;
  WorkRates rates;               ///< 0 where they were not measured
  std::size_t compile_jobs = 0;  ///< CUDA sources to compile
  std::size_t cores = 1;         ///< of the host
  std::size_t workers = 1;       ///< GPUs that share the problems
};

/// Seconds that one CUDA source takes to compile on one core.
constexpr double compile_seconds = 4;

/// One problem with its reference and all of its candidates, by one worker and without compilation;
/// nothing where it has none.
SweepSeconds point_seconds(const Assignment& point, const SweepPlan& plan);

SweepSeconds sweep_seconds(std::span<const Assignment> work, const SweepPlan& plan);

/// Estimates what is left of a run from its completed steps. Each of the two stages has a mean of
/// its steps so far, in which the expected duration of a step counts as `weight` further steps.
/// Verifying a problem's candidates comes before measuring any and takes less time, so that one
/// mean for both would be too low.
class TimeLeft {
 public:
  enum class Stage { verify, measure };
  static constexpr double weight = 3;

  TimeLeft() = default;
  /// `expected`: seconds of a step of each stage. `candidates`: how many have both stages to go.
  TimeLeft(CandidateSeconds expected, std::size_t candidates, bool measure);

  void took(Stage stage, double seconds);
  /// A step that will not be done here, or that was done elsewhere.
  void skip(Stage stage);
  double seconds() const;

 private:
  struct Steps {
    double expected = 0, taken = 0;
    std::size_t done = 0, left = 0;
  };
  Steps& of(Stage stage) { return stage == Stage::verify ? verify_ : measure_; }

  Steps verify_, measure_;
};

/// The mean of likely_seconds() over all candidates, for the start of a TimeLeft.
CandidateSeconds mean_seconds(std::span<const Assignment> work, const WorkRates& rates,
                              const TimingPolicy& timing, BackendId backend);

}  // namespace gla_bench
