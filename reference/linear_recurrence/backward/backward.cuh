// The backward of the recurrence, one token after the other, in the arithmetic of real_t, as
// backward.cpp in this folder defines it. It does not know normalizers.
//
// Four launches. linear_recurrence (linear_recurrence.cuh) goes forwards and keeps the state before
// every 64th token. linear_recurrence_gradients goes back over the segments between those: it
// computes a segment's states once more, leaves them in device memory, and reads them from the last
// token to the first. linear_recurrence_token_sums adds up what the blocks have of each token's
// gradients, and linear_recurrence_head_sums what the tokens have of a head's. All sums have a fixed
// order.
//
// Grid of linear_recurrence_gradients: as of linear_recurrence, with the same part of the state in
// each thread, and of the state's gradient. Shared memory: q, k, the decays, v and do of a few
// tokens, and parts of dv; at most about 46 KB in float64. Bytes moved: for each token, head and
// element of the state, 2 sizeof(real_t) written and 4 read; for each 32 value columns, the three
// kinds of parts of [tokens, heads, K].

#include "reference/linear_recurrence/linear_recurrence.cuh"

namespace reference {

constexpr int segment = gla_bench::recurrence::device::segment;
static_assert(segment % tokens == 0);

// Kinds of parts.
constexpr int of_query = 0, of_key = 1, of_decay = 2;

__device__ real_t* part(const Params& p, int kind, int block, long long row) {
  return p.parts + ((kind * ((p.value_dim + columns - 1) / columns) + block) * p.rows + row) * dim::key_dim;
}

// x[r] = element(r) for the thread's rows, and zeros behind them.
template <class Element>
__device__ void fill(real_t (&x)[32], Element element) {
#pragma unroll
  for (int r = 0; r < 32; ++r) x[r] = r < rows ? element(r < rows ? r : 0) : real_t(0);
}

// x[i], added up over the warp's lanes, in lane i. At each step a lane keeps one half of what it has
// and gives the other half to the lane that keeps it.
__device__ real_t sums_of_lanes(real_t (&x)[32]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int half = 16; half > 0; half /= 2) {
    const bool upper = (lane & half) != 0;
#pragma unroll
    for (int i = 0; i < half; ++i) {
      const real_t kept = upper ? x[i + half] : x[i], given = upper ? x[i] : x[i + half];
      x[i] = kept + __shfl_xor_sync(0xffffffffu, given, half);
    }
  }
  return x[0];
}

// The derivative of feature() at x.
__device__ real_t feature_slope(float x) {
  return !trait::elu_features || x > 0 ? real_t(1) : exponential(static_cast<real_t>(x));
}

// The derivative of a log decay by the gate that is stored. A raw gate whose decay is 0 has no
// gradient.
__device__ real_t gate_slope(float gate) {
  if constexpr (!trait::raw_gates) return 1;
  const real_t decay = -exponential(static_cast<real_t>(gate));
  return isfinite(decay) ? decay : real_t(0);
}

struct Shared {
  Tokens read;
  real_t d_outs[tokens][columns];
  real_t parts[tokens][slices][columns];  // of dv
};

// A thread's states of a segment: number t is the one before token t.
struct Walked {
  real_t* at;

  __device__ explicit Walked(const Params& p)
      : at(p.walked + (static_cast<long long>(blockIdx.x) * gridDim.y + blockIdx.y) * (segment + 1) *
                          rows * blockDim.x +
           threadIdx.x) {}
  __device__ real_t& operator()(int t, int r) const { return at[(t * rows + r) * blockDim.x]; }
};

// Computes the states of the segment of `count` tokens from `first` on.
__device__ void walk_forwards(const Params& p, Shared& shared, const Place& own, const Walked& walked,
                              long long begin, long long first, int count) {
  real_t state[rows];
  own.load(p, p.kept, kept_place(own.sequence, begin, first), state);
  for (int from = 0; from < count; from += tokens) {
    const int some = count - from < tokens ? count - from : tokens;
    __syncthreads();
    shared.read.load(p, first + from, some, own.head, own.first_column);
    __syncthreads();
    for (int t = 0; t < some; ++t)
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        const int key = own.slice * rows + r;
        walked(from + t, r) = state[r];
        state[r] = shared.read.decays[t][key] * state[r] +
                   shared.read.key_rows[t][key] * shared.read.values[t][own.lane];
      }
  }
#pragma unroll
  for (int r = 0; r < rows; ++r) walked(count, r) = state[r];
}

// All of one token, number `t` of those in shared memory and `number` of its segment. On entry
// `change` is the gradient of the state after it, from later tokens alone; on return of the state
// before it. Returns what the thread has of the gradient of the log decay.
__device__ real_t walk_token(const Params& p, Shared& shared, const Place& own, const Walked& walked,
                             int t, int number, long long row, real_t (&change)[rows]) {
  const real_t scale = static_cast<real_t>(p.scale);
  const real_t value = shared.read.values[t][own.lane], d_out = shared.d_outs[t][own.lane];
  const auto key = [&](int r) { return own.slice * rows + r; };
  const auto leave = [&](int kind, real_t (&x)[32]) {
    const real_t sum = sums_of_lanes(x);
    if (own.lane < rows && key(own.lane) < dim::key_dim)
      part(p, kind, blockIdx.y, row)[key(own.lane)] = sum;
  };
  real_t x[32], dv = 0, gate = 0;
  if constexpr (!trait::before_update)
#pragma unroll
    for (int r = 0; r < rows; ++r) change[r] += scale * shared.read.queries[t][key(r)] * d_out;
  fill(x, [&](int r) { return rounded(walked(number + (trait::before_update ? 0 : 1), r)) * d_out; });
  leave(of_query, x);
  fill(x, [&](int r) { return rounded(change[r]) * value; });
  leave(of_key, x);
#pragma unroll
  for (int r = 0; r < rows; ++r) dv += rounded(change[r]) * shared.read.key_rows[t][key(r)];
  shared.parts[t][own.slice][own.lane] = dv;
  if constexpr (trait::decay != 0) {
    fill(x, [&](int r) {
      return rounded(change[r]) * rounded(shared.read.decays[t][key(r)] * walked(number, r));
    });
#pragma unroll
    for (int r = 0; r < rows; ++r) gate += x[r];
    if constexpr (trait::decay != 1) leave(of_decay, x);
  }
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    change[r] *= shared.read.decays[t][key(r)];
    if constexpr (trait::before_update)
      change[r] += scale * shared.read.queries[t][key(r)] * d_out;
  }
  return gate;
}

}  // namespace reference

extern "C" __global__ void __launch_bounds__(reference::columns* reference::slices)
    linear_recurrence_gradients(const __grid_constant__ reference::Params p) {
  using namespace reference;
  __shared__ Shared shared;
  const Place own(p);
  const Walked walked(p);
  const auto [begin, end] = Range(p, own.sequence);
  real_t change[rows], gates = 0;
  own.load(p, p.d_final_state, own.sequence, change);
  const long long segments = (end - begin + segment - 1) / segment;
  for (long long n = segments - 1; n >= 0; --n) {
    const long long first = begin + n * segment;
    const int count = static_cast<int>(end - first < segment ? end - first : segment);
    walk_forwards(p, shared, own, walked, begin, first, count);
    for (int from = (count - 1) / tokens * tokens; from >= 0; from -= tokens) {
      const int some = count - from < tokens ? count - from : tokens;
      __syncthreads();
      shared.read.load(p, first + from, some, own.head, own.first_column);
      Tokens::load_columns(p.d_o, p, first + from, some, own.head, own.first_column, shared.d_outs);
      __syncthreads();
      for (int t = some - 1; t >= 0; --t)
        gates += walk_token(p, shared, own, walked, t, from + t,
                            (first + from + t) * p.heads + own.head, change);
      __syncthreads();
      for (int i = threadIdx.x; i < some * columns; i += blockDim.x) {
        const int t = i / columns, c = i % columns;
        real_t sum = 0;
        for (int s = 0; s < slices; ++s) sum += shared.parts[t][s][c];
        if (own.first_column + c < p.value_dim)
          p.dv[((first + from + t) * p.heads + own.head) * p.value_dim + own.first_column + c] = sum;
      }
    }
  }
  if (p.d_initial_state != nullptr) own.store(p, change, own.sequence, p.d_initial_state);
  if constexpr (trait::decay == 1) {
    gates = sum_of_warp(gates);
    __syncthreads();
    if (own.lane == 0) shared.parts[0][own.slice][0] = gates;
    __syncthreads();
    if (threadIdx.x > 0) return;
    real_t sum = 0;
    for (int s = 0; s < slices; ++s) sum += shared.parts[0][s][0];
    p.head_parts[static_cast<long long>(blockIdx.x) * gridDim.y + blockIdx.y] = sum;
  }
}

// A warp for each token and head. Bytes moved: all parts once, and q, k, v and do.
extern "C" __global__ void __launch_bounds__(256)
    linear_recurrence_token_sums(const __grid_constant__ reference::Params p) {
  using namespace reference;
  const long long row = static_cast<long long>(blockIdx.x) * 8 + threadIdx.x / 32;
  if (row >= p.rows) return;
  const int lane = threadIdx.x % 32, blocks = (p.value_dim + columns - 1) / columns;
  const long long head = row % p.heads;
  const real_t scale = static_cast<real_t>(p.scale);
  const auto d_out = [&](int e) {
    return rounded(static_cast<real_t>(p.d_o[row * p.value_dim + e]));
  };
  real_t own = 0, score = 0, gates = 0;  // do.v, sum of u q k, and of the log decay's gradient
  if constexpr (trait::before_update) {
    for (int e = lane; e < p.value_dim; e += 32)
      own += d_out(e) * rounded(static_cast<real_t>(p.v[row * p.value_dim + e]));
    own = sum_of_warp(own);
    if (lane == 0) p.own[row] = own;
  }
  for (int key = lane; key < dim::key_dim; key += 32) {
    const long long at = row * dim::key_dim + key;
    const auto sum = [&](int kind) {
      real_t of = 0;
      for (int block = 0; block < blocks; ++block) of += part(p, kind, block, row)[key];
      return of;
    };
    real_t dq = scale * sum(of_query), dk = sum(of_key);
    if constexpr (trait::before_update) {
      const real_t u = static_cast<real_t>(p.bonus[head * dim::key_dim + key]);
      const real_t q = rounded(feature(p.q[at])), k = rounded(feature(p.k[at]));
      dq += scale * u * k * own;
      dk += scale * u * q * own;
      score += u * q * k;
    }
    p.dq[at] = dq * feature_slope(p.q[at]);
    p.dk[at] = dk * feature_slope(p.k[at]);
    if constexpr (trait::decay == 3) p.d_gate[at] = sum(of_decay) * gate_slope(p.gate[at]);
    if constexpr (trait::decay == 2) gates += sum(of_decay);
  }
  if constexpr (trait::decay == 2) {
    gates = sum_of_warp(gates);
    if (lane == 0) p.d_gate[row] = gates;
  }
  if constexpr (trait::before_update) {
    score = sum_of_warp(score);
    for (int e = lane; e < p.value_dim; e += 32)
      p.dv[row * p.value_dim + e] += scale * score * d_out(e);
  }
}

// A block for each head, with a thread for each key. Token after token, as the host adds them up.
extern "C" __global__ void __launch_bounds__(dim::key_dim)
    linear_recurrence_head_sums(const __grid_constant__ reference::Params p) {
  using namespace reference;
  const long long head = blockIdx.x;
  const int key = threadIdx.x;
  if constexpr (trait::before_update) {
    real_t all = 0;
    for (long long n = 0; n < p.sequences; ++n) {
      const auto [begin, end] = Range(p, n);
      real_t sum = 0;
      for (long long token = end - 1; token >= begin; --token) {
        const long long row = token * p.heads + head, at = row * dim::key_dim + key;
        sum += static_cast<real_t>(p.scale) * rounded(feature(p.q[at])) *
               rounded(feature(p.k[at])) * p.own[row];
      }
      all += sum;
    }
    p.d_bonus[head * dim::key_dim + key] = all;
  }
  if constexpr (trait::decay == 1) {
    if (key > 0) return;
    const int blocks = (p.value_dim + columns - 1) / columns;
    real_t all = 0;
    for (long long n = 0; n < p.sequences; ++n)
      for (int block = 0; block < blocks; ++block)
        all += p.head_parts[(n * p.heads + head) * blocks + block];
    p.d_gate[head] = all;
  }
}
