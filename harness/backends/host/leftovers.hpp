#pragma once
// What a call on the host could take for its own although an earlier one left it.

namespace gla_bench {

/// Fills the part of each OpenMP thread's stack that the next call uses with 0xff, and for as long
/// as it lives lets new memory begin as 0x7f bytes, which are 3e38 as float32 and bfloat16 and NaN
/// as float16. Code that takes either for zero computes something else then. Memory is left as it
/// is where the C library cannot do this, and so are its smallest blocks.
class PoisonedLeftovers {
 public:
  PoisonedLeftovers();
  ~PoisonedLeftovers();
  PoisonedLeftovers(const PoisonedLeftovers&) = delete;
  PoisonedLeftovers& operator=(const PoisonedLeftovers&) = delete;
};

}  // namespace gla_bench
