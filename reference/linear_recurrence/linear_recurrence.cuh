// The recurrence itself, one token after the other, in the arithmetic of real_t. With real_t =
// double and rounding::mantissa = 52 it is the float64 reference on the GPU. With real_t = float it
// is the plain computation whose error sets the bounds. linear_recurrence.cpp in this folder is the
// definition, which this file follows.
//
// Grid: (sequences * heads, value columns / 32). A block has 32 columns x `slices` warps. Each
// thread keeps `rows` rows of its column's state in registers. The warps' parts of S^T q are added
// through shared memory. The rows of a normalizer are divided among the lanes of a warp. Shared
// memory: q, k, the decays and v of a few tokens, and the parts; at most about 42 KB in float64.
// Bytes moved: q, k and the gates are read once for every 32 value columns, v is read once, and o
// is written once. All tensors are in logical order, inputs in float32.
//
// The prologue defines real_t, dim::key_dim, rounding::mantissa (the explicit bits that an operand
// keeps), and the traits of the member and the problem's options: trait::decay (0 none, 1 per head,
// 2 per token, 3 per key), ::before_update, ::elu_features, ::normalize, ::raw_gates, ::ragged.

#include "reference/linear_recurrence/params.h"
#include "reference/rounded.cuh"

namespace reference {

using Params = gla_bench::recurrence::device::Params<real_t>;
using gla_bench::recurrence::normalizer_epsilon;

constexpr int columns = gla_bench::recurrence::device::columns;
constexpr int most_warp_rows = gla_bench::recurrence::device::most_warp_rows;
constexpr int slices = (dim::key_dim + most_warp_rows - 1) / most_warp_rows;
constexpr int rows = (dim::key_dim + slices - 1) / slices;
constexpr int keys = slices * rows;  // padded: rows past key_dim stay zero
constexpr int tokens = keys > 256 ? 2 : keys > 128 ? 4 : keys > 64 ? 8 : 16;
static_assert(rows <= columns, "a normalizer row for each lane");

__device__ double exponential(double x) { return exp(x); }
// Correctly rounded, as on the host: for a decay that is the same for every token, an error in the
// last bit counts T times.
__device__ float exponential(float x) { return static_cast<float>(exp(static_cast<double>(x))); }

// exp(x) of a decay, as kernels form it: by a power of two of a rounded product (decay_of() of
// traits.hpp).
__device__ double power(double x) { return exp(x); }
__device__ float power(float x) { return static_cast<float>(exp2(static_cast<double>(x * 1.44269504f))); }

__device__ real_t feature(float x) {
  const real_t value = static_cast<real_t>(x);
  return !trait::elu_features ? value : value > 0 ? value + 1 : exponential(value);
}

// The decay of state row `key` at `token`, which counts the (token, head) pairs of all sequences.
__device__ real_t decay_of(const Params& p, long long token, long long head, int key) {
  if constexpr (trait::decay == 0) return 1;
  const long long at = trait::decay == 1   ? head
                       : trait::decay == 2 ? token
                                           : token * dim::key_dim + key;
  const real_t gate = static_cast<real_t>(p.gate[at]);
  return power(trait::raw_gates ? -exponential(gate) : gate);
}

// What a block reads of some tokens that follow each other.
struct Tokens {
  real_t queries[tokens][keys], key_rows[tokens][keys], decays[tokens][keys];
  real_t values[tokens][columns];

  // Reads `count` tokens from `first` on, with the block's columns of v, which begin at `column`.
  __device__ void load(const Params& p, long long first, int count, long long head, int column) {
    for (int i = threadIdx.x; i < count * keys; i += blockDim.x) {
      const int t = i / keys, key = i % keys;
      const bool real = key < dim::key_dim;
      const long long token = (first + t) * p.heads + head, at = token * dim::key_dim + key;
      queries[t][key] = real ? rounded(feature(p.q[at])) : real_t(0);
      key_rows[t][key] = real ? rounded(feature(p.k[at])) : real_t(0);
      decays[t][key] = real ? decay_of(p, token, head, key) : real_t(0);
    }
    load_columns(p.v, p, first, count, head, column, values);
  }
  // The block's columns of a tensor of V.
  static __device__ void load_columns(const float* from, const Params& p, long long first, int count,
                                      long long head, int column, real_t (&to)[tokens][columns]) {
    for (int i = threadIdx.x; i < count * columns; i += blockDim.x) {
      const int t = i / columns, c = column + i % columns;
      const long long at = ((first + t) * p.heads + head) * p.value_dim + c;
      to[t][i % columns] = c < p.value_dim ? rounded(static_cast<real_t>(from[at])) : real_t(0);
    }
  }
};

// The tokens of a sequence.
struct Range {
  long long begin, end;

  __device__ Range(const Params& p, long long sequence)
      : begin(trait::ragged ? static_cast<long long>(p.boundaries[sequence]) : sequence * p.seq),
        end(trait::ragged ? static_cast<long long>(p.boundaries[sequence + 1]) : begin + p.seq) {}
};

// The part of one sequence's and head's state that a thread has: `rows` rows of one column.
struct Place {
  long long sequence, head;
  int lane, slice, first_column, column;

  __device__ explicit Place(const Params& p)
      : sequence(blockIdx.x / p.heads),
        head(blockIdx.x % p.heads),
        lane(threadIdx.x % columns),
        slice(threadIdx.x / columns),
        first_column(blockIdx.y * columns),
        column(first_column + lane) {}

  __device__ bool has_row(const Params& p, int r) const {
    return column < p.value_dim && slice * rows + r < dim::key_dim;
  }
  // Where row r lies in states [N,H,K,V], of which number n is meant.
  __device__ long long at(const Params& p, long long n, int r) const {
    return ((n * p.heads + head) * dim::key_dim + slice * rows + r) * p.value_dim + column;
  }
  template <class T>
  __device__ void load(const Params& p, const T* states, long long n, real_t (&state)[rows]) const {
#pragma unroll
    for (int r = 0; r < rows; ++r)
      state[r] = states != nullptr && has_row(p, r) ? static_cast<real_t>(states[at(p, n, r)])
                                                    : real_t(0);
  }
  __device__ void store(const Params& p, const real_t (&state)[rows], long long n,
                        real_t* states) const {
#pragma unroll
    for (int r = 0; r < rows; ++r)
      if (has_row(p, r)) states[at(p, n, r)] = state[r];
  }
};

// The place among Params::kept of the state before token `first` of a sequence that begins at
// `begin`.
__device__ long long kept_place(long long sequence, long long begin, long long first) {
  constexpr int segment = gla_bench::recurrence::device::segment;
  return begin / segment + sequence + (first - begin) / segment;
}

__device__ real_t sum_of_warp(real_t x) {
  for (int lanes = 16; lanes > 0; lanes /= 2) x += __shfl_xor_sync(0xffffffffu, x, lanes);
  return x;
}

}  // namespace reference

extern "C" __global__ void __launch_bounds__(reference::columns* reference::slices)
    linear_recurrence(const __grid_constant__ reference::Params p) {
  using namespace reference;
  __shared__ Tokens read;
  __shared__ real_t own_keys[trait::before_update ? tokens : 1][keys];  // u k, for a token's own output
  __shared__ real_t parts[tokens][slices][columns];
  __shared__ real_t divisor_parts[tokens][slices];
  const Place own(p);
  const long long sequence = own.sequence, head = own.head;
  const int lane = own.lane, slice = own.slice, first_column = own.first_column;
  const int own_key = slice * rows + lane;  // of the normalizer
  const bool owns_key = lane < rows && own_key < dim::key_dim;
  const auto sum_at = [&](long long n) {  // in [N,H,K]
    return (n * p.heads + head) * dim::key_dim + own_key;
  };
  const auto [begin, end] = Range(p, sequence);

  real_t state[rows], key_sum = 0;
  own.load(p, p.initial_state, sequence, state);
  if (p.initial_normalizer != nullptr && owns_key) key_sum = p.initial_normalizer[sum_at(sequence)];

  // Stores what is there to place n of these states.
  const auto store = [&](long long n, real_t* states, real_t* sums) {
    if (sums != nullptr && owns_key && blockIdx.y == 0) sums[sum_at(n)] = key_sum;
    if (states != nullptr) own.store(p, state, n, states);
  };
  // The sequence's places in `states`: after every `every` tokens the next one, the last at its end.
  long long place = 0, places_end = 0;
  if (p.states != nullptr) {
    place = trait::ragged ? begin / p.every : sequence * (p.seq / p.every);
    places_end = trait::ragged ? end / p.every : place + p.seq / p.every;
  }

  for (long long first = begin; first < end; first += tokens) {
    const int count = static_cast<int>(end - first < tokens ? end - first : tokens);
    if (p.kept != nullptr && (first - begin) % gla_bench::recurrence::device::segment == 0)
      own.store(p, state, kept_place(sequence, begin, first), p.kept);
    read.load(p, first, count, head, first_column);
    for (int i = threadIdx.x; trait::before_update && i < count * keys; i += blockDim.x) {
      const int t = i / keys, key = i % keys;
      // The same thread has just stored this row's key.
      own_keys[t][key] = key < dim::key_dim
                             ? static_cast<real_t>(p.bonus[head * dim::key_dim + key]) *
                                   read.key_rows[t][key]
                             : real_t(0);
    }
    __syncthreads();
    for (int t = 0; t < count; ++t) {
      const real_t value = read.values[t][lane];
      real_t sum = 0;
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        const int key = slice * rows + r;
        if constexpr (trait::before_update)
          sum += read.queries[t][key] * rounded(state[r] + own_keys[t][key] * value);
        state[r] = read.decays[t][key] * state[r] + read.key_rows[t][key] * value;
        if constexpr (!trait::before_update) sum += read.queries[t][key] * rounded(state[r]);
      }
      parts[t][slice][lane] = sum;
      if constexpr (trait::normalize) {
        real_t part = 0;
        if (owns_key) {
          key_sum = read.decays[t][own_key] * key_sum + read.key_rows[t][own_key];
          part = read.queries[t][own_key] * rounded(key_sum);
        }
        part = sum_of_warp(part);
        if (lane == 0) divisor_parts[t][slice] = part;
      }
      if (place < places_end && (first + t + 1 - begin) % p.every == 0)
        store(place++, p.states, p.normalizers);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < count * columns; i += blockDim.x) {
      const int t = i / columns, c = i % columns;
      const real_t scale = static_cast<real_t>(p.scale);
      real_t sum = 0, divisor = 0;
      for (int s = 0; s < slices; ++s) sum += parts[t][s][c];
      for (int s = 0; trait::normalize && s < slices; ++s) divisor += divisor_parts[t][s];
      divisor = trait::normalize ? scale * divisor + static_cast<real_t>(normalizer_epsilon) : real_t(1);
      if (p.o != nullptr && first_column + c < p.value_dim)
        p.o[((first + t) * p.heads + head) * p.value_dim + first_column + c] = scale * sum / divisor;
    }
    // The loop above does not read the next tokens' q, k, decays and v. Their parts are written
    // after the next barrier.
  }

  if (place < places_end) store(place, p.states, p.normalizers);
  store(sequence, p.final_state, p.final_normalizer);
}
