#pragma once
// What the chunk forms share on the host. Decays are only ever multiplied (every factor is at most
// 1). They are never divided, or subtracted as logarithms. No gate, however strong, therefore
// overflows or gives NaN.

#include <vector>

#include "kernels/linear_recurrence/host/rows.hpp"

namespace gla_bench::linear_recurrence::host {

/// x[t] *= scale * e[0] ... e[t]: what is left of the state before the chunk when token t reads it;
/// before the update, up to e[t-1]. Returns through `whole` [keys] the product over all rows.
void scale_by_prefix(const Call& call, long long rows, const float* e, float* x, float* whole);

/// x[t] *= e[t+1] ... e[rows-1]: what is left of token t at the chunk's end.
void scale_by_suffix(const Call& call, long long rows, const float* e, float* x);

/// whole [keys] = e[0] ... e[rows-1].
void product_of_decays(const Call& call, long long rows, const float* e, float* whole);

/// a[i][j] = scale sum_k q_ik k_jk e_{j+1,k} ... e_ik for j <= i; before the update the product
/// ends at e_{i-1,k} and a[i][i] = scale sum_k q_ik u_k k_ik. The upper triangle is left alone.
/// `carried` is scratch of `keys` elements.
void scores(const Call& call, long long rows, const float* q, const float* k, const float* e,
            const float* bonus, float* a, long long a_row, float* carried);

/// c[rows, n] += a v with a [rows, rows] lower triangular.
void add_lower_product(long long rows, long long n, const float* a, long long a_row, const float* v,
                       float* c);

/// state[key] *= whole[key] for each of `columns` columns.
void decay_state(long long keys, long long columns, const float* whole, float* state);

/// One chunk's operands, loaded and prepared for the columns [column, column + columns) of v. All
/// widths are `columns` and the normalizer's.
struct Chunk {
  long long rows = 0, width = 0;
  std::vector<float> q, k, e;  ///< [rows, K]; e holds the decays exp(g)
  std::vector<float> v, o;     ///< [rows, width]
  std::vector<float> a;        ///< [chunk, chunk]
  std::vector<float> whole;    ///< [K]: the product of all decays
  std::vector<float> bonus;    ///< [K]
  std::vector<float> carried;  ///< [K]

  Chunk(const Call& call, long long chunk, long long columns_at_most);

  /// Loads k, the decays and v of the tokens.
  void load(const Call& call, const Rows& at);
  /// Loads q too and puts what the chunk's own tokens give into o.
  void intra(const Call& call, const Rows& at);
  /// o += (q e^b) state, with state [K, width] as it was before the chunk. Overwrites q, sets
  /// whole.
  void inter(const Call& call, const float* state);
  /// state = whole state + (k e^(bn-b))^T v. Overwrites k; inter() has set `whole`.
  void advance(const Call& call, float* state);
};

}  // namespace gla_bench::linear_recurrence::host
