// The recurrence itself, one token after the other, in the arithmetic of real_t: the float64 reference on the
// device (real_t = double, rounding::mantissa = 52) and the plain computation that bounds are tied to
// (real_t = float). linear_recurrence.cpp beside this is the definition; this follows it.
//
// Grid: (batch * heads, value columns / 32). A block of 32 columns x `slices` warps: each thread keeps `rows`
// rows of its column's state in registers; the warps' parts of S^T q meet in shared memory.
// Shared memory: q, k, exp(g) and v of a few tokens, and the parts: about 33 KB at most in float64.
// Reads q, k, g once per 32 value columns, v once; writes o once. All tensors in logical order, float32 in.
//
// From the prologue: real_t, dim::key_dim, rounding::mantissa (explicit bits that an operand keeps).

namespace reference {

struct Params {
  const float* q;
  const float* k;
  const float* v;
  const float* g;
  const float* initial_state;  // null: zero
  real_t* o;
  real_t* final_state;  // null: not asked for
  long long seq, heads;
  int value_dim;
  double scale;
};

constexpr int columns = 32;
constexpr int slices = (dim::key_dim + 31) / 32;
constexpr int rows = (dim::key_dim + slices - 1) / slices;
constexpr int keys = slices * rows;  // padded: rows past key_dim stay zero
constexpr int tokens = keys >= 512 ? 2 : keys >= 64 ? 1024 / keys : 16;

__device__ double rounded(double x) { return x; }

// To nearest, ties to even, with float32's range.
__device__ float rounded(float x) {
  constexpr unsigned drop = rounding::mantissa < 23 ? 23 - rounding::mantissa : 1;
  if (rounding::mantissa >= 23 || !isfinite(x)) return x;
  const unsigned bits = __float_as_uint(x);
  const unsigned even = (bits >> drop) & 1u;
  return __uint_as_float((bits + (1u << (drop - 1)) - 1u + even) & ~((1u << drop) - 1u));
}

__device__ double exponential(double x) { return exp(x); }
__device__ float exponential(float x) { return expf(x); }

}  // namespace reference

extern "C" __global__ void __launch_bounds__(reference::columns* reference::slices)
    linear_recurrence(const __grid_constant__ reference::Params p) {
  using namespace reference;
  __shared__ real_t queries[tokens][keys], key_rows[tokens][keys], decays[tokens][keys];
  __shared__ real_t values[tokens][columns], parts[tokens][slices][columns];
  const long long batch = blockIdx.x / p.heads, head = blockIdx.x % p.heads;
  const int lane = threadIdx.x % columns, slice = threadIdx.x / columns;
  const int first_column = blockIdx.y * columns, column = first_column + lane;
  const long long state_at =
      static_cast<long long>(blockIdx.x) * dim::key_dim * p.value_dim + column;  // [B,H,K,V]
  const auto row_exists = [&](int r) {
    return column < p.value_dim && slice * rows + r < dim::key_dim;
  };

  real_t state[rows];
#pragma unroll
  for (int r = 0; r < rows; ++r)
    state[r] = p.initial_state != nullptr && row_exists(r)
                   ? p.initial_state[state_at + static_cast<long long>(slice * rows + r) * p.value_dim]
                   : real_t(0);

  for (long long first = 0; first < p.seq; first += tokens) {
    const int count = static_cast<int>(p.seq - first < tokens ? p.seq - first : tokens);
    const auto token = [&](int t) { return (batch * p.seq + first + t) * p.heads + head; };
    for (int i = threadIdx.x; i < count * keys; i += blockDim.x) {
      const int t = i / keys, key = i % keys;
      const bool real = key < dim::key_dim;
      const long long at = token(t) * dim::key_dim + key;
      queries[t][key] = real ? rounded(static_cast<real_t>(p.q[at])) : real_t(0);
      key_rows[t][key] = real ? rounded(static_cast<real_t>(p.k[at])) : real_t(0);
      decays[t][key] = real ? exponential(static_cast<real_t>(p.g[at])) : real_t(0);
    }
    for (int i = threadIdx.x; i < count * columns; i += blockDim.x) {
      const int t = i / columns, c = first_column + i % columns;
      values[t][i % columns] =
          c < p.value_dim ? rounded(static_cast<real_t>(p.v[token(t) * p.value_dim + c])) : real_t(0);
    }
    __syncthreads();
    for (int t = 0; t < count; ++t) {
      const real_t value = values[t][lane];
      real_t sum = 0;
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        const int key = slice * rows + r;
        state[r] = decays[t][key] * state[r] + key_rows[t][key] * value;
        sum += queries[t][key] * rounded(state[r]);
      }
      parts[t][slice][lane] = sum;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < count * columns; i += blockDim.x) {
      const int t = i / columns, c = i % columns;
      real_t sum = 0;
      for (int s = 0; s < slices; ++s) sum += parts[t][s][c];
      if (first_column + c < p.value_dim)
        p.o[token(t) * p.value_dim + first_column + c] = static_cast<real_t>(p.scale) * sum;
    }
  }

  if (p.final_state == nullptr) return;
#pragma unroll
  for (int r = 0; r < rows; ++r)
    if (row_exists(r))
      p.final_state[state_at + static_cast<long long>(slice * rows + r) * p.value_dim] = state[r];
}
