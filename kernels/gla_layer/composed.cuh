// The layer's functions outside its matrix products, with one kernel for each. The tensors between
// them are float32, because two more roundings to 16 bits would show in y.
//   gate_activation  g = logsigmoid(gate_sums + b_g) / divisor
//   output_gate      swish = swish(r + b_r)
//   layer_norm       normed = LN(o) over the V values of a token's head
//   multiply         gated = swish * normed
// Grid: gate_activation, output_gate and multiply use one thread for each pack of elements. A pack
// is 16 bytes of io_t, or less where a head's row is not a multiple of that. layer_norm uses a
// group of lanes for each row of a head. Shared memory: none. Bytes moved: each tensor named above
// once. The biases come from the cache.

#include "gla_layer/rows.cuh"

namespace gla_bench::gla_layer {

// The first element of the thread's pack, among `count` elements.
template <int n>
__device__ __forceinline__ long long first_element() {
  return (blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x) * n;
}

}  // namespace gla_bench::gla_layer

using gla_bench::GlaLayerParams;
using namespace gla_bench::gla_layer;

extern "C" __global__ void __launch_bounds__(sizes.threads)
    gate_activation(const __grid_constant__ GlaLayerParams p) {
  constexpr int n = sizes.key_pack;
  const long long columns = static_cast<long long>(p.heads) * dim::key_dim;
  const long long i = first_element<n>();
  if (i >= p.rows * columns) return;
  float z[n], bias[n];
  load_pack(p.gate_sums + i, z);
  load_pack(static_cast<const io_t*>(p.b_g) + i % columns, bias);
#pragma unroll
  for (int j = 0; j < n; ++j) z[j] = log_sigmoid(z[j] + bias[j]) * p.gate_factor;
  store_pack(static_cast<io_t*>(p.g) + i, z);
}

extern "C" __global__ void __launch_bounds__(sizes.threads)
    output_gate(const __grid_constant__ GlaLayerParams p) {
  constexpr int n = sizes.value_pack;
  const long long columns = static_cast<long long>(p.heads) * dim::value_dim;
  const long long i = first_element<n>();
  if (i >= p.rows * columns) return;
  float r[n], bias[n];
  load_pack(static_cast<const io_t*>(p.r) + i, r);
  load_pack(static_cast<const io_t*>(p.b_r) + i % columns, bias);
#pragma unroll
  for (int j = 0; j < n; ++j) r[j] = swish(r[j] + bias[j]);
  store_pack(p.swish + i, r);
}

extern "C" __global__ void __launch_bounds__(sizes.threads)
    layer_norm(const __grid_constant__ GlaLayerParams p) {
  const long long unit = blockIdx.x * static_cast<long long>(sizes.units) +
                         threadIdx.x / static_cast<unsigned>(sizes.lanes);
  const bool inside = unit < p.rows * p.heads;
  RowPart part{};
  if (inside) part.load(static_cast<const io_t*>(p.o) + unit * dim::value_dim);
  part.normalise(p.epsilon);
  if (!inside) return;
#pragma unroll
  for (int k = 0; k < RowPart::packs; ++k)
    if (RowPart::has(k))
      store_pack(p.normed + unit * dim::value_dim + RowPart::column(k), part.x[k]);
}

extern "C" __global__ void __launch_bounds__(sizes.threads)
    multiply(const __grid_constant__ GlaLayerParams p) {
  constexpr int n = sizes.value_pack;
  const long long i = first_element<n>();
  if (i >= p.rows * p.heads * dim::value_dim) return;
  float a[n], b[n];
  load_pack(p.swish + i, a);
  load_pack(p.normed + i, b);
#pragma unroll
  for (int j = 0; j < n; ++j) a[j] *= b[j];
  store_pack(static_cast<io_t*>(p.gated) + i, a);
}
