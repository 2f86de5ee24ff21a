#pragma once
// Candidates of one problem that a worker keeps ready side by side, so that samples can be taken of
// them in turns.

#include <map>
#include <span>
#include <string>
#include <utility>

#include "harness/workers/serving/prepared.hpp"

namespace gla_bench {

/// The first of these that is compiled. Waits where none is yet.
std::size_t first_ready(Backend& backend, std::span<const Candidate> candidates);

class Held {
 public:
  /// Verifies the first candidate of `work` that is compiled, and keeps it where it is right.
  /// Returns its index in `work` and the record. Where the problem differs from the one before, the
  /// held candidates are dropped.
  std::pair<std::size_t, Record> hold(Backend& backend, const Assignment& work,
                                      const RunRules& plan, RunObserver& observer, Staged& staged);

  /// A candidate that was held and may have been released since. @throws InputError for any other
  Prepared& at(const NamedCandidate& candidate);

  /// Allocates the released memory again. @throws RunError
  void make_ready(Prepared& prepared, Backend& backend);

  /// The held candidates free their memory, and are still known to be right.
  void release(std::span<const NamedCandidate> candidates);
  void clear() { held_.clear(); }

 private:
  void release_all();

  Problem problem_;
  std::map<std::string, Prepared> held_;
};

}  // namespace gla_bench
