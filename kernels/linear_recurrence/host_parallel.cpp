// The quadratic form, (Q K^T (.) decays) V, through OpenBLAS.
//
// The sequence is cut into blocks. A pair of blocks I > J contributes two matrix products,
//   A = (q_i e^{prefix in I} (.) decays of the whole blocks between) (k_j e^{suffix in J})^T,
//   o_I += A v_J,
// and only the diagonal blocks' triangles are formed by hand. Every decay is a product of factors
// of at most 1. A task owns one block of queries of one (batch, head) pair and walks back over the
// blocks before it, so the work grows with T^2. OpenBLAS runs single-threaded inside the tasks.
//
// Prepared once, float32, pairs first: k e^{suffix} [B*H, T, K], v [B*H, T, V] and each block's
// whole decay [B*H, blocks, K].

#include <cblas.h>

#include <algorithm>

#include "kernels/linear_recurrence/host_chunk.hpp"
#include "kernels/linear_recurrence/host_math.hpp"
#include "kernels/linear_recurrence/host_variant.hpp"
#include "kernels/linear_recurrence/variants.hpp"

namespace gla_bench::linear_recurrence {
namespace {

using namespace host;

// OpenBLAS on one thread in this scope: the tasks are what runs in parallel.
class SingleThreadedBlas {
 public:
  SingleThreadedBlas() : before_(openblas_get_num_threads()) { openblas_set_num_threads(1); }
  ~SingleThreadedBlas() { openblas_set_num_threads(before_); }
  SingleThreadedBlas(const SingleThreadedBlas&) = delete;
  SingleThreadedBlas& operator=(const SingleThreadedBlas&) = delete;

 private:
  int before_;
};

struct Blocks {
  const Call& call;
  long long length, count;
  float *keys, *values, *decays;

  Blocks(const Call& c, const Tile& tile)
      : call(c),
        length(tile.at("block")),
        count(ceil_div(c.p.seq, length)),
        keys(static_cast<float*>(c.p.work[0])),
        values(static_cast<float*>(c.p.work[1])),
        decays(static_cast<float*>(c.p.work[2])) {}

  long long first(long long block) const { return block * length; }
  long long rows(long long block) const { return std::min(length, call.p.seq - first(block)); }
  float* key_rows(long long pair, long long block) const {
    return keys + (pair * call.p.seq + first(block)) * call.keys;
  }
  float* value_rows(long long pair, long long block) const {
    return values + (pair * call.p.seq + first(block)) * call.values;
  }
  float* decay(long long pair, long long block) const {
    return decays + (pair * count + block) * call.keys;
  }
};

// c[m,n] += a[m,k] op(b), dense rows.
void blas_product(CBLAS_TRANSPOSE transpose_a, CBLAS_TRANSPOSE transpose_b, long long m,
                  long long n, long long k, const float* a, const float* b, float beta, float* c) {
  const auto int_of = [](long long extent) { return static_cast<int>(extent); };
  cblas_sgemm(CblasRowMajor, transpose_a, transpose_b, int_of(m), int_of(n), int_of(k), 1.0f, a,
              int_of(transpose_a == CblasTrans ? m : k), b,
              int_of(transpose_b == CblasTrans ? k : n), beta, c, int_of(n));
}

void scale_columns(long long rows, long long columns, const float* factors, float* x) {
  for (long long t = 0; t < rows; ++t)
    for (long long i = 0; i < columns; ++i)
      x[t * columns + i] = without_dust(x[t * columns + i] * factors[i]);
}

void prepare(const Blocks& b) {
  const Call& call = b.call;
#pragma omp parallel
  {
    std::vector<float> e = scratch(std::min(b.length, call.p.seq) * call.keys);
#pragma omp for schedule(static)
    for (long long task = 0; task < call.pairs * b.count; ++task) {
      const long long pair = task / b.count, block = task % b.count, rows = b.rows(block);
      const Rows at{pair, b.first(block), rows, 0, call.keys};
      float* keys = b.key_rows(pair, block);
      float* whole = b.decay(pair, block);
      load(call, call.p.k, call.p.key_strides, at, keys);
      load(call, call.p.g, call.p.key_strides, at, e.data());
      load(call, call.p.v, call.p.value_strides, {pair, at.first, rows, 0, call.values},
           b.value_rows(pair, block));
      exponentiate(rows, call.keys, e.data());
      scale_by_suffix(rows, call.keys, e.data(), keys);
      std::fill_n(whole, call.keys, 1.0f);
      for (long long t = 0; t < rows; ++t)
        scale_columns(1, call.keys, e.data() + t * call.keys, whole);
    }
  }
}

// o of one block of queries: its own triangle, the blocks before it, the initial state.
void form_outputs(const Blocks& b, long long pair, long long block, Chunk& chunk, float* scores,
                  float* state) {
  const Call& call = b.call;
  const long long rows = b.rows(block);
  const Rows at{pair, b.first(block), rows, 0, call.values};
  chunk.intra(call, at);
  scale_by_prefix(rows, call.keys, chunk.e.data(), call.p.scale, chunk.q.data(),
                  chunk.whole.data());
  for (long long other = block - 1; other >= 0; --other) {
    blas_product(CblasNoTrans, CblasTrans, rows, b.rows(other), call.keys, chunk.q.data(),
                 b.key_rows(pair, other), 0.0f, scores);
    blas_product(CblasNoTrans, CblasNoTrans, rows, call.values, b.rows(other), scores,
                 b.value_rows(pair, other), 1.0f, chunk.o.data());
    scale_columns(rows, call.keys, b.decay(pair, other), chunk.q.data());
  }
  if (call.p.initial_state) {
    load_state(call, call.p.initial_state, pair, 0, call.values, state);
    blas_product(CblasNoTrans, CblasNoTrans, rows, call.values, call.keys, chunk.q.data(), state,
                 1.0f, chunk.o.data());
  }
  store(call, call.p.o, call.p.value_strides, at, chunk.o.data());
}

// The final state as a sum over all tokens: for each block what is left of it behind the last.
void form_state(const Blocks& b, long long pair, float* keys, float* state) {
  const Call& call = b.call;
  std::vector<float> left(static_cast<std::size_t>(call.keys), 1.0f);
  std::fill_n(state, call.keys * call.values, 0.0f);
  for (long long block = b.count - 1; block >= 0; --block) {
    const long long rows = b.rows(block);
    std::copy_n(b.key_rows(pair, block), rows * call.keys, keys);
    scale_columns(rows, call.keys, left.data(), keys);
    blas_product(CblasTrans, CblasNoTrans, call.keys, call.values, rows, keys,
                 b.value_rows(pair, block), 1.0f, state);
    scale_columns(1, call.keys, b.decay(pair, block), left.data());
  }
  const float* initial = call.p.initial_state;
  if (initial) initial += pair * call.keys * call.values;
  for (long long i = 0; initial && i < call.keys; ++i)
    for (long long j = 0; j < call.values; ++j)
      state[i * call.values + j] += left[i] * initial[i * call.values + j];
  store_state(call, call.p.final_state, pair, 0, call.values, state);
}

void run(const HostCall& host_call) {
  const SingleThreadedBlas scope;
  const Call call(host_call);
  const Blocks b(call, host_call.tile);
  const long long longest = std::min(b.length, call.p.seq);
  prepare(b);
#pragma omp parallel
  {
    Chunk chunk(call, longest, call.values);
    std::vector<float> scores = scratch(longest * longest), keys = scratch(longest * call.keys);
    std::vector<float> state = scratch(static_cast<long long>(call.keys) * call.values);
    // The last blocks have the most to do: they go first.
#pragma omp for schedule(dynamic) nowait
    for (long long task = 0; task < call.pairs * b.count; ++task)
      form_outputs(b, task % call.pairs, b.count - 1 - task / call.pairs, chunk, scores.data(),
                   state.data());
#pragma omp for schedule(dynamic)
    for (long long pair = 0; pair < (call.p.final_state ? call.pairs : 0); ++pair)
      form_state(b, pair, keys.data(), state.data());
  }
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  const auto bytes = [&](std::int64_t columns) {
    return static_cast<std::size_t>(float_rows(problem, static_cast<double>(columns)));
  };
  const std::int64_t decays =
      sequences(problem) * chunks(problem, tile.at("block")) * problem.shape.key_dim;
  return {{"keys", bytes(problem.shape.key_dim)},
          {"values", bytes(problem.shape.value_dim)},
          {"decays", static_cast<std::size_t>(decays) * 4}};
}

// Pairs of different blocks, per (batch, head) pair.
double block_pairs(const Problem& problem, const Tile& tile) {
  const auto count = static_cast<double>(chunks(problem, tile.at("block")));
  return count * (count - 1) / 2;
}

Traffic traffic(const Problem& problem, const Tile& tile) {
  const double block = tile.at("block");
  const auto k = static_cast<double>(problem.shape.key_dim);
  const auto v = static_cast<double>(problem.shape.value_dim);
  const auto pairs = static_cast<double>(sequences(problem));
  const auto count = static_cast<double>(chunks(problem, tile.at("block")));
  const double prepared = float_rows(problem, k + v) + pairs * count * k * 4;
  const double walked = pairs * block_pairs(problem, tile) * (block * (k + v) + k) * 4;
  const double for_state = problem.final_state ? prepared + states_read(problem) : 0.0;
  // k, g and v to prepare, q, k, g and v for the diagonal blocks.
  const double inputs = 5 * key_bytes(problem) + 2 * value_bytes(problem);
  return {inputs + walked + count * states_read(problem) + for_state,
          prepared + value_bytes(problem) + states_written(problem)};
}

double flops(const Problem& problem, const Tile& tile) {
  const double block = tile.at("block");
  const auto k = static_cast<double>(problem.shape.key_dim);
  const auto v = static_cast<double>(problem.shape.value_dim);
  const auto pairs = static_cast<double>(sequences(problem));
  const double c = std::min(block, static_cast<double>(problem.shape.seq));
  return 2 * pairs * block_pairs(problem, tile) * block * block * (k + v) +
         tokens(problem) * ((c + 1) * (k + v) + (problem.initial_state ? 2 * k * v : 0.0) +
                            (problem.final_state ? 2 * k * v : 0.0));
}

}  // namespace

Variant host_parallel(const Member& member) {
  Variant variant =
      make_variant(member, "parallel", "the quadratic form in blocks through OpenBLAS",
                   {{"block", {64, 32, 128}, "tokens of a block of queries and of keys"}}, run,
                   {"linear_recurrence/host_parallel.cpp", "linear_recurrence/host_chunk.cpp",
                    "linear_recurrence/host_rows.cpp"});
  variant.workspace = workspace;
  variant.bind = [](const Problem& problem, const Tile& tile, const Address& address) {
    return linear_recurrence::bind(problem, address, workspace(problem, tile));
  };
  variant.traffic = traffic;
  variant.flops = flops;
  return variant;
}

}  // namespace gla_bench::linear_recurrence
