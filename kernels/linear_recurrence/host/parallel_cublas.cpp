// The quadratic form over whole score matrices, through OpenBLAS on all threads. It does what
// parallel_cublas does with cuBLAS.
//
// The (sequence, head) pairs follow one another. P are the scores of all tokens of a pair: P_ij is
// the product of q_i, k_j and the decays between them.
//   1. P is formed one block of rows after the other. Keys in memory are decayed up to the
//      block's start, so the scores with all earlier tokens are one product, (q_I e^prefix) k^T.
//      The block's own triangle is formed by hand. Then all keys decay by the block.
//   2. o = P v + (q decayed from the start) S_0, whole matrices. P's upper triangle is zero.
//   3. S = k^T v + decays S_0, with the keys as the last block has left them.
// Every decay is a product of factors of at most 1. Work and memory grow with T^2.
//
// Workspace, float32, for the longest sequence: P [T, T], keys and queries [T, K], v and o [T, V].

#include <algorithm>

#include "kernels/linear_recurrence/host/blas.hpp"
#include "kernels/linear_recurrence/host/chunk.hpp"
#include "kernels/linear_recurrence/host/math.hpp"
#include "kernels/linear_recurrence/host/variant.hpp"
#include "kernels/linear_recurrence/variants.hpp"
#include "kernels/refusal.hpp"

namespace gla_bench::linear_recurrence {
namespace {

using namespace host;

constexpr std::int64_t most_tokens = 1 << 17;  // 64 GiB of scores

struct Whole {
  const Call& call;
  long long block, width;  // width: of v's rows
  float *scores, *keys, *queries, *values, *outputs;
  std::vector<float> e, decays, state, bonus, carried;  // of a block; decays: of all before it

  Whole(const Call& c, const Tile& tile)
      : call(c),
        block(tile.at("block")),
        width(c.values + c.extra),
        scores(static_cast<float*>(c.p.work[0])),
        keys(static_cast<float*>(c.p.work[1])),
        queries(static_cast<float*>(c.p.work[2])),
        values(static_cast<float*>(c.p.work[3])),
        outputs(static_cast<float*>(c.p.work[4])),
        e(scratch(std::min(block, c.longest()) * c.keys)),
        decays(scratch(c.keys)),
        state(scratch(c.keys * width)),
        bonus(decays),
        carried(decays) {}
};

void scale_rows(long long rows, long long columns, const float* factors, float* x) {
#pragma omp parallel for schedule(static) if (rows * columns > 16384)
  for (long long t = 0; t < rows; ++t)
    for (long long i = 0; i < columns; ++i)
      x[t * columns + i] = without_dust(x[t * columns + i] * factors[i]);
}

// Forms rows [first, first + rows) of the scores. The keys before them are decayed to `first`.
void score_block(Whole& w, const Rows& at, long long tokens) {
  const Call& call = w.call;
  const long long first = at.first, rows = at.rows, keys = call.keys;
  float *q = w.queries + first * keys, *k = w.keys + first * keys, *a = w.scores + first * tokens;
  std::vector<float> whole = scratch(keys);
  load_queries(call, at, q);
  load_keys(call, at, k);
  load_decays(call, at, w.e.data());
  for (long long t = 0; t < rows; ++t)
    std::fill(a + t * tokens + first + t, a + (t + 1) * tokens, 0.0f);
  scores(call, rows, q, k, w.e.data(), w.bonus.data(), a + first, tokens, w.carried.data());
  scale_by_prefix(call, rows, w.e.data(), q, whole.data());
  if (first > 0)
    parallel_blas_product(rows, first, keys, {q, keys}, {w.keys, keys, true}, 0.0f, a, tokens);
  scale_rows(rows, keys, w.decays.data(), q);
  scale_by_suffix(call, rows, w.e.data(), k);
  if (call.decay != Decay::none) scale_rows(first, keys, whole.data(), w.keys);
  scale_rows(1, keys, whole.data(), w.decays.data());
}

void solve(Whole& w, long long pair) {
  const Call& call = w.call;
  const long long tokens = call.length(pair), keys = call.keys, width = w.width;
  const Rows all{pair, 0, tokens, 0, call.values};
  load_initial(call, pair, 0, call.values, w.state.data());
  std::fill(w.decays.begin(), w.decays.end(), 1.0f);
  if (call.before_update) load_bonus(call, pair, w.bonus.data());
  for (long long first = 0; first < tokens; first += w.block)
    score_block(w, {pair, first, std::min(w.block, tokens - first), 0, call.values}, tokens);
  if (tokens > 0) {
    load_values(call, all, w.values);
    parallel_blas_product(tokens, width, tokens, {w.scores, tokens}, {w.values, width}, 0.0f,
                          w.outputs, width);
    if (call.p.initial_state)
      parallel_blas_product(tokens, width, keys, {w.queries, keys}, {w.state.data(), width}, 1.0f,
                            w.outputs, width);
    store_outputs(call, all, w.outputs);
  }
  if (!call.p.final_state) return;
  decay_state(keys, width, w.decays.data(), w.state.data());
  if (tokens > 0)
    parallel_blas_product(keys, width, tokens, {w.keys, keys, true}, {w.values, width}, 1.0f,
                          w.state.data(), width);
  store_final(call, pair, 0, call.values, w.state.data());
}

void run(const HostCall& host_call) {
  const SingleThreadedBlas scope;
  const Call call(host_call);
  Whole whole(call, host_call.tile);
  for (long long pair = 0; pair < call.pairs; ++pair) solve(whole, pair);
}

std::vector<Region> workspace(const Problem& problem, const Tile&) {
  const auto t = static_cast<double>(problem.shape.seq);
  const auto k = static_cast<double>(problem.shape.key_dim);
  const auto bytes = [&](double columns) { return static_cast<std::size_t>(t * columns * 4); };
  return {{"scores", bytes(t)},
          {"keys", bytes(k)},
          {"queries", bytes(k)},
          {"values", bytes(columns(problem))},
          {"outputs", bytes(columns(problem))}};
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits) {
  if (const auto reason = refuse_whole_form(problem, tile, limits)) return reason;
  if (problem.shape.seq > most_tokens)
    return "whole score matrices: at most " + std::to_string(most_tokens) + " tokens";
  double bytes = 0;
  for (const Region& region : workspace(problem, tile)) bytes += static_cast<double>(region.bytes);
  return refuse_workspace(bytes, limits);
}

// Number of sequences of one head. Of ragged ones, a single long one is the most there is to do.
double long_sequences(const Problem& problem) {
  const Shape& s = problem.shape;
  return static_cast<double>(s.heads) * (ragged(problem) ? 1.0 : static_cast<double>(s.batch));
}

Traffic traffic(const Problem& problem, const Tile& tile) {
  const auto t = static_cast<double>(problem.shape.seq);
  const auto k = static_cast<double>(problem.shape.key_dim);
  const auto count = static_cast<double>(chunks_in_a_row(problem, tile.at("block")));
  const double pairs = long_sequences(problem), before = (count - 1) / 2;  // tokens of T, averaged
  const double keys = float_rows(problem, k), values = float_rows(problem, columns(problem));
  const double scores = pairs * t * t * 4;
  const double decayed = member_of(problem).decay == Decay::none ? 0.0 : before * keys;
  // Keys are read for each block's scores, and read and written for its decay. Scores are written
  // once and read once.
  return {
      token_reads(problem) + value_bytes(problem) + 2 * states_read(problem) + before * keys +
          decayed + scores + 2 * keys + 3 * values,
      2 * keys + decayed + scores + 2 * values + value_bytes(problem) + states_written(problem)};
}

double flops(const Problem& problem, const Tile& tile) {
  const auto t = static_cast<double>(problem.shape.seq);
  const auto k = static_cast<double>(problem.shape.key_dim);
  const double v = columns(problem), c = std::min(static_cast<double>(tile.at("block")), t);
  // The scores of the blocks below the diagonal and of the triangles on it, and P v over the whole
  // square.
  return long_sequences(problem) * (t * (t - c) * k + t * (c + 1) * k + 2 * t * t * v) +
         tokens(problem) * k * v *
             ((problem.initial_state ? 2.0 : 0.0) + (problem.final_state ? 2.0 : 0.0));
}

}  // namespace

Variant host_parallel_cublas(const Member& member) {
  Variant variant = make_variant(
      member, "parallel_cublas", "whole score matrices through OpenBLAS, cuBLAS's part on the host",
      {{"block", {64, 32, 128}, "rows of scores that are formed at once"}}, run,
      {"linear_recurrence/host/parallel_cublas.cpp", "linear_recurrence/host/chunk.cpp",
       "linear_recurrence/host/rows.cpp"});
  variant.reject = reject;
  variant.workspace = workspace;
  variant.bind = [](const Problem& problem, const Tile& tile, const Address& address) {
    return linear_recurrence::bind(problem, address, workspace(problem, tile));
  };
  variant.traffic = traffic;
  variant.flops = flops;
  return variant;
}

}  // namespace gla_bench::linear_recurrence
