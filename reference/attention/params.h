#pragma once
// What attention.cuh and the host that launches it must agree on. The file includes no standard
// headers, because NVRTC has none.

namespace gla_bench::attention::device {

constexpr int rows = 64;      ///< queries or keys of a block
constexpr int width = 128;    ///< output columns of a block
constexpr int threads = 256;  ///< threads of a block

/// The single argument of every kernel, passed by value. Outputs that a launch does not write are
/// null.
template <class real_t>
struct Params {
  const float* q;
  const float* k;
  const float* v;
  const float* d_o;
  const float* given_lse;  ///< [B,T,H]
  const real_t* d;         ///< do.o [B,T,H]
  const double* decays;    ///< sums of the finite log decays [B,H,Tk]; null: none
  const int* resets;       ///< full resets up to each position, [B,H,Tk]
  real_t* o;
  real_t* lse;  ///< null: not an output
  real_t* dq;
  real_t* dk;
  real_t* dv;
  real_t* row_sums;     ///< of dS [B,H,T]; null: no decays
  real_t* column_sums;  ///< [B,H,Tk]
  real_t* distances;    ///< of (position - key) dS [B,H, blocks of 64 queries]
  long long seq, key_seq, heads, key_heads;
  int key_dim, value_dim;
  int causal;
  double scale;
};

}  // namespace gla_bench::attention::device
