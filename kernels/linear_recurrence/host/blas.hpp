#pragma once
// OpenBLAS as the host variants use it.

#include <cblas.h>

#include <algorithm>

namespace gla_bench::linear_recurrence::host {

/// Restricts OpenBLAS to one thread in this scope. Our own tasks are what runs in parallel, in
/// pieces that do not depend on the number of threads, so that results do not either.
class SingleThreadedBlas {
 public:
  SingleThreadedBlas() : before_(openblas_get_num_threads()) { openblas_set_num_threads(1); }
  ~SingleThreadedBlas() { openblas_set_num_threads(before_); }
  SingleThreadedBlas(const SingleThreadedBlas&) = delete;
  SingleThreadedBlas& operator=(const SingleThreadedBlas&) = delete;

 private:
  int before_;
};

/// An operand and the distance of its rows. If transposed, the product takes it the other way
/// round.
struct BlasOperand {
  const float* at;
  long long row;
  bool transposed = false;

  /// The operand without the first `rows` rows and `columns` columns that the product would take.
  BlasOperand from(long long rows, long long columns) const {
    return {at + (transposed ? columns * row + rows : rows * row + columns), row, transposed};
  }
};

/// c[m,n] = a[m,k] b[k,n] + beta c, row-major, c's rows c_row apart.
inline void blas_product(long long m, long long n, long long k, const BlasOperand& a,
                         const BlasOperand& b, float beta, float* c, long long c_row) {
  const auto narrow = [](long long extent) { return static_cast<int>(extent); };
  const auto side = [](const BlasOperand& x) { return x.transposed ? CblasTrans : CblasNoTrans; };
  cblas_sgemm(CblasRowMajor, side(a), side(b), narrow(m), narrow(n), narrow(k), 1.0f, a.at,
              narrow(a.row), b.at, narrow(b.row), beta, c, narrow(c_row));
}

/// The same on all threads, in strips of c along its longer side.
inline void parallel_blas_product(long long m, long long n, long long k, const BlasOperand& a,
                                  const BlasOperand& b, float beta, float* c, long long c_row) {
  constexpr long long strip = 128;
  const bool columns = n > m;
  const long long extent = columns ? n : m;
#pragma omp parallel for schedule(dynamic) if (extent > strip)
  for (long long first = 0; first < extent; first += strip) {
    const long long count = std::min(strip, extent - first);
    if (columns)
      blas_product(m, count, k, a, b.from(0, first), beta, c + first, c_row);
    else
      blas_product(count, n, k, a.from(first, 0), b, beta, c + first * c_row, c_row);
  }
}

}  // namespace gla_bench::linear_recurrence::host
