#pragma once
// What the host's backward variants share: P and dS of a block of queries and a block of keys, and
// the log decays' gradients from the sums of dS.

#include <vector>

#include "kernels/softmax_attention/host/tile.hpp"
#include "kernels/softmax_attention/host/variant.hpp"

namespace gla_bench::softmax_attention::host {

/// D = do.o of a block of queries, from rows [count, V].
void row_terms(const Call& call, const Pair& at, long long first, long long count, const float* d_o,
               float* terms);

/// Scores become P = exp(scores - lse), and changes (do v^T on entry) dS = P (changes - D), for
/// rows of `keys` elements of which the first seen(query) count; the others become zeros.
void form_gradients(const Call& call, const Pair& at, long long first_query, long long rows,
                    long long first_key, long long keys, const float* terms, float* scores,
                    float* changes);

/// A tile and what its gradients need, dense.
struct GradientTile {
  GradientTile(const Call& call, const Biases& biases, long long rows_at_most,
               long long keys_at_most);

  void load_queries(const Pair& at, long long first, long long count);
  void load_keys(const Pair& at, long long first, long long count);
  /// Forms P (in scores.scores) and dS.
  void form();

  ScoreTile scores;                      ///< its q is times the scale
  std::vector<float> d_o, v, terms, ds;  ///< d_o [rows, V], v transposed [V, keys], ds [rows, keys]
};

/// Sums of dS for the log decays, in the workspace: over keys [pairs, T], over queries [pairs, Tk],
/// and (position - key) dS over keys [pairs, T].
struct DecaySums {
  float *rows, *columns, *distances;

  void add_rows(const Call& call, const Pair& at, long long first_query, long long rows,
                long long first_key, long long keys, const float* ds) const;
  void add_columns(const Call& call, const Pair& at, long long rows, long long first_key,
                   long long keys, const float* ds) const;
};

/// The sums of a problem with decays; they start at zero. `region`: the first of three in work.
DecaySums decay_sums(const Call& call, int region);

/// Their three regions; none without decays.
std::vector<Region> decay_sum_regions(const Problem& problem);

/// dlog_decay from the sums; nothing where there are no decays.
void store_decay_gradients(const Call& call, const DecaySums& sums);

/// Rounded rows of dq, of dk or of dv.
void store_query_gradients(const Call& call, const Pair& at, long long first, long long rows,
                           const float* in);
void store_key_gradients(const Call& call, const Pair& at, long long first, long long rows,
                         const float* dk, const float* dv);

}  // namespace gla_bench::softmax_attention::host
