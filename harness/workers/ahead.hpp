#pragma once
// Which candidates a worker is told to compile ahead of their turn: a window that moves with the
// run, so that a compiler that crashes leaves few under suspicion.

#include <span>
#include <vector>

#include "harness/engine/assignment.hpp"
#include "harness/workers/protocol.hpp"

namespace gla_bench {

class AheadWindow {
 public:
  /// Candidates beyond a problem's own that are worth compiling while it is worked on.
  static constexpr std::size_t length = 256;

  explicit AheadWindow(std::span<const Assignment> work);

  /// What a worker that starts on `point` is to be told; `until` is how far it was told already and
  /// is moved on. Of `workers`, each compiles its share of what is not its own problem's.
  std::vector<NamedPoint> take(std::size_t point, std::size_t& until, std::size_t worker,
                               std::size_t workers) const;

  /// Something in what was told so far may have killed a worker: none of it is compiled ahead
  /// again.
  void bar(std::size_t until);

 private:
  std::span<const Assignment> work_;
  std::vector<std::size_t> begins_;  ///< of each problem among all candidates, and the end
  std::size_t barred_ = 0;
};

}  // namespace gla_bench
