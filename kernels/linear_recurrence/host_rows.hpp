#pragma once
// Token rows of one (batch, head) pair between the problem's dtype and layout and dense float32.

#include <vector>

#include "harness/variant.hpp"
#include "kernels/linear_recurrence/params.h"

namespace gla_bench::linear_recurrence::host {

/// The parameters of a call and what the host code needs besides.
struct Call {
  LinearRecurrenceParams p;
  DType dtype;
  long long pairs;  ///< batch * heads
  int keys, values;

  explicit Call(const HostCall& call);
};

/// A rectangle of a tensor with token axes: tokens [first, first + rows) of a pair, columns
/// [column, column + columns) of its last axis.
struct Rows {
  long long pair, first, rows, column, columns;
};

/// Widens the rectangle to out [rows, columns]. `strides` are the tensor's.
void load(const Call& call, const void* tensor, const TokenStrides& strides, const Rows& at,
          float* out);

/// Rounds in [rows, columns] to the dtype, once, ties to even, and writes it to the rectangle.
void store(const Call& call, void* tensor, const TokenStrides& strides, const Rows& at,
           const float* in);

/// A pair's state [K, columns] from column `column` on out of [B,H,K,V]; zeros where `states` is
/// null.
void load_state(const Call& call, const float* states, long long pair, long long column,
                long long columns, float* out);

/// The inverse; nothing happens where `states` is null.
void store_state(const Call& call, float* states, long long pair, long long column,
                 long long columns, const float* in);

/// A float32 scratch array. Elements start as zero.
inline std::vector<float> scratch(long long elements) {
  return std::vector<float>(static_cast<std::size_t>(elements));
}

}  // namespace gla_bench::linear_recurrence::host
