#pragma once
// The blocked loops of the attention references, in float64 and float32. At most 64 queries meet 64
// keys, padded with zeros so that no loop needs to treat an edge.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "core/rounding.hpp"
#include "reference/attention/problem.hpp"

namespace gla_bench::attention {

/// The number of queries, and of keys, in a block.
constexpr std::int64_t block = 64;

/// A number of columns, padded to whole vectors.
constexpr std::int64_t padded(std::int64_t columns) {
  return (columns + 7) / 8 * 8;
}

/// e^x for x <= 0 (and slightly above), to within 3e-16. -inf and everything below -700 give 0.
inline double exponential(double x) {
  constexpr double magic = 0x1.8p52;  // adding it rounds to an integer, held in the low bits
  const double clamped = x < -700.0 ? -700.0 : x;
  const double shifted = clamped * 0x1.71547652b82fep0 + magic;
  const double n = shifted - magic;
  // ln 2 in two parts, so that n times the first part is exact.
  const double r = (clamped - n * 0x1.62e42feep-1) - n * 0x1.a39ef35793c76p-33;
  double sum = 1.0 / 6227020800;
  sum = sum * r + 1.0 / 479001600;
  sum = sum * r + 1.0 / 39916800;
  sum = sum * r + 1.0 / 3628800;
  sum = sum * r + 1.0 / 362880;
  sum = sum * r + 1.0 / 40320;
  sum = sum * r + 1.0 / 5040;
  sum = sum * r + 1.0 / 720;
  sum = sum * r + 1.0 / 120;
  sum = sum * r + 1.0 / 24;
  sum = sum * r + 1.0 / 6;
  sum = sum * r + 0.5;
  sum = sum * r + 1.0;
  sum = sum * r + 1.0;
  const std::uint64_t power = (std::bit_cast<std::uint64_t>(shifted) + 1023u) << 52;
  return x < -700.0 ? 0.0 : sum * std::bit_cast<double>(power);
}

inline float exponential(float x) {
  return std::exp(x);
}

/// A vector of 16 bytes (a vector type of g++ and clang).
template <class Real>
struct Vector {
  typedef Real type [[gnu::vector_size(16)]];
  static constexpr std::int64_t width = 16 / sizeof(Real);
};

/// c[m,n] += a[m,k] b[k,n]. The elements of a are a_row and a_column apart. m must be a multiple of
/// 4, n of 8.
template <class Real>
void add_product(std::int64_t m, std::int64_t n, std::int64_t k, const Real* a, std::int64_t a_row,
                 std::int64_t a_column, const Real* b, std::int64_t b_row, Real* c,
                 std::int64_t c_row) {
  using Pack = typename Vector<Real>::type;
  constexpr std::int64_t width = Vector<Real>::width;
  const auto load = [](const Real* from) {
    Pack pack;
    std::memcpy(&pack, from, sizeof pack);
    return pack;
  };
  for (std::int64_t j = 0; j < n; j += 2 * width)
    for (std::int64_t i = 0; i < m; i += 4) {
      Pack sum[4][2] = {};
      for (std::int64_t l = 0; l < k; ++l) {
        const Pack left = load(b + l * b_row + j), right = load(b + l * b_row + j + width);
        for (int r = 0; r < 4; ++r) {
          const Pack factor = a[(i + r) * a_row + l * a_column] - Pack{};
          sum[r][0] += factor * left;
          sum[r][1] += factor * right;
        }
      }
      for (int r = 0; r < 4; ++r)
        for (int half = 0; half < 2; ++half) {
          Real* to = c + (i + r) * c_row + j + half * width;
          const Pack total = load(to) + sum[r][half];
          std::memcpy(to, &total, sizeof total);
        }
    }
}

/// Rounds the operands of a product to the bits that an arithmetic keeps. Without an arithmetic
/// (float64) they stay unchanged.
inline void round_operands(std::vector<double>&, std::optional<Arithmetic>) {}
inline void round_operands(std::vector<float>& x, std::optional<Arithmetic> arithmetic) {
  with_operand_rounding(arithmetic.value_or(Arithmetic::float32), [&](auto round) {
    for (float& value : x) value = round(value);
  });
}

/// At most `block` rows of a tensor as a matrix: as rows [block, padded(columns)] or, transposed,
/// as [columns, block]. Elements that the tensor lacks are zero.
template <class Real>
struct Operand {
  std::vector<Real> rows, columns;
  std::int64_t width = 0;

  explicit Operand(std::int64_t width_) : width(width_) {}

  /// Loads rows; row r starts at from + r * stride.
  void load(const float* from, std::int64_t stride, std::int64_t count, bool transpose,
            std::optional<Arithmetic> arithmetic) {
    rows.assign(static_cast<std::size_t>(block * padded(width)), Real(0));
    for (std::int64_t r = 0; r < count; ++r)
      for (std::int64_t c = 0; c < width; ++c)
        rows[r * padded(width) + c] = static_cast<Real>(from[r * stride + c]);
    round_operands(rows, arithmetic);
    if (!transpose) return;
    columns.resize(static_cast<std::size_t>(block * width));
    for (std::int64_t r = 0; r < block; ++r)
      for (std::int64_t c = 0; c < width; ++c) columns[c * block + r] = rows[r * padded(width) + c];
  }
};

/// The scores of a block of queries against a block of keys: scale q.k + bias. A score is -inf
/// where a query does not see the key, or where there is no such key.
template <class Real>
void form_scores(const View& view, const Decays& decays, std::int64_t first_query,
                 std::int64_t queries, std::int64_t first_key, std::int64_t keys,
                 const Operand<Real>& q, const Operand<Real>& k, std::vector<Real>& scores) {
  constexpr Real nothing = -std::numeric_limits<Real>::infinity();
  std::fill(scores.begin(), scores.end(), Real(0));
  add_product<Real>(block, block, view.keys, q.rows.data(), padded(view.keys), 1, k.columns.data(),
                    block, scores.data(), block);
  const auto scale = static_cast<Real>(view.scale);
  for (std::int64_t r = 0; r < block; ++r) {
    Real* row = scores.data() + r * block;
    const std::int64_t query = first_query + r;
    const std::int64_t seen =
        r < queries ? std::clamp<std::int64_t>(view.seen(query) - first_key, 0, keys) : 0;
    for (std::int64_t j = 0; j < block; ++j) row[j] *= scale;
    for (std::int64_t j = 0; view.log_decay != nullptr && j < seen; ++j)
      row[j] += static_cast<Real>(decays.between(first_key + j, view.position(query)));
    std::fill(row + seen, row + block, nothing);
  }
}

}  // namespace gla_bench::attention
