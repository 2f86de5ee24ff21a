// The layer's functions outside its large products, in two kernels. Nothing is stored between the
// functions of a kernel.
//   gate       g = logsigmoid(low W_2 + b_g) / divisor. Each thread holds its columns of W_2 (16
//              values each) in registers and walks down the tokens of its block. Their rows of
//              `low` lie in shared memory, and all threads read the same row at once.
//              Grid: blocks of tile::tokens tokens, times blocks of columns.
//              Shared memory: tokens * 64 bytes. Bytes moved: low is read, g is written, and W_2
//              comes from the cache.
//   norm_gate  gated = swish(r + b_r) (.) LN(o). A group of lanes handles each row of a head and
//              holds it in registers. Grid: one group for each row. Shared memory: none.
//              Bytes moved: o and r are read, gated is written.

#include "gla_layer/rows.cuh"

using gla_bench::GlaLayerParams;
using namespace gla_bench::gla_layer;

namespace gla_bench::gla_layer {

inline constexpr int rank = 16;

/// A thread's columns of W_2 and of the bias.
struct GateColumns {
  static constexpr int n = sizes.gate_columns;
  float w[rank][n], bias[n];

  __device__ __forceinline__ void load(const GlaLayerParams& p, long long columns, long long at) {
#pragma unroll
    for (int k = 0; k < rank; ++k)
      load_pack(static_cast<const io_t*>(p.w_2) + k * columns + at, w[k]);
    load_pack(static_cast<const io_t*>(p.b_g) + at, bias);
  }

  __device__ __forceinline__ void gates(const float* low, float factor, float (&g)[n]) const {
#pragma unroll
    for (int i = 0; i < n; ++i) g[i] = 0.0f;
#pragma unroll
    for (int k = 0; k < rank; k += 4) {
      const float4 x = *reinterpret_cast<const float4*>(low + k);
#pragma unroll
      for (int i = 0; i < n; ++i) {
        g[i] = fmaf(x.x, w[k][i], g[i]);
        g[i] = fmaf(x.y, w[k + 1][i], g[i]);
        g[i] = fmaf(x.z, w[k + 2][i], g[i]);
        g[i] = fmaf(x.w, w[k + 3][i], g[i]);
      }
    }
#pragma unroll
    for (int i = 0; i < n; ++i) g[i] = log_sigmoid(g[i] + bias[i]) * factor;
  }
};

}  // namespace gla_bench::gla_layer

extern "C" __global__ void __launch_bounds__(sizes.gate_threads)
    gate(const __grid_constant__ GlaLayerParams p) {
  constexpr int n = sizes.gate_columns, tokens = tile::tokens;
  __shared__ __align__(16) float low[tokens * rank];
  const long long columns = static_cast<long long>(p.heads) * dim::key_dim;
  const long long across = sizes.gate_threads * n;
  const long long column_blocks = (columns + across - 1) / across;
  const long long row = blockIdx.x / column_blocks * tokens;
  const long long column = blockIdx.x % column_blocks * across + threadIdx.x * n;
  const int count = static_cast<int>(min(static_cast<long long>(tokens), p.rows - row));
  for (int i = threadIdx.x; i < count * rank; i += sizes.gate_threads)
    low[i] = gla_bench::device::to_float(static_cast<const io_t*>(p.low)[row * rank + i]);
  __syncthreads();
  if (column >= columns) return;
  GateColumns mine;
  mine.load(p, columns, column);
  io_t* target = static_cast<io_t*>(p.g) + row * columns + column;
  for (int t = 0; t < count; ++t) {
    float g[n];
    mine.gates(low + t * rank, p.gate_factor, g);
    store_pack(target + t * columns, g);
  }
}

extern "C" __global__ void __launch_bounds__(sizes.threads)
    norm_gate(const __grid_constant__ GlaLayerParams p) {
  const long long unit = blockIdx.x * static_cast<long long>(sizes.units) +
                         threadIdx.x / static_cast<unsigned>(sizes.lanes);
  const bool inside = unit < p.rows * p.heads;
  RowPart part{}, open{};
  if (inside) {
    part.load(static_cast<const io_t*>(p.o) + unit * dim::value_dim);
    open.load(static_cast<const io_t*>(p.r) + unit * dim::value_dim);
  }
  part.normalise(p.epsilon);
  if (!inside) return;
  const io_t* bias = static_cast<const io_t*>(p.b_r) + unit % p.heads * dim::value_dim;
#pragma unroll
  for (int k = 0; k < RowPart::packs; ++k) {
    if (!RowPart::has(k)) continue;
    float b[RowPart::n];
    load_pack(bias + RowPart::column(k), b);
#pragma unroll
    for (int i = 0; i < RowPart::n; ++i) b[i] = swish(open.x[k][i] + b[i]) * part.x[k][i];
    store_pack(static_cast<io_t*>(p.gated) + unit * dim::value_dim + RowPart::column(k), b);
  }
}
