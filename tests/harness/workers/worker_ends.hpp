#pragma once
// How a worker ended, as the tests of what follows from it name it.

#include "harness/workers/death_policy.hpp"

namespace gla_bench {

inline const WorkerEnd crash{false, "SIGSEGV"};
inline const WorkerEnd hang{true, "it was not done after 30 s"};

}  // namespace gla_bench
