#pragma once
// How the steps of a candidate's work end: errors become statuses, verdicts become reasons.

#include <functional>
#include <string>

#include "harness/records/record.hpp"

namespace gla_bench {

enum class StepEnd { done, failed, device_lost };

/// Does one step of a candidate's work. This is the only place where errors become statuses.
/// @throws InputError, which is not the candidate's fault
StepEnd try_candidate(Record& record, const std::function<void()>& work);

/// Why a verification is not ok, as a record's reason; empty where it is.
std::string reason_of(const Verification& verification);

}  // namespace gla_bench
