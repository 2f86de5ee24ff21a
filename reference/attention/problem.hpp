#pragma once
// A problem of attention or decay_attention in the form that its references use.

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/operator.hpp"

namespace gla_bench::attention {

/// Sums of a pair's log decays up to each key position. Full resets (-inf) are counted separately,
/// so that the difference of two positions is never inf - inf.
struct Decays {
  std::vector<double> sums;          ///< of the finite log decays at positions 0..t
  std::vector<std::int32_t> resets;  ///< full resets at positions 0..t

  /// c_i - c_j for j <= i.
  double between(std::int64_t j, std::int64_t i) const {
    if (sums.empty()) return 0.0;
    return resets[i] == resets[j] ? sums[i] - sums[j] : -std::numeric_limits<double>::infinity();
  }
};

/// The extents and options of a problem.
struct Form {
  std::int64_t batch, seq, key_seq, heads, key_heads, keys, values;
  /// Sequences with lengths of their own: those of a ragged batch, whose queries and keys are seq
  /// and key_seq in all, or of paged keys. 0: all have the same.
  std::int64_t sequences;
  std::int64_t page_size;  ///< 0: keys are not paged
  bool has_decays, causal, constant_decay, lse, backward;
  double scale;

  Form(const Operator& op, const Problem& problem);

  std::int64_t pairs() const { return batch * heads; }
  /// Whether there is enough work to start threads for it.
  bool large() const {
    return static_cast<double>(pairs() * seq) * static_cast<double>(key_seq) > 1e5;
  }
  std::int64_t key_head(std::int64_t head) const { return head / (heads / key_heads); }
  /// The key position of query i. Where attention is causal, a negative one sees nothing.
  std::int64_t position(std::int64_t query) const { return query + key_seq - seq; }
  /// The number of keys that query i sees. It sees the first ones.
  std::int64_t seen(std::int64_t query) const {
    return causal ? std::max<std::int64_t>(position(query) + 1, 0) : key_seq;
  }
  /// The first query that sees key j.
  std::int64_t first_query(std::int64_t key) const {
    return causal ? std::max<std::int64_t>(key - key_seq + seq, 0) : 0;
  }

  /// The row index of [B,T,H,..] tensors. Multiply it by the width.
  std::int64_t query_row(std::int64_t b, std::int64_t i, std::int64_t h) const {
    return (b * seq + i) * heads + h;
  }
  std::int64_t decay_gradients() const {
    if (!has_decays) return 0;
    return constant_decay ? heads : batch * key_seq * heads;
  }
};

/// A problem's form and its inputs in logical order. Inputs that the direction does not have are
/// null.
struct View : Form {
  const float *q, *k, *v, *log_decay, *o, *given_lse, *d_o;
  const float *query_ends, *key_ends;     ///< cu_seqlens and cu_seqlens_k [N+1]; null: not ragged
  const float *block_table, *key_counts;  ///< [B,P] and cache_seqlens [B]; null: not paged

  /// @throws std::out_of_range for a missing input
  View(const Operator& op, const Problem& problem, const HostTensors& inputs);

  /// A sequence of a ragged batch, or of paged keys, as a problem of its own. It may have no
  /// queries or no keys. Paged keys stay in their pool.
  View sequence(std::int64_t n) const;

  /// Where a key's token is in [B,Tk] or, by the table of a sequence by itself, in the pool.
  std::int64_t place(std::int64_t b, std::int64_t j) const {
    if (block_table == nullptr) return b * key_seq + j;
    return static_cast<std::int64_t>(block_table[j / page_size]) * page_size + j % page_size;
  }
  /// Row indices of [B,Tk,Hk,..] and [B,Tk,H] tensors. Multiply them by the width.
  std::int64_t key_row(std::int64_t b, std::int64_t j, std::int64_t key_head_) const {
    return place(b, j) * key_heads + key_head_;
  }
  std::int64_t decay_row(std::int64_t b, std::int64_t j, std::int64_t h) const {
    return constant_decay ? h : place(b, j) * heads + h;
  }

  /// The decays of one sequence and query head; empty where there are none. Not of a batch of
  /// sequences with lengths of their own.
  Decays decays(std::int64_t b, std::int64_t h) const;
};

/// The RMS of a score scale q.k, were the signs of all features drawn: what is added up to it. The
/// last axis of q and k has `key_dim` elements.
double score_size(std::int64_t key_dim, double scale, const HostTensors& inputs);

}  // namespace gla_bench::attention
