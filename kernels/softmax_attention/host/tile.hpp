#pragma once
// A block of queries against a block of keys: scores with mask and bias, in float32. Every blocked
// host variant of attention is built from this.

#include <vector>

#include "kernels/softmax_attention/host/rows.hpp"

namespace gla_bench::softmax_attention::host {

/// Sums of log decays over ranges of key positions. A sum only ever covers what lies between a key
/// and a query. A running sum from the start of the sequence would grow large and round away the
/// differences between near tokens. After a full reset (-inf) it would give inf - inf.
class Biases {
 public:
  /// Sums blocks of positions of every pair, in parallel. Does nothing where there are no decays.
  explicit Biases(const Call& call);

  /// The sum over the positions [first, last] of a pair; 0 for an empty range.
  float between(const Pair& at, long long first, long long last) const;

  /// Adds to scores [rows, keys] the decay between each key (from first_key on) and each query
  /// (from first_query on). Elements that a query does not see stay unchanged.
  void add(const Pair& at, long long first_query, long long rows, long long first_key,
           long long keys, float* scores) const;

 private:
  void add_across(const Pair& at, long long first_query, long long rows, long long first_key,
                  long long keys, float* scores) const;
  void add_near(const Pair& at, long long first_query, long long rows, long long first_key,
                long long keys, float* scores) const;

  const Call& call_;
  long long blocks_ = 0;
  std::vector<float> sums_;  // [pairs, blocks]
};

/// The scratch memory of one thread, with the tile's dense operands: q [rows, K], k transposed [K,
/// keys], v [keys, V], scores [rows, keys].
struct ScoreTile {
  ScoreTile(const Call& call, const Biases& biases, long long rows_at_most, long long keys_at_most);

  /// Loads q times the scale.
  void load_queries(const Pair& at, long long first, long long count);
  void load_keys(const Pair& at, long long first, long long count);
  /// Forms scores = q k^T + bias, or -inf where a query does not see the key.
  void score();

  const Call& call;
  const Biases& biases;
  Pair pair{};
  long long first_query = 0, rows = 0, first_key = 0, keys = 0;
  std::vector<float> q, k, key_rows, v, scores;
};

/// Turns a row of scores into weights: those of the first `seen` elements, and zeros for the rest.
/// Returns the row's log-sum-exp, or -inf for a row that sees nothing.
float softmax_row(float* row, long long seen, long long columns);

/// The running softmax over tiles of one block of queries. The division by the sum happens at the
/// end or, for flash1, at every step.
struct Running {
  Running(const Call& call, long long rows_at_most, bool divide_at_once);

  void clear(long long rows);
  /// Adds the tile, whose scores become weights.
  void add(ScoreTile& tile);
  /// Divides by the sums (where this is left to do) and sets lse. Rows that see nothing get 0 and
  /// -inf.
  void finish(long long rows);

  long long values;
  bool divide_at_once;
  std::vector<float> o, most, sums, lse;
};

}  // namespace gla_bench::softmax_attention::host
