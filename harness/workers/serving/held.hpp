#pragma once
// Candidates of one problem that a worker keeps ready side by side, so that samples can be taken of
// them in turns.

#include <map>
#include <span>
#include <string>
#include <utility>

#include "harness/workers/serving/prepared.hpp"

namespace gla_bench {

/// The first of these whose compilation is over; waits where that is true of none.
std::size_t first_ready(Backend& backend, std::span<const Candidate> candidates);

class Held {
 public:
  /// Verifies the first candidate of `work` that is ready, and keeps it where it is right. Its
  /// place in `work`, and the record. Of another problem than before: those that were held go.
  std::pair<std::size_t, Record> hold(Backend& backend, const Assignment& work,
                                      const RunRules& plan, RunObserver& observer, Staged& staged);

  /// One that was held, maybe released since. @throws InputError for any other
  Prepared& at(const NamedCandidate& candidate);

  /// Takes the memory that was released again. @throws RunError
  void make_ready(Prepared& prepared, Backend& backend);

  /// They give their memory back, and are still known to be right.
  void release(std::span<const NamedCandidate> candidates);
  void clear() { held_.clear(); }

 private:
  void release_all();

  Problem problem_;
  std::map<std::string, Prepared> held_;
};

}  // namespace gla_bench
