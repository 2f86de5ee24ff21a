#pragma once
// How much work a call has to do, and how fast the machine is that it runs on.

#include "core/operator.hpp"
#include "core/variant.hpp"

namespace gla_bench {

/// The speed of the machine, from which the expected time of a step is computed.
struct WorkRates {
  double copy_gb_per_s = 0;       ///< bytes read plus bytes written, 1e9 a second
  double matrix_tflop_per_s = 0;  ///< 1e12 a second
};

/// The measured rates. A rate that was not measured (0) becomes a modest one for that kind of
/// machine.
WorkRates rates_or_assumed(WorkRates measured, BackendId backend);

/// The least work that a candidate's call has to do.
struct StepWork {
  double floor_bytes = 0;  ///< each input read once, each output written once
  double flops = 0;
};

/// The work of a problem as a whole, or of one candidate. A form that moves or computes more than
/// the operator requires counts with what it does.
StepWork work_of(const Operator& op, const Problem& problem);
StepWork work_of(const Operator& op, const Candidate& candidate);

/// The seconds that one call takes at these rates: the longer of the times for its bytes and its
/// flops.
double ideal_seconds(const StepWork& work, const WorkRates& rates);

}  // namespace gla_bench
