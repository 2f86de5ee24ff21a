#pragma once
// Decides which candidates a worker compiles ahead of their turn. The window moves with the run, so
// that a crash of the compiler leaves only a few candidates under suspicion.

#include <span>
#include <vector>

#include "harness/engine/assignment.hpp"
#include "harness/workers/protocol.hpp"

namespace gla_bench {

class AheadWindow {
 public:
  /// How many candidates beyond a problem's own are worth compiling while it is worked on.
  static constexpr std::size_t length = 256;

  explicit AheadWindow(std::span<const Assignment> work);

  /// The candidates that a worker starting on `point` is to compile ahead. `until` is how far it
  /// has been told already, and is advanced. The candidates of later problems are shared out among
  /// `workers`.
  std::vector<NamedPoint> take(std::size_t point, std::size_t& until, std::size_t worker,
                               std::size_t workers) const;

  /// Something in what was told so far may have killed a worker. None of it is compiled ahead
  /// again.
  void bar(std::size_t until);

 private:
  std::span<const Assignment> work_;
  std::vector<std::size_t>
      begins_;  ///< index of each problem's first candidate among all candidates, and the end
  std::size_t barred_ = 0;
};

}  // namespace gla_bench
