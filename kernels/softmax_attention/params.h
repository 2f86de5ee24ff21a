#pragma once
// The single argument of every kernel of the softmax family, passed by value on the GPU and on the
// host. The file includes no standard headers, because NVRTC has none.

#include "kernels/token_strides.h"

namespace gla_bench {

/// y = softmax(scale x) along each row of x [rows, columns]. y has the same extents. Both are in
/// io_t with contiguous rows. A row of only -inf becomes zeros.
struct SoftmaxParams {
  const void* x;
  void* y;
  void* work[8];  ///< workspace regions in the variant's own order
  long long rows, columns;
  float scale;
};

/// Attention of `seq` queries to `key_seq` keys. Query i stands at key position i + key_seq - seq.
/// Extents: q, dq [B,T,H,K]; k, dk [B,Tk,Hk,K]; v, dv [B,Tk,Hk,V]; o, d_o [B,T,H,V]; log_decay,
/// d_log_decay [B,Tk,H] or [H]; lse [B,T,H]. Elements are in io_t unless a type is given. Query
/// head h reads key head h / (heads / key_heads). Of a ragged batch, whose B is 1, each sequence is
/// attention of its own queries to its own keys: what stands above holds of its extents.
struct AttentionParams {
  const void* q;
  const void* k;
  const void* v;
  const void* log_decay;            ///< for trait::decay 2, per token in gate_t; null: none
  const float* constant_log_decay;  ///< for trait::decay 1, [H]; null: none
  void* o;                          ///< written by the forward, given to the backward
  float* lse;                       ///< like o; null in a forward that does not write it
  const void* d_o;                  ///< this and the next, up to d_log_decay, only in the backward
  void* dq;
  void* dk;
  void* dv;
  float* d_log_decay;             ///< null: none
  void* work[8];                  ///< workspace regions in the variant's own order
  TokenStrides query_strides;     ///< of q
  TokenStrides key_strides;       ///< of k
  TokenStrides value_strides;     ///< of v
  TokenStrides output_strides;    ///< of o, d_o
  TokenStrides decay_strides;     ///< of log_decay, d_log_decay per token
  TokenStrides lse_strides;       ///< of lse
  long long batch, seq, key_seq;  ///< B, T, Tk
  long long heads, key_heads;     ///< H, Hk
  int key_dim, value_dim;         ///< for the host; kernels have dim::key_dim, dim::value_dim
  float scale;                    ///< of the products q.k, before the decay is added
  TokenStrides dq_strides;        ///< this and the next two as of q, k and v, but never of slices
  TokenStrides dk_strides;
  TokenStrides dv_strides;
  const int* cu_seqlens;    ///< for trait::ragged: where sequences begin in T and end, [N+1]
  const int* cu_seqlens_k;  ///< the same of keys, in Tk
  long long sequences;      ///< N; 0: not ragged
  /// For trait::page_size above 0: pages of the pool that hold a sequence's keys one after the
  /// other, [B,P]. k, v and log decays per token are [pages, page_size, ..] then, so that a step
  /// along `batch` of their strides is one page.
  const int* block_table;
  const int* cache_seqlens;     ///< the number of each sequence's keys, up to Tk, [B]
  long long pages_of_sequence;  ///< P
  int page_size;                ///< for the host; 0: keys are not paged
};

}  // namespace gla_bench
