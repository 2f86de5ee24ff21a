#pragma once
// A chunk of the backward, for the chunk and the quadratic forms. Decays are only ever multiplied,
// as in the forward's chunks (host/chunk.hpp). A gate's gradient is summed over the pairs of tokens
// that it lies between, not as a difference of the gradients of q and k, which would lose all its
// digits where decays are strong.

#include <vector>

#include "kernels/linear_recurrence/host/backward/gradients.hpp"

namespace gla_bench::linear_recurrence::host {

struct GradientChunk {
  long long rows = 0;
  std::vector<float> q, k, e;          ///< [rows, K], as they are loaded; e holds exp(g)
  std::vector<float> v, d_o;           ///< [rows, width]
  std::vector<float> dq, dk, dg;       ///< [rows, K], of features and log decays
  std::vector<float> dv;               ///< [rows, width]
  std::vector<float> prefix, suffix;   ///< [rows, K]: scale q and k times their decays, see load()
  std::vector<float> whole;            ///< [K]: the product of all decays
  std::vector<float> scores, changes;  ///< [rows, rows]: q.k with decays, and scale do.v
  HeadSums sums;

  GradientChunk(const GradientCall& call, long long chunk);

  /// Loads the tokens of a piece and forms `prefix` (scale q_t times the decays up to what it
  /// reads of the state before the chunk), `suffix` (k_t times the decays behind t) and `whole`.
  void load(const GradientCall& call, const Rows& at);

  /// Sets the gradients to what the chunk's own tokens give each other.
  void intra(const GradientCall& call);

  /// Adds what they have from the state before the chunk, and from the gradient of that behind it:
  /// both [K, width].
  void inter(const GradientCall& call, const float* state, const float* change);

  /// The same from what each query reads of earlier tokens, do S^T, and each key of later ones,
  /// v D^T: both [rows, K], without their decays in the chunk. `through` [K] is what passes all of
  /// the chunk's gates. Values have their gradients already.
  void outer(const GradientCall& call, const float* read, const float* written,
             const float* through);

  /// state = whole state + suffix^T v.
  void advance(const GradientCall& call, float* state) const;

  /// change = whole change + prefix^T do: from the gradient behind the chunk to that before it.
  void retreat(const GradientCall& call, float* change) const;

  /// Stores the tokens' gradients.
  void store(const GradientCall& call, const Rows& at);

 private:
  std::vector<float> bonus_, reach_, run_, parts_, read_, written_;

  void own_token(const GradientCall& call, long long t);
  void readers_of(const GradientCall& call, long long j);
};

/// dg[t] += the sum over the readers that gate t decays, of parts [rows, K] of each reader: those
/// from t on or, before the update, behind t.
void add_readers(const GradientCall& call, long long rows, const float* parts, float* dg);

/// dg[t] += the sum of the parts [rows, K] of the writers before t.
void add_writers(const GradientCall& call, long long rows, const float* parts, float* dg);

}  // namespace gla_bench::linear_recurrence::host
