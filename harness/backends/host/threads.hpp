#pragma once
// How many threads candidates have on the host.

#include <omp.h>

namespace gla_bench {

/// Sets the number of threads of OpenMP regions that start in this scope.
class Threads {
 public:
  explicit Threads(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~Threads() { omp_set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

}  // namespace gla_bench
