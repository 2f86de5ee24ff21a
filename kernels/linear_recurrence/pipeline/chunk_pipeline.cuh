// chunk_pipeline: five kernels in a row, with every intermediate result in device memory.
//
// Idea: the chunk form, split where each step is simplest. Let b be the running sum of the gates
// inside a chunk, bn its last value and s the scale:
//   decay_cumsum   b
//   prepare_qg_kg  q' = s q e^b, k' = k e^(bn-b)
//   inter_chunk    walks the chunks: o' = q' S, S = e^bn S + k'^T v (tensor cores)
//   intra_chunk    A_ij = s sum_k q_ik k_jk e^(b_i-b_j), i >= j, elementwise: no exponent above 0
//   combine        o = sum of the o' + (sum of the A) v (tensor cores)
// With K cut into NK blocks, there are NK partial results of o' and of A. combine adds them.
//
// Grids, one-dimensional: (sequence, chunk, block of K) for the first two kernels and intra_chunk;
// (sequence, block of K, block of V) for inter_chunk; (sequence, chunk, block of V) for combine.
//
// Shared memory: layout.h. Workspace rows are padded: tokens to whole chunks, keys to a multiple of
// 16.
//
// Bytes per token and head, with e the bytes of an element of the tensors, p of an operand, 4 of a
// sum of gates (8 with terms=3), NK blocks of K, NV blocks of V and C tokens a chunk:
//   decay_cumsum   eK + 4K
//   prepare_qg_kg  2eK + 4K + 2pK
//   inter_chunk    NV 2pK + NK eV + 4 NK V
//   intra_chunk    2eK + 4K + 4 NK C
//   combine        4 NK (NV C + V) + 2eV

#include "linear_recurrence/pipeline/walk.cuh"

/// Writes b: a thread adds up one key's gates over the tokens of a chunk.
extern "C" __global__ void __launch_bounds__(tile::block_k)
    decay_cumsum(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  using namespace gla_bench::linear_recurrence;
  using namespace gla_bench;
  const Work w(p);
  const Place at(p, w, layout.blocks_k);
  const int key = at.part * block_k + static_cast<int>(threadIdx.x);
  if (key >= keys) return;
  const TokenStrides& strides = key_gate_strides(p);
  const gate_t* g =
      static_cast<const gate_t*>(p.g) + token_offset(p, strides, at.sequence, at.c * chunk);
  sum_t sum = 0;
#pragma unroll 16
  for (int i = 0; i < chunk; ++i) {
    if (i < at.rows && key < dim::key_dim)
      sum += device::log2_gate(device::to_float(g[i * strides.seq + key]));
    w.sums[(at.row + i) * keys + key] = sum;
  }
}

/// Writes q' and k': a thread owns one key of a chunk.
extern "C" __global__ void __launch_bounds__(tile::block_k)
    prepare_qg_kg(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  using namespace gla_bench::linear_recurrence;
  using namespace gla_bench;
  const Work w(p);
  const Place at(p, w, layout.blocks_k);
  const int key = at.part * block_k + static_cast<int>(threadIdx.x);
  if (key >= keys) return;
  const long long from = token_offset(p, p.key_strides, at.sequence, at.c * chunk) + key;
  const io_t *q = static_cast<const io_t*>(p.q) + from, *k = static_cast<const io_t*>(p.k) + from;
  const sum_t last = w.sums[(at.row + chunk - 1) * keys + key];
#pragma unroll 16
  for (int i = 0; i < chunk; ++i) {
    const bool exists = i < at.rows && key < dim::key_dim;
    const long long to = (at.row + i) * keys + key;
    const sum_t b = w.sums[to];
    const float x = exists ? device::to_float(q[i * p.key_strides.seq]) : 0.0f;
    const float y = exists ? device::to_float(k[i * p.key_strides.seq]) : 0.0f;
    w.q[to] = device::from_float<operand_t>(Ops::rounded(p.scale * x * decay_of(b)));
    w.k[to] = device::from_float<operand_t>(Ops::rounded(y * decay_of(last - b)));
  }
}

extern "C" __global__ void __launch_bounds__(gla_bench::linear_recurrence::layout.product_threads)
    inter_chunk(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  using namespace gla_bench::linear_recurrence;
  extern __shared__ __align__(128) unsigned char shared[];
  constexpr int parts = layout.blocks_k * layout.blocks_v;
  const Work w(p);
  const int part = static_cast<int>(blockIdx.x % parts);
  InterChunk{p,
             w,
             shared,
             blockIdx.x / parts,
             part / layout.blocks_v * block_k,
             part % layout.blocks_v * block_v}
      .run();
}

/// Writes A: a thread forms scores one by one over a block of K.
extern "C" __global__ void __launch_bounds__(128)
    intra_chunk(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  using namespace gla_bench::linear_recurrence;
  using namespace gla_bench;
  extern __shared__ __align__(128) unsigned char shared[];
  constexpr int row = layout.score_row;
  sum_t* b = reinterpret_cast<sum_t*>(shared);
  float* q = reinterpret_cast<float*>(b + chunk * row);
  float* k = q + chunk * row;
  const Work w(p);
  const Place at(p, w, layout.blocks_k);
  const long long from = token_offset(p, p.key_strides, at.sequence, at.c * chunk);
  for (int item = threadIdx.x; item < chunk * block_k; item += blockDim.x) {
    const int i = item / block_k, key = at.part * block_k + item % block_k;
    const bool exists = i < at.rows && key < dim::key_dim;
    const int to = i * row + item % block_k;
    const long long source = from + i * p.key_strides.seq + key;
    q[to] = exists ? device::to_float(static_cast<const io_t*>(p.q)[source]) : 0.0f;
    k[to] = exists ? device::to_float(static_cast<const io_t*>(p.k)[source]) : 0.0f;
    b[to] = exists ? w.sums[(at.row + i) * keys + key] : sum_t(0);
  }
  __syncthreads();
  float* scores =
      w.scores + ((at.part * w.sequences + at.sequence) * w.chunks + at.c) * (chunk * chunk);
  for (int pair = threadIdx.x; pair < chunk * chunk; pair += blockDim.x) {
    const int i = pair / chunk, j = pair % chunk;
    float sum = 0.0f;
    if (j <= i && i < at.rows) {
#pragma unroll 8
      for (int x = 0; x < block_k; ++x)
        sum += q[i * row + x] * k[j * row + x] * decay_of(b[i * row + x] - b[j * row + x]);
    }
    scores[pair] = p.scale * sum;
  }
}

extern "C" __global__ void __launch_bounds__(gla_bench::linear_recurrence::layout.product_threads)
    combine(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  using namespace gla_bench::linear_recurrence;
  using namespace gla_bench;
  constexpr int threads = layout.product_threads;
  extern __shared__ __align__(128) unsigned char shared[];
  io_t* v = reinterpret_cast<io_t*>(shared);
  operand_t* scores = reinterpret_cast<operand_t*>(shared + layout.combine_scores);
  float* out = reinterpret_cast<float*>(shared + layout.combine_out);
  const Work w(p);
  const Place at(p, w, layout.blocks_v);
  const int first_v = at.part * block_v;
  const long long values = token_offset(p, p.value_strides, at.sequence, at.c * chunk) + first_v;
  device::copy_rows_async<threads, chunk, block_v, value_ld, value_alignment>(
      v, static_cast<const io_t*>(p.v) + values, p.value_strides.seq, at.rows,
      dim::value_dim - first_v);
  device::commit_copies();
  for (int item = threadIdx.x; item < chunk * chunk / 2; item += threads) {
    const int i = item / (chunk / 2), j = item % (chunk / 2) * 2;
    float2 sum = make_float2(0.0f, 0.0f);
    for (int part = 0; part < layout.blocks_k; ++part) {
      const long long block = (part * w.sequences + at.sequence) * w.chunks + at.c;
      const float2 x = device::load_pair(w.scores + (block * chunk + i) * chunk + j);
      sum.x += x.x;
      sum.y += x.y;
    }
    Ops::store_scores(scores + i * layout.score_ld + j, chunk, sum.x, sum.y);
  }
  device::wait_copies<0>();
  __syncthreads();
  float product[tiles_i][4] = {};
#pragma unroll
  for (int j = 0; j < chunk; j += Ops::depth) {
    const auto a = Ops::load_columns(v + j * value_ld + warp_first_v(), value_ld);
#pragma unroll
    for (int i = j / 16 * 2; i < tiles_i; i += 2) {
      Ops::Score b[2];
      Ops::load_scores(b, scores + i * 8 * layout.score_ld + j, layout.score_ld, chunk);
      Ops::multiply(product[i], a, b[0]);
      Ops::multiply(product[i + 1], a, b[1]);
    }
  }
#pragma unroll
  for (int n = 0; n < tiles_i; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      out[(8 * n + lane_column() + i % 2) * layout.out_ld + warp_first_v() + lane_row() +
          i / 2 * 8] = product[n][i];
  __syncthreads();
  io_t* o = static_cast<io_t*>(p.o);
  if constexpr (trait::packed_inputs != 0)
    o += token_offset(p, p.output_strides, at.sequence, at.c * chunk) + first_v;
  else
    o += values;
  for (int item = threadIdx.x; item < at.rows * block_v; item += threads) {
    const int i = item / block_v, x = item % block_v;
    if (first_v + x >= dim::value_dim) continue;
    float sum = out[i * layout.out_ld + x];
    for (int part = 0; part < layout.blocks_k; ++part)
      sum += w.partial[((part * w.sequences + at.sequence) * w.padded_seq + at.c * chunk + i) *
                           dim::value_dim +
                       first_v + x];
    o[i * output_strides(p).seq + x] = device::from_float<io_t>(sum);
  }
}
