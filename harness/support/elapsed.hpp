#pragma once
// How long something has taken.

#include <chrono>

namespace gla_bench {

/// The seconds from `start` until now, by the clock that never runs backwards.
inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace gla_bench
