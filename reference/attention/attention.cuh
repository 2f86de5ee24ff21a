// Attention in blocks of queries and keys, in the arithmetic of real_t. With real_t = double and
// rounding::mantissa = 52 it is the float64 reference on the GPU. With real_t = float it is the
// plain computation whose error sets the bounds. forward.cpp and backward.cpp in this folder are
// the definition, which this file follows.
//
// Idea: a block of 256 threads forms tiles of 64 rows x 32 columns of scores in registers. The
// operands pass through shared memory, 16 channels at a time. The block then adds tile x operand to
// 64 x 128 outputs in registers. Rows are queries (forward, dq) or keys (dk, dv). Grid: (row blocks
// * batch * heads, blocks of 128 output columns). Each block computes the scores again. Shared
// memory: 16 channels of the operands and the tile, at most 33 KB in float64. All tensors are in
// logical order, inputs in float32.
//
// The prologue defines real_t and rounding::mantissa (the explicit bits that an operand keeps).

#include "reference/attention/params.h"
#include "reference/rounded.cuh"

namespace reference {

using Params = gla_bench::attention::device::Params<real_t>;
using gla_bench::attention::device::rows;
using gla_bench::attention::device::threads;
using gla_bench::attention::device::width;

constexpr int columns = 32, depth = 16;
constexpr int tile_ld = columns + 1;

__device__ double exponential(double x) { return exp(x); }
__device__ float exponential(float x) { return expf(x); }
__device__ double logarithm(double x) { return log(x); }
__device__ float logarithm(float x) { return logf(x); }

// NVRTC does not have the macros of <math.h>.
__device__ real_t minus_infinity() {
  return static_cast<real_t>(__longlong_as_double(static_cast<long long>(0xfff0000000000000ull)));
}

// Some rows of a tensor: `count` rows of `width` elements, `stride` elements apart.
struct Matrix {
  const float* first;
  long long stride;
  long long count;
  int width;

  __device__ real_t at(long long row, int column) const {
    return row < count && column < width ? rounded(static_cast<real_t>(first[row * stride + column]))
                                         : real_t(0);
  }
};

struct Shared {
  real_t stage[depth * width];  // operands: [depth][rows + 1] and [depth][columns + 1], or [depth][width]
  real_t tile[rows * tile_ld];
};

// A thread owns rows thread_row() + 16 r and columns thread_column() + 16 c.
__device__ int thread_row() { return static_cast<int>(threadIdx.x) / 16; }
__device__ int thread_column() { return static_cast<int>(threadIdx.x) % 16; }

// s[64 x 32] = x y^T.
__device__ void product(const Matrix& x, const Matrix& y, Shared& shared, real_t (&s)[4][2]) {
  real_t* xs = shared.stage;
  real_t* ys = shared.stage + depth * (rows + 1);
  for (int r = 0; r < 4; ++r) s[r][0] = s[r][1] = 0;
  for (int first = 0; first < x.width; first += depth) {
    __syncthreads();
    for (int i = threadIdx.x; i < rows * depth; i += threads)
      xs[i % depth * (rows + 1) + i / depth] = x.at(i / depth, first + i % depth);
    for (int i = threadIdx.x; i < columns * depth; i += threads)
      ys[i % depth * (columns + 1) + i / depth] = y.at(i / depth, first + i % depth);
    __syncthreads();
#pragma unroll
    for (int c = 0; c < depth; ++c) {
      const real_t left = ys[c * (columns + 1) + thread_column()];
      const real_t right = ys[c * (columns + 1) + thread_column() + 16];
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const real_t a = xs[c * (rows + 1) + thread_row() + 16 * r];
        s[r][0] += a * left;
        s[r][1] += a * right;
      }
    }
  }
}

// sum[64 x 128] += tile z, with the columns of z from first_column on.
__device__ void accumulate(const Matrix& z, int first_column, Shared& shared, real_t (&sum)[4][8]) {
  for (int first = 0; first < columns; first += depth) {
    __syncthreads();
    for (int i = threadIdx.x; i < depth * width; i += threads)
      shared.stage[i] = z.at(first + i / width, first_column + i % width);
    __syncthreads();
#pragma unroll
    for (int j = 0; j < depth; ++j) {
      real_t p[4];
#pragma unroll
      for (int r = 0; r < 4; ++r)
        p[r] = shared.tile[(thread_row() + 16 * r) * tile_ld + first + j];
#pragma unroll
      for (int c = 0; c < 8; ++c) {
        const real_t value = shared.stage[j * width + thread_column() + 16 * c];
#pragma unroll
        for (int r = 0; r < 4; ++r) sum[r][c] += p[r] * value;
      }
    }
  }
}

// Adds a value from each of the 16 threads that share rows. All of them get the sum.
__device__ real_t over_columns(real_t x) {
  for (int step = 8; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

// One sequence of the batch and one query head.
struct Pair {
  const Params& p;
  long long batch, head;

  __device__ long long number() const { return batch * p.heads + head; }
  __device__ long long key_head() const { return head / (p.heads / p.key_heads); }
  __device__ long long query_row(long long query) const {
    return (batch * p.seq + query) * p.heads + head;
  }
  __device__ long long key_row(long long key) const {
    return (batch * p.key_seq + key) * p.key_heads + key_head();
  }
  __device__ Matrix queries(const float* tensor, long long first, int channels) const {
    return {tensor + query_row(first) * channels, p.heads * channels, p.seq - first, channels};
  }
  __device__ Matrix keys(const float* tensor, long long first, int channels) const {
    return {tensor + key_row(first) * channels, p.key_heads * channels, p.key_seq - first, channels};
  }
  __device__ long long position(long long query) const { return query + p.key_seq - p.seq; }
  __device__ bool sees(long long query, long long key) const {
    return query < p.seq && key < p.key_seq && (!p.causal || key <= position(query));
  }
  // The logit of a query and a key that it sees.
  __device__ real_t logit(long long query, long long key, real_t product) const {
    const real_t scaled = product * static_cast<real_t>(p.scale);
    if (p.decays == nullptr) return scaled;
    const long long from = number() * p.key_seq + key;
    const long long to = number() * p.key_seq + position(query);
    if (p.resets[from] != p.resets[to]) return minus_infinity();
    return scaled + static_cast<real_t>(p.decays[to] - p.decays[from]);
  }
  __device__ real_t weight(long long query, long long key, real_t product) const {
    if (!sees(query, key)) return 0;
    return exponential(logit(query, key, product) -
                       static_cast<real_t>(p.given_lse[query_row(query)]));
  }
  __device__ real_t row_term(long long query) const {
    return query < p.seq ? p.d[query_row(query)] : real_t(0);
  }
};

// The block's first row and its pair, from a grid of (row blocks * batch * heads).
__device__ long long first_row(long long length) {
  const long long blocks = (length + rows - 1) / rows;
  return (blocks - 1 - blockIdx.x % blocks) * rows;  // rows that see the most keys first
}
__device__ long long pair_number(long long length) {
  return blockIdx.x / ((length + rows - 1) / rows);
}

// Turns the logits in the tile into weights relative to the row's running maximum. Four threads
// share a row.
__device__ void weigh(Shared& shared, real_t* most, real_t* sums, real_t* shrink) {
  const int row = threadIdx.x / 4, part = threadIdx.x % 4;
  real_t* logits = shared.tile + row * tile_ld + part * (columns / 4);
  const real_t before = most[row];
  real_t high = before, sum = 0;
  for (int j = 0; j < columns / 4; ++j) high = logits[j] > high ? logits[j] : high;
  for (int step = 1; step < 4; step *= 2) {
    const real_t other = __shfl_xor_sync(0xffffffffu, high, step);
    high = other > high ? other : high;
  }
  const bool nothing = high == minus_infinity();
  for (int j = 0; j < columns / 4; ++j) {
    const real_t weight = nothing ? real_t(0) : exponential(logits[j] - high);
    sum += weight;
    logits[j] = rounded(weight);
  }
  for (int step = 1; step < 4; step *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  __syncwarp();
  if (part != 0) return;
  shrink[row] = nothing ? real_t(1) : exponential(before - high);
  sums[row] = sums[row] * shrink[row] + sum;
  most[row] = high;
}

// to[row, first_column ..] = scale sum, for rows that exist.
__device__ void store(const real_t (&sum)[4][8], real_t scale, real_t* to, long long stride,
                      long long count, int first_column, int channels) {
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 8; ++c) {
      const int row = thread_row() + 16 * r, column = first_column + thread_column() + 16 * c;
      if (row < count && column < channels) to[row * stride + column] = scale * sum[r][c];
    }
}

}  // namespace reference

extern "C" __global__ void __launch_bounds__(reference::threads)
    attention_forward(const __grid_constant__ reference::Params p) {
  using namespace reference;
  __shared__ Shared shared;
  __shared__ real_t most[rows], sums[rows], shrink[rows];
  const long long number = pair_number(p.seq), first = first_row(p.seq);
  const Pair pair{p, number / p.heads, number % p.heads};
  const int first_column = blockIdx.y * width;
  if (threadIdx.x < rows) {
    most[threadIdx.x] = minus_infinity();
    sums[threadIdx.x] = 0;
  }
  real_t out[4][8] = {}, s[4][2];
  const long long last = pair.position((first + rows < p.seq ? first + rows : p.seq) - 1);
  const long long keys = p.causal && last + 1 < p.key_seq ? last + 1 : p.key_seq;
  for (long long key = 0; key < keys; key += columns) {
    product(pair.queries(p.q, first, p.key_dim), pair.keys(p.k, key, p.key_dim), shared, s);
    for (int r = 0; r < 4; ++r)
      for (int c = 0; c < 2; ++c) {
        const int row = thread_row() + 16 * r, column = thread_column() + 16 * c;
        shared.tile[row * tile_ld + column] =
            pair.sees(first + row, key + column) ? pair.logit(first + row, key + column, s[r][c])
                                                 : minus_infinity();
      }
    __syncthreads();
    weigh(shared, most, sums, shrink);
    __syncthreads();
    for (int r = 0; r < 4; ++r)
      for (int c = 0; c < 8; ++c) out[r][c] *= shrink[thread_row() + 16 * r];
    accumulate(pair.keys(p.v, key, p.value_dim), first_column, shared, out);
  }
  __syncthreads();
  for (int r = 0; r < 4; ++r) {
    const real_t sum = sums[thread_row() + 16 * r];
    const real_t inverse = sum > 0 ? 1 / sum : real_t(0);
    for (int c = 0; c < 8; ++c) out[r][c] *= inverse;
  }
  store(out, real_t(1), p.o + pair.query_row(first) * p.value_dim, p.heads * p.value_dim,
        p.seq - first, first_column, p.value_dim);
  const int row = threadIdx.x;
  if (p.lse != nullptr && blockIdx.y == 0 && row < rows && first + row < p.seq)
    p.lse[pair.query_row(first + row)] = most[row] + logarithm(sums[row]);
}

extern "C" __global__ void __launch_bounds__(reference::threads)
    attention_backward_queries(const __grid_constant__ reference::Params p) {
  using namespace reference;
  __shared__ Shared shared;
  __shared__ real_t far_parts[threads / 16];
  const long long number = pair_number(p.seq), first = first_row(p.seq);
  const Pair pair{p, number / p.heads, number % p.heads};
  const int first_column = blockIdx.y * width;
  real_t sum[4][8] = {}, s[4][2], changes[4][2], row_sums[4] = {}, far = 0;
  const long long last = pair.position((first + rows < p.seq ? first + rows : p.seq) - 1);
  const long long keys = p.causal && last + 1 < p.key_seq ? last + 1 : p.key_seq;
  for (long long key = 0; key < keys; key += columns) {
    product(pair.queries(p.q, first, p.key_dim), pair.keys(p.k, key, p.key_dim), shared, s);
    product(pair.queries(p.d_o, first, p.value_dim), pair.keys(p.v, key, p.value_dim), shared,
            changes);
    for (int r = 0; r < 4; ++r)
      for (int c = 0; c < 2; ++c) {
        const int row = thread_row() + 16 * r, column = thread_column() + 16 * c;
        const long long query = first + row;
        const real_t ds = pair.weight(query, key + column, s[r][c]) *
                          (changes[r][c] - pair.row_term(query));
        row_sums[r] += ds;
        far += static_cast<real_t>(pair.position(query) - key - column) * ds;
        shared.tile[row * tile_ld + column] = rounded(ds);
      }
    accumulate(pair.keys(p.k, key, p.key_dim), first_column, shared, sum);
  }
  store(sum, static_cast<real_t>(p.scale), p.dq + pair.query_row(first) * p.key_dim,
        p.heads * p.key_dim, p.seq - first, first_column, p.key_dim);
  if (p.decays == nullptr || blockIdx.y > 0) return;
  for (int r = 0; r < 4; ++r) {
    const real_t total = over_columns(row_sums[r]);
    const long long query = first + thread_row() + 16 * r;
    if (thread_column() == 0 && query < p.seq) p.row_sums[number * p.seq + query] = total;
  }
  far = over_columns(far);
  if (thread_column() == 0) far_parts[thread_row()] = far;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int i = 1; i < threads / 16; ++i) far += far_parts[i];
  p.distances[number * ((p.seq + rows - 1) / rows) + first / rows] = far;
}

// Output columns: those of dk first, then those of dv.
extern "C" __global__ void __launch_bounds__(reference::threads)
    attention_backward_keys(const __grid_constant__ reference::Params p) {
  using namespace reference;
  __shared__ Shared shared;
  const long long number = pair_number(p.key_seq), first = first_row(p.key_seq);
  const long long group = p.heads / p.key_heads, key_head = number % p.key_heads;
  const int key_blocks = (p.key_dim + width - 1) / width;
  const bool of_keys = static_cast<int>(blockIdx.y) < key_blocks;
  const int first_column = (static_cast<int>(blockIdx.y) - (of_keys ? 0 : key_blocks)) * width;
  real_t sum[4][8] = {}, s[4][2], changes[4][2] = {};
  long long start = p.causal ? first - p.key_seq + p.seq : 0;  // the first query that sees a key
  start = start < 0 ? 0 : start / columns * columns;
  for (long long head = key_head * group; head < (key_head + 1) * group; ++head) {
    const Pair pair{p, number / p.key_heads, head};
    real_t column_sums[4] = {};
    for (long long query = start; query < p.seq; query += columns) {
      product(pair.keys(p.k, first, p.key_dim), pair.queries(p.q, query, p.key_dim), shared, s);
      if (of_keys)
        product(pair.keys(p.v, first, p.value_dim), pair.queries(p.d_o, query, p.value_dim), shared,
                changes);
      for (int r = 0; r < 4; ++r)
        for (int c = 0; c < 2; ++c) {
          const int row = thread_row() + 16 * r, column = thread_column() + 16 * c;
          real_t value = pair.weight(query + column, first + row, s[r][c]);
          if (of_keys) value *= changes[r][c] - pair.row_term(query + column);
          column_sums[r] += value;
          shared.tile[row * tile_ld + column] = rounded(value);
        }
      accumulate(of_keys ? pair.queries(p.q, query, p.key_dim)
                         : pair.queries(p.d_o, query, p.value_dim),
                 first_column, shared, sum);
    }
    if (p.decays == nullptr || blockIdx.y > 0) continue;
    for (int r = 0; r < 4; ++r) {
      const real_t total = over_columns(column_sums[r]);
      const long long key = first + thread_row() + 16 * r;
      if (thread_column() == 0 && key < p.key_seq)
        p.column_sums[pair.number() * p.key_seq + key] = total;
    }
  }
  const Pair any{p, number / p.key_heads, key_head * group};
  if (of_keys)
    store(sum, static_cast<real_t>(p.scale), p.dk + any.key_row(first) * p.key_dim,
          p.key_heads * p.key_dim, p.key_seq - first, first_column, p.key_dim);
  else
    store(sum, real_t(1), p.dv + any.key_row(first) * p.value_dim, p.key_heads * p.value_dim,
          p.key_seq - first, first_column, p.value_dim);
}
