#pragma once
// How much a call has to do, and how fast the place is that it runs on.

#include "core/operator.hpp"
#include "core/variant.hpp"

namespace gla_bench {

/// How fast the place is that work runs on, to tell what a step should take.
struct WorkRates {
  double copy_gb_per_s = 0;       ///< bytes read plus bytes written, 1e9 a second
  double matrix_tflop_per_s = 0;  ///< 1e12 a second
};

/// The rates that were measured; where one was not (0), a modest one of that kind of place.
WorkRates rates_or_assumed(WorkRates measured, BackendId backend);

/// What a candidate's call has to do at least.
struct StepWork {
  double floor_bytes = 0;  ///< each input read once, each output written once
  double flops = 0;
};

/// Of a problem as a whole, or of one candidate: a form that moves or computes more than the
/// operator must counts with what it does.
StepWork work_of(const Operator& op, const Problem& problem);
StepWork work_of(const Operator& op, const Candidate& candidate);

/// Seconds that one call takes at the place's rates, whichever is the longer: bytes or flops.
double ideal_seconds(const StepWork& work, const WorkRates& rates);

}  // namespace gla_bench
