#pragma once
// Inline arithmetic of the host variants. Loops over these functions become vector code.

#include <bit>
#include <cstdint>
#include <cstring>

namespace gla_bench::linear_recurrence::host {

/// exp(g) for a gate g <= 0, -inf included, within 2e-7 of its value. Below -80 nats it is exactly
/// 0. That is far below what float32 sums can see and avoids slow subnormal numbers. NaN stays NaN.
inline float exp_of_gate(float g) {
  const float x = g < -80.0f ? -80.0f : g;
  constexpr float magic = 0x1.8p23f;  // adding it rounds to a whole number, kept in the low bits
  const float shifted = x * 0x1.715476p0f + magic;
  const float n = shifted - magic;
  // ln 2 in two pieces; n times the first piece is exact.
  const float r = (x - n * 0x1.62ep-1f) - n * 0x1.0bfbe8p-15f;
  float sum = 1.0f / 5040;
  sum = sum * r + 1.0f / 720;
  sum = sum * r + 1.0f / 120;
  sum = sum * r + 1.0f / 24;
  sum = sum * r + 1.0f / 6;
  sum = sum * r + 0.5f;
  sum = sum * r + 1.0f;
  sum = sum * r + 1.0f;
  const std::uint32_t power = (std::bit_cast<std::uint32_t>(shifted) + 127u) << 23;
  const float result = sum * std::bit_cast<float>(power);
  return g < -80.0f ? 0.0f : result;
}

/// Products of decays shrink without end. What no float32 sum can see becomes 0 before it becomes a
/// subnormal number, on which processors are slow. NaN stays NaN.
template <class Real>
inline Real without_dust(Real x) {
  return x < Real(1e-30) && x > Real(-1e-30) ? Real(0) : x;
}

/// Four floats that are added and multiplied at once (a vector type of g++ and clang).
using Four [[gnu::vector_size(16)]] = float;

inline Four load_four(const float* from) {
  Four four;
  std::memcpy(&four, from, sizeof four);
  return four;
}

inline void add_four(float* to, Four four) {
  four += load_four(to);
  std::memcpy(to, &four, sizeof four);
}

/// c[4,8] += a[4,k] b[k,8], with the sums in registers.
inline void add_block(long long k, const float* a, long long a_row, long long a_column,
                      const float* b, long long b_row, float* c, long long c_row) {
  Four sum[4][2] = {};
  for (long long l = 0; l < k; ++l) {
    const Four left = load_four(b + l * b_row), right = load_four(b + l * b_row + 4);
    for (int r = 0; r < 4; ++r) {
      const float x = a[r * a_row + l * a_column];
      const Four factor = {x, x, x, x};
      sum[r][0] += factor * left;
      sum[r][1] += factor * right;
    }
  }
  for (int r = 0; r < 4; ++r) {
    add_four(c + r * c_row, sum[r][0]);
    add_four(c + r * c_row + 4, sum[r][1]);
  }
}

/// c[m,n] += a[m,k] b[k,n], row-major; a's elements lie a_row and a_column apart, so that a
/// transposed operand needs no copy.
inline void add_product(long long m, long long n, long long k, const float* a, long long a_row,
                        long long a_column, const float* b, long long b_row, float* c,
                        long long c_row) {
  const auto edge = [&](long long first_row, long long last_row, long long column) {
    for (long long i = first_row; i < last_row; ++i)
      for (long long l = 0; l < k; ++l)
        for (long long j = column; j < n; ++j)
          c[i * c_row + j] += a[i * a_row + l * a_column] * b[l * b_row + j];
  };
  long long i = 0;
  for (; i + 4 <= m; i += 4) {
    long long j = 0;
    for (; j + 8 <= n; j += 8)
      add_block(k, a + i * a_row, a_row, a_column, b + j, b_row, c + i * c_row + j, c_row);
    if (j < n) edge(i, i + 4, j);
  }
  edge(i, m, 0);
}

}  // namespace gla_bench::linear_recurrence::host
