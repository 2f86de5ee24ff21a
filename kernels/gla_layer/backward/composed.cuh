// The rows between the products of the layer's backward.
//   norm_gate_gradients  gated = swish(a) (.) n, dr = dgated (.) n (.) swish'(a), and do, the
//                        gradient of n = LN(o), with a = r + b_r. A group of lanes handles each row
//                        of a head and holds it in registers, as in the forward.
//   gate_gradients       dz = dg (.) sigmoid(-z), z = gate_sums + b_g, times the divisor
//   key_bias, value_bias db_g and db_r: a block sums 32 columns over all tokens, in a fixed order
//   input_gradient       dx from its sums
// Grid: one group for each row of a head; one thread for each pack of keys; one block for each 32
// columns; one thread for each element of x. Shared memory: 4 KiB where columns are summed.
// Bytes moved: o, r and dgated are read, gated, dr and do written; dg and gate_sums are read, dz
// written; dz and dr are read; the sums of dx are read, dx is written.

#include "gla_layer/backward/params.h"
#include "gla_layer/rows.cuh"

using gla_bench::GlaLayerGradients;
using namespace gla_bench::gla_layer;

namespace gla_bench::gla_layer {

/// 1 / (1 + e^-x), which is 0 where the exponential overflows.
__device__ __forceinline__ float sigmoid(float x) {
  if constexpr (sizeof(io_t) == 4)
    return 1.0f / (1.0f + expf(-x));
  else
    return 1.0f / (1.0f + __expf(-x));
}

/// to[column] = factor * the sum of a [rows, columns] tensor's column. Thread rows take every 32nd
/// token, and the first one adds up what they have.
__device__ __forceinline__ void column_sums(const io_t* values, long long rows, long long columns,
                                            float factor, float* to) {
  __shared__ float parts[column_lanes][column_lanes];
  const int lane = static_cast<int>(threadIdx.x) % column_lanes;
  const int first = static_cast<int>(threadIdx.x) / column_lanes;
  const long long column = blockIdx.x * static_cast<long long>(column_lanes) + lane;
  float sum = 0.0f;
  if (column < columns)
    for (long long row = first; row < rows; row += column_lanes)
      sum += device::to_float(values[row * columns + column]);
  parts[first][lane] = sum;
  __syncthreads();
  if (first > 0 || column >= columns) return;
  for (int i = 1; i < column_lanes; ++i) sum += parts[i][lane];
  to[column] = factor * sum;
}

}  // namespace gla_bench::gla_layer

extern "C" __global__ void __launch_bounds__(sizes.threads)
    norm_gate_gradients(const __grid_constant__ GlaLayerGradients p) {
  const long long unit = blockIdx.x * static_cast<long long>(sizes.units) +
                         threadIdx.x / static_cast<unsigned>(sizes.lanes);
  const bool inside = unit < p.layer.rows * p.layer.heads;
  const long long at = unit * dim::value_dim;
  RowPart normed{}, open{}, change{};
  if (inside) {
    normed.load(static_cast<const io_t*>(p.layer.o) + at);
    open.load(static_cast<const io_t*>(p.layer.r) + at);
    change.load(static_cast<const io_t*>(p.d_gated) + at);
  }
  const float factor = normed.normalise(p.layer.epsilon);
  const io_t* bias = static_cast<const io_t*>(p.layer.b_r) + unit % p.layer.heads * dim::value_dim;
  float sum = 0.0f, projection = 0.0f;
#pragma unroll
  for (int k = 0; k < RowPart::packs; ++k) {
    if (!inside || !RowPart::has(k)) continue;
    float b[RowPart::n], gated[RowPart::n], d_open[RowPart::n];
    load_pack(bias + RowPart::column(k), b);
#pragma unroll
    for (int i = 0; i < RowPart::n; ++i) {
      const float x = open.x[k][i] + b[i], open_share = sigmoid(x);
      gated[i] = x * open_share * normed.x[k][i];
      d_open[i] = change.x[k][i] * normed.x[k][i] * open_share * fmaf(x, 1.0f - open_share, 1.0f);
      change.x[k][i] *= x * open_share;
      sum += change.x[k][i];
      projection = fmaf(change.x[k][i], normed.x[k][i], projection);
    }
    store_pack(static_cast<io_t*>(p.layer.gated) + at + RowPart::column(k), gated);
    store_pack(static_cast<io_t*>(p.dr) + at + RowPart::column(k), d_open);
  }
  sum = row_sum(sum) * (1.0f / dim::value_dim);
  projection = row_sum(projection) * (1.0f / dim::value_dim);
  if (!inside) return;
#pragma unroll
  for (int k = 0; k < RowPart::packs; ++k) {
    if (!RowPart::has(k)) continue;
#pragma unroll
    for (int i = 0; i < RowPart::n; ++i)
      change.x[k][i] = factor * (change.x[k][i] - sum - normed.x[k][i] * projection);
    store_pack(static_cast<io_t*>(p.d_o) + at + RowPart::column(k), change.x[k]);
  }
}

extern "C" __global__ void __launch_bounds__(sizes.threads)
    gate_gradients(const __grid_constant__ GlaLayerGradients p) {
  constexpr int n = sizes.key_pack;
  const long long columns = static_cast<long long>(p.layer.heads) * dim::key_dim;
  const long long i = (blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x) * n;
  if (i >= p.layer.rows * columns) return;
  float z[n], bias[n], change[n];
  load_pack(p.layer.gate_sums + i, z);
  load_pack(p.dg + i, change);
  load_pack(static_cast<const io_t*>(p.layer.b_g) + i % columns, bias);
#pragma unroll
  for (int j = 0; j < n; ++j) change[j] *= sigmoid(-(z[j] + bias[j]));
  store_pack(static_cast<io_t*>(p.dz) + i, change);
}

extern "C" __global__ void __launch_bounds__(column_lanes* column_lanes)
    key_bias(const __grid_constant__ GlaLayerGradients p) {
  column_sums(static_cast<const io_t*>(p.dz), p.layer.rows,
              static_cast<long long>(p.layer.heads) * dim::key_dim, p.layer.gate_factor, p.db_g);
}

extern "C" __global__ void __launch_bounds__(column_lanes* column_lanes)
    value_bias(const __grid_constant__ GlaLayerGradients p) {
  column_sums(static_cast<const io_t*>(p.dr), p.layer.rows,
              static_cast<long long>(p.layer.heads) * dim::value_dim, 1.0f, p.db_r);
}

extern "C" __global__ void __launch_bounds__(sizes.threads)
    input_gradient(const __grid_constant__ GlaLayerGradients p) {
  const long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  if (i >= p.layer.rows * p.layer.model) return;
  static_cast<io_t*>(p.dx)[i] = gla_bench::device::from_float<io_t>(p.dx_sums[i]);
}
