#include "harness/engine/statuses.hpp"

#include <new>
#include <sstream>

#include "core/error.hpp"

namespace gla_bench {
namespace {

StepEnd fail(Record& record, Status status, std::string reason, StepEnd outcome = StepEnd::failed) {
  record.status = status;
  record.reason = std::move(reason);
  return outcome;
}

}  // namespace

StepEnd try_candidate(Record& record, const std::function<void()>& work) {
  try {
    work();
    return StepEnd::done;
  } catch (const InputError&) {
    throw;  // not the candidate's fault
  } catch (const BuildError& error) {
    return fail(record, Status::build_failed, error.what());
  } catch (const DeviceLost& error) {
    return fail(record, Status::crashed, error.what(), StepEnd::device_lost);
  } catch (const OutOfMemory& error) {
    return fail(record, Status::crashed, error.what());
  } catch (const std::bad_alloc&) {
    return fail(record, Status::crashed, "out of host memory");
  } catch (const std::exception& error) {
    return fail(record, Status::run_failed, error.what());
  }
}

std::string reason_of(const Verification& verification) {
  if (verification.ok) return "";
  if (!verification.fault.empty()) return verification.fault;
  std::ostringstream text;
  for (const auto& [tensor, verdict] : verification.tensors)
    if (!verdict.ok)
      text << (text.tellp() > 0 ? "; " : "") << tensor << ": rel_l2 " << verdict.rel_l2
           << " (bound " << verdict.bound << "), worst chunk " << verdict.worst_chunk_rel_l2
           << " (bound " << verdict.worst_chunk_bound << "), max_abs " << verdict.max_abs
           << " (bound " << verdict.max_abs_bound << ")";
  return text.str();
}

}  // namespace gla_bench
