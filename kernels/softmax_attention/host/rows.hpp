#pragma once
// What the host variants of attention share: a call's parameters, and the conversion of rows
// between the problem's dtype and dense float32.

#include <functional>
#include <vector>

#include "core/variant.hpp"
#include "kernels/softmax_attention/family.hpp"
#include "kernels/softmax_attention/params.h"

namespace gla_bench::softmax_attention::host {

/// Converts `rows` rows of `columns` elements to dense float32 rows. The first row starts at
/// element `offset`, and rows are `stride` elements apart.
void load(DType dtype, const void* tensor, long long offset, long long stride, long long rows,
          long long columns, float* out);

/// Multiplies dense rows by `factor`, rounds them to the dtype (ties to even) and writes them.
void store(DType dtype, void* tensor, long long offset, long long stride, long long rows,
           long long columns, const float* in, float factor = 1.0f);

/// Transposes `from` [rows, columns] into `to` [columns, rows].
void transpose(long long rows, long long columns, const float* from, float* to);

inline std::vector<float> scratch(long long elements) {
  return std::vector<float>(static_cast<std::size_t>(elements));
}

/// One sequence of the batch and one query head.
struct Pair {
  long long batch, head;
};

struct Call {
  AttentionParams p;
  DType dtype, gate_dtype;
  bool causal;
  Decay decay;
  long long pairs, group;
  bool adds = false;  ///< d_log_decay of a constant decay is added to what it holds

  explicit Call(const HostCall& call);

  Pair pair(long long number) const { return {number / p.heads, number % p.heads}; }
  long long position(long long query) const { return query + p.key_seq - p.seq; }
  /// The number of keys that a query sees. It sees the first ones.
  long long seen(long long query) const {
    return causal ? std::max(position(query) + 1, 0LL) : p.key_seq;
  }
  /// The first query that sees a key.
  long long first_query(long long key) const {
    return causal ? std::max(key - p.key_seq + p.seq, 0LL) : 0;
  }
  long long lse_at(const Pair& at, long long query) const {
    return at.batch * p.lse_strides.batch + query * p.lse_strides.seq +
           at.head * p.lse_strides.heads;
  }

  /// A sequence of a ragged batch as a call of its own.
  Call sequence(long long n) const;
  /// A sequence of paged keys as a call of its own. Its keys stay in their pages, where loads find
  /// them.
  Call paged_sequence(long long n) const;

  void load_queries(const Pair& at, long long first, long long rows, float* out) const;
  void load_keys(const Pair& at, long long first, long long rows, float* out) const;
  void load_values(const Pair& at, long long first, long long rows, float* out) const;
  /// Loads rows of o or of its gradient.
  void load_outputs(const void* tensor, const Pair& at, long long first, long long rows,
                    float* out) const;
  void store_outputs(const Pair& at, long long first, long long rows, const float* in) const;
  /// Loads one head's log decays at the positions [first, first + rows).
  void load_decays(const Pair& at, long long first, long long rows, float* out) const;
};

/// Calls `run` for the call or, where it is a ragged batch or of paged keys, one after the other
/// for those of its sequences that have both queries and keys. What the others have of outputs is
/// written here.
void for_each_sequence(const HostCall& host_call, const std::function<void(const Call&)>& run);

}  // namespace gla_bench::softmax_attention::host
