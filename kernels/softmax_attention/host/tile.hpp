#pragma once
// A block of queries against a block of keys: scores with mask and bias, in float32. What every
// blocked host variant of attention is made of.

#include <vector>

#include "kernels/softmax_attention/host/rows.hpp"

namespace gla_bench::softmax_attention::host {

/// Log decays added up over stretches of key positions. Sums are only ever of what lies between a
/// key and a query: a running sum from the sequence's start would round away what near tokens
/// differ by once it has grown large, and a full reset (-inf) behind it would give inf - inf.
class Biases {
 public:
  /// Adds up blocks of positions of every pair, in parallel; nothing where there are no decays.
  explicit Biases(const Call& call);

  /// Sum over the positions [first, last] of a pair; 0 for none.
  float between(const Pair& at, long long first, long long last) const;

  /// Adds to scores [rows, keys] what lies between each key (from first_key on) and each query
  /// (from first_query on); elements that a query does not see are left alone.
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

/// Scratch of one thread and the tile's operands, dense: q [rows, K], k transposed [K, keys],
/// v [keys, V], scores [rows, keys].
struct ScoreTile {
  ScoreTile(const Call& call, const Biases& biases, long long rows_at_most, long long keys_at_most);

  /// q times the scale.
  void load_queries(const Pair& at, long long first, long long count);
  void load_keys(const Pair& at, long long first, long long count);
  /// scores = q k^T + bias; -inf where a query does not see the key.
  void score();

  const Call& call;
  const Biases& biases;
  Pair pair{};
  long long first_query = 0, rows = 0, first_key = 0, keys = 0;
  std::vector<float> q, k, key_rows, v, scores;
};

/// A row of scores becomes weights: those of the first `seen` elements, the rest zeros. Returns the
/// row's log-sum-exp, -inf where it sees nothing.
float softmax_row(float* row, long long seen, long long columns);

/// Running softmax over tiles of one block of queries. Division by the sum is deferred to the end,
/// or, for flash1, done at every step.
struct Running {
  Running(const Call& call, long long rows_at_most, bool divide_at_once);

  void clear(long long rows);
  /// Takes in the tile: its scores become weights.
  void add(ScoreTile& tile);
  /// Divides by the sums (where that is left to do) and sets lse; rows of nothing are 0 and -inf.
  void finish(long long rows);

  long long values;
  bool divide_at_once;
  std::vector<float> o, most, sums, lse;
};

}  // namespace gla_bench::softmax_attention::host
