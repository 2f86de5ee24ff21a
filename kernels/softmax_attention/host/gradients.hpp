#pragma once
// What the host's backward variants share: P and dS of a block of queries and a block of keys, and
// the gradients of the log decays from the sums of dS.

#include <vector>

#include "kernels/softmax_attention/host/tile.hpp"
#include "kernels/softmax_attention/host/variant.hpp"

namespace gla_bench::softmax_attention::host {

/// Forms D = do . o for a block of queries, from rows [count, V]. In double: an error of D is one
/// of the same sign in every dS of its row, and sums over a row do not average it away.
void row_terms(const Call& call, const Pair& at, long long first, long long count, const float* d_o,
               double* terms);

/// Turns scores into P = exp(scores - lse), and changes (do v^T on entry) into dS = P (changes -
/// D). Rows have `keys` elements. The first seen(query) of them count, and the others become zeros.
void form_gradients(const Call& call, const Pair& at, long long first_query, long long rows,
                    long long first_key, long long keys, const double* terms, float* scores,
                    float* changes);

/// A tile and the dense operands that its gradients need.
struct GradientTile {
  GradientTile(const Call& call, const Biases& biases, long long rows_at_most,
               long long keys_at_most);

  void load_queries(const Pair& at, long long first, long long count);
  void load_keys(const Pair& at, long long first, long long count);
  /// Forms P (in scores.scores) and dS.
  void form();

  ScoreTile scores;               ///< its q is already multiplied by the scale
  std::vector<float> d_o, v, ds;  ///< d_o [rows, V], v transposed [V, keys], ds [rows, keys]
  std::vector<double> terms;      ///< D of each row
};

/// Sums of dS for the log decays, in the workspace: over keys [pairs, T], over queries [pairs, Tk],
/// and of (position - key) dS over keys [pairs, T].
struct DecaySums {
  float *rows, *columns, *distances;

  void add_rows(const Call& call, const Pair& at, long long first_query, long long rows,
                long long first_key, long long keys, const float* ds) const;
  void add_columns(const Call& call, const Pair& at, long long rows, long long first_key,
                   long long keys, const float* ds) const;
};

/// The sums of a problem with decays, set to zero. `region` is the first of their three in work.
DecaySums decay_sums(const Call& call, int region);

/// The three workspace regions of the sums; none without decays.
std::vector<Region> decay_sum_regions(const Problem& problem);

/// Writes dlog_decay from the sums. Does nothing where there are no decays.
void store_decay_gradients(const Call& call, const DecaySums& sums);

/// Rounds and writes rows of dq, dk or dv.
void store_query_gradients(const Call& call, const Pair& at, long long first, long long rows,
                           const float* in);
void store_key_gradients(const Call& call, const Pair& at, long long first, long long rows,
                         const float* dk, const float* dv);

}  // namespace gla_bench::softmax_attention::host
