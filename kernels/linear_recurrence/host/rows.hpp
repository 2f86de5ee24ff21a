#pragma once
// Moves token rows of one (sequence, head) pair between the problem's tensors and dense float32
// operands. The host variants thus always see q, k, decays (one per key) and v of a pair's tokens,
// and a state [K, V], whatever the member, its options, the dtypes, the layouts and the lengths.
//
// A normalizer is one more column. v's is 1 throughout, so the state's is z and the output's is
// scale q.z, the denominator. Every form carries it along with the others, in the same pass.

#include <vector>

#include "core/variant.hpp"
#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/params.h"

namespace gla_bench::linear_recurrence::host {

/// The parameters of a call, and what the host code needs besides.
struct Call {
  LinearRecurrenceParams p;
  DType dtype, gate_dtype;
  Decay decay;
  bool before_update, elu_features, raw_gates, bfloat16_state;
  long long pairs;  ///< sequences * heads
  int keys, values;
  int extra;                       ///< columns besides v's: 1 with a normalizer
  std::vector<float> normalizers;  ///< the initial ones [pairs, K], which may be overwritten

  explicit Call(const HostCall& call);

  long long sequence(long long pair) const { return pair / p.heads; }
  long long head(long long pair) const { return pair % p.heads; }
  /// Where a pair's tokens begin among those of its batch row.
  long long begin(long long pair) const { return p.cu_seqlens ? p.cu_seqlens[sequence(pair)] : 0; }
  /// Tokens of a pair; ragged sequences may have none.
  long long length(long long pair) const {
    return p.cu_seqlens ? p.cu_seqlens[sequence(pair) + 1] - begin(pair) : p.seq;
  }
  /// The longest sequence.
  long long longest() const;
  /// Where the state after a pair's first `tokens` tokens goes among the states between, in the
  /// numbering of pairs; -1: nowhere. The last state of a ragged sequence may go there, too.
  long long place_after(long long pair, long long tokens) const;
  /// Number of a pair's token in a dense [B*H, T] array.
  long long row(long long pair, long long token) const {
    const long long batch = p.cu_seqlens ? 0 : sequence(pair);
    return (batch * p.heads + head(pair)) * p.seq + begin(pair) + token;
  }
};

/// A rectangle of a tensor with token axes: tokens [first, first + rows) of a pair, columns
/// [column, column + columns) of its last axis.
struct Rows {
  long long pair, first, rows, column, columns;
};

/// Loads a rectangle of a tensor of this dtype: out [rows, columns], its rows out_row apart.
void load_rows(const Call& call, DType dtype, const void* tensor, const TokenStrides& strides,
               const Rows& at, float* out, long long out_row);

/// Rounds a rectangle to the dtype once, ties to even, and stores it.
void store_rows(const Call& call, DType dtype, void* tensor, const TokenStrides& strides,
                const Rows& at, const float* in, long long in_row);

/// Loads columns of a pair's state from a tensor of states: out [K, columns], its rows out_row
/// apart; and the reverse.
void load_state(const Call& call, const void* states, long long pair, long long column,
                long long columns, float* out, long long out_row);
void store_state(const Call& call, void* states, long long pair, long long column,
                 long long columns, const float* in, long long in_row);

/// Loads q or k with features applied: out [rows, K]. The rectangle's columns do not matter.
void load_queries(const Call& call, const Rows& at, float* out);
void load_keys(const Call& call, const Rows& at, float* out);

/// Loads exp of the log decays: out [rows, K], whatever they depend on.
void load_decays(const Call& call, const Rows& at, float* out);

/// Loads the log decays [rows, K] themselves.
void load_log_decays(const Call& call, const Rows& at, float* out);

/// Loads the bonus u of a pair's head: out [K]. Only with before_update.
void load_bonus(const Call& call, long long pair, float* out);

/// Loads v: out [rows, columns + extra].
void load_values(const Call& call, const Rows& at, float* out);

/// Divides `in` [rows, columns + extra] by its denominators where it has any. Rounds to the dtype
/// once, ties to even, and writes o.
void store_outputs(const Call& call, const Rows& at, const float* in);

/// Loads a pair's initial state from column `column` on: out [K, columns + extra]. Zeros where
/// there is none.
void load_initial(const Call& call, long long pair, long long column, long long columns,
                  float* out);

/// The reverse, into the final state where one is asked for. The normalizer goes with column 0.
void store_final(const Call& call, long long pair, long long column, long long columns,
                 const float* in);

/// The same into the states between (states_every), where this state after `tokens` tokens is one
/// of them.
void store_between(const Call& call, long long pair, long long tokens, long long column,
                   long long columns, const float* in);

/// Copies a [rows, columns] rectangle between float32 arrays of these rows.
void copy_rectangle(long long rows, long long columns, const float* from, long long from_row,
                    float* to, long long to_row);

/// A piece of a pair's tokens.
struct Piece {
  long long pair, index;  ///< which of the pair's pieces
  long long first, rows;  ///< tokens
};

/// Every pair's tokens in pieces of at most `length`, one pair after the other. A pair's first
/// piece has the number begin[pair], and begin[pairs] is their total. Empty sequences have no
/// pieces.
struct Pieces {
  std::vector<Piece> list;
  std::vector<long long> begin;

  Pieces(const Call& call, long long length);
  long long count() const { return static_cast<long long>(list.size()); }
  long long count_of(long long pair) const { return begin[pair + 1] - begin[pair]; }
};

/// A float32 scratch array. Elements start as zero.
inline std::vector<float> scratch(long long elements) {
  return std::vector<float>(static_cast<std::size_t>(elements));
}

}  // namespace gla_bench::linear_recurrence::host
