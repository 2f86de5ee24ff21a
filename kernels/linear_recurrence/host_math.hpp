#pragma once
// Inline arithmetic of the host variants: loops over these become vector code.

#include <bit>
#include <cstdint>

namespace gla_bench::linear_recurrence::host {

/// exp(g) for a gate g <= 0, -inf included; within 2e-7 of its value. Below -80 nats it is exactly
/// 0, far under what float32 sums can see and clear of slow subnormal numbers. NaN stays.
inline float exp_of_gate(float g) {
  const float x = g < -80.0f ? -80.0f : g;
  constexpr float magic = 0x1.8p23f;  // adding it rounds to a whole number, kept in the low bits
  const float shifted = x * 0x1.715476p0f + magic;
  const float n = shifted - magic;
  // ln 2 in two pieces: n times the first is exact.
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

/// Products of decays shrink without end: what no float32 sum can see becomes 0 before it becomes a
/// subnormal number, on which processors are slow. NaN stays.
inline float without_dust(float x) {
  return x < 1e-30f && x > -1e-30f ? 0.0f : x;
}

/// c[m,n] += a[m,k] b[k,n], row-major; a's elements lie a_row and a_column apart, so that a
/// transposed operand needs no copy.
inline void add_product(long long m, long long n, long long k, const float* a, long long a_row,
                        long long a_column, const float* b, long long b_row, float* c,
                        long long c_row) {
  constexpr int tall = 4, wide = 8;
  long long i = 0;
  for (; i + tall <= m; i += tall) {
    long long j = 0;
    for (; j + wide <= n; j += wide) {
      float sum[tall][wide] = {};
      for (long long l = 0; l < k; ++l)
        for (int r = 0; r < tall; ++r)
          for (int s = 0; s < wide; ++s)
            sum[r][s] += a[(i + r) * a_row + l * a_column] * b[l * b_row + j + s];
      for (int r = 0; r < tall; ++r)
        for (int s = 0; s < wide; ++s) c[(i + r) * c_row + j + s] += sum[r][s];
    }
    for (int r = 0; r < tall && j < n; ++r)
      for (long long l = 0; l < k; ++l)
        for (long long s = j; s < n; ++s)
          c[(i + r) * c_row + s] += a[(i + r) * a_row + l * a_column] * b[l * b_row + s];
  }
  for (; i < m; ++i)
    for (long long l = 0; l < k; ++l)
      for (long long s = 0; s < n; ++s)
        c[i * c_row + s] += a[i * a_row + l * a_column] * b[l * b_row + s];
}

}  // namespace gla_bench::linear_recurrence::host
