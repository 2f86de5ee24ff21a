// The quadratic form, (Q K^T (.) decays) V, through OpenBLAS.
//
// The sequence is cut into blocks. A pair of blocks I > J contributes two matrix products,
//   A = (q_i e^{prefix in I} (.) decays of the whole blocks between) (k_j e^{suffix in J})^T,
//   o_I += A v_J,
// and only the diagonal blocks' triangles are formed by hand. Every decay is a product of factors
// of at most 1. A task owns one block of queries of one (sequence, head) pair and walks back over
// the blocks before it, so the work grows with T^2. OpenBLAS runs single-threaded inside the tasks.
//
// Prepared once, float32, heads first: k e^{suffix} [B*H, T, K], v [B*H, T, V] (with a normalizer's
// column) and each block's whole decay [blocks, K].

#include <algorithm>

#include "kernels/linear_recurrence/host/blas.hpp"
#include "kernels/linear_recurrence/host/chunk.hpp"
#include "kernels/linear_recurrence/host/math.hpp"
#include "kernels/linear_recurrence/host/variant.hpp"
#include "kernels/linear_recurrence/variants.hpp"

namespace gla_bench::linear_recurrence {
namespace {

using namespace host;

struct Blocks {
  const Call& call;
  long long length, width;  // width: of v's rows
  Pieces pieces;
  float *keys, *values, *decays;

  Blocks(const Call& c, const Tile& tile)
      : call(c),
        length(tile.at("block")),
        width(c.values + c.extra),
        pieces(c, length),
        keys(static_cast<float*>(c.p.work[0])),
        values(static_cast<float*>(c.p.work[1])),
        decays(static_cast<float*>(c.p.work[2])) {}

  long long longest() const { return std::min(length, call.longest()); }
  float* key_rows(const Piece& block) const {
    return keys + call.row(block.pair, block.first) * call.keys;
  }
  float* value_rows(const Piece& block) const {
    return values + call.row(block.pair, block.first) * width;
  }
  float* decay(long long block) const { return decays + block * call.keys; }
  Rows rows(const Piece& block) const {
    return {block.pair, block.first, block.rows, 0, call.values};
  }
};

void scale_columns(long long rows, long long columns, const float* factors, float* x) {
  for (long long t = 0; t < rows; ++t)
    for (long long i = 0; i < columns; ++i)
      x[t * columns + i] = without_dust(x[t * columns + i] * factors[i]);
}

void prepare(const Blocks& b) {
  const Call& call = b.call;
#pragma omp parallel
  {
    std::vector<float> e = scratch(b.longest() * call.keys);
#pragma omp for schedule(static)
    for (long long number = 0; number < b.pieces.count(); ++number) {
      const Piece& block = b.pieces.list[number];
      const Rows at = b.rows(block);
      load_keys(call, at, b.key_rows(block));
      load_decays(call, at, e.data());
      load_values(call, at, b.value_rows(block));
      scale_by_suffix(call, block.rows, e.data(), b.key_rows(block));
      product_of_decays(call, block.rows, e.data(), b.decay(number));
    }
  }
}

// Computes o of one block of queries from its own triangle, the blocks before it and the initial
// state.
void form_outputs(const Blocks& b, long long number, Chunk& chunk, float* scores, float* state) {
  const Call& call = b.call;
  const Piece& block = b.pieces.list[number];
  const long long rows = block.rows, keys = call.keys, width = b.width;
  const Rows at = b.rows(block);
  chunk.intra(call, at);
  scale_by_prefix(call, rows, chunk.e.data(), chunk.q.data(), chunk.whole.data());
  for (long long other = number - 1; other >= b.pieces.begin[block.pair]; --other) {
    const Piece& before = b.pieces.list[other];
    blas_product(rows, before.rows, keys, {chunk.q.data(), keys}, {b.key_rows(before), keys, true},
                 0.0f, scores, before.rows);
    blas_product(rows, width, before.rows, {scores, before.rows}, {b.value_rows(before), width},
                 1.0f, chunk.o.data(), width);
    scale_columns(rows, keys, b.decay(other), chunk.q.data());
  }
  if (call.p.initial_state) {
    load_initial(call, block.pair, 0, call.values, state);
    blas_product(rows, width, keys, {chunk.q.data(), keys}, {state, width}, 1.0f, chunk.o.data(),
                 width);
  }
  store_outputs(call, at, chunk.o.data());
}

// The final state as a sum over all tokens: for each block, what is left of it after the last
// token.
void form_state(const Blocks& b, long long pair, float* keys, float* state) {
  const Call& call = b.call;
  std::vector<float> left(static_cast<std::size_t>(call.keys), 1.0f);
  std::vector<float> initial = scratch(call.keys * b.width);
  std::fill_n(state, call.keys * b.width, 0.0f);
  for (long long number = b.pieces.begin[pair + 1] - 1; number >= b.pieces.begin[pair]; --number) {
    const Piece& block = b.pieces.list[number];
    std::copy_n(b.key_rows(block), block.rows * call.keys, keys);
    scale_columns(block.rows, call.keys, left.data(), keys);
    blas_product(call.keys, b.width, block.rows, {keys, call.keys, true},
                 {b.value_rows(block), b.width}, 1.0f, state, b.width);
    scale_columns(1, call.keys, b.decay(number), left.data());
  }
  load_initial(call, pair, 0, call.values, initial.data());
  for (long long i = 0; i < call.keys; ++i)
    for (long long j = 0; j < b.width; ++j)
      state[i * b.width + j] += left[i] * initial[i * b.width + j];
  store_final(call, pair, 0, call.values, state);
}

// The blocks in the order of how much they have to do: the last ones of their sequences come first.
std::vector<long long> longest_first(const Blocks& b) {
  std::vector<long long> order;
  for (long long number = 0; number < b.pieces.count(); ++number) order.push_back(number);
  std::stable_sort(order.begin(), order.end(), [&](long long x, long long y) {
    return b.pieces.list[x].index > b.pieces.list[y].index;
  });
  return order;
}

void run(const HostCall& host_call) {
  const SingleThreadedBlas scope;
  const Call call(host_call);
  const Blocks b(call, host_call.tile);
  const std::vector<long long> order = longest_first(b);
  const long long longest = b.longest();
  prepare(b);
#pragma omp parallel
  {
    Chunk chunk(call, longest, call.values);
    std::vector<float> scores = scratch(longest * longest), keys = scratch(longest * call.keys);
    std::vector<float> state = scratch(call.keys * b.width);
    // No final state may be written before the last initial one has been read, because they may be
    // the same memory.
#pragma omp for schedule(dynamic)
    for (long long task = 0; task < b.pieces.count(); ++task)
      form_outputs(b, order[task], chunk, scores.data(), state.data());
#pragma omp for schedule(dynamic)
    for (long long pair = 0; pair < (call.p.final_state ? call.pairs : 0); ++pair)
      form_state(b, pair, keys.data(), state.data());
  }
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  const auto keys = static_cast<double>(problem.shape.key_dim);
  const double decays = static_cast<double>(chunks(problem, tile.at("block"))) * keys * 4;
  return {{"keys", static_cast<std::size_t>(float_rows(problem, keys))},
          {"values", static_cast<std::size_t>(float_rows(problem, columns(problem)))},
          {"decays", static_cast<std::size_t>(decays)}};
}

// Pairs of different blocks of one sequence and head, summed over all of them. Ragged sequences are
// counted as one long one.
double block_pairs(const Problem& problem, const Tile& tile) {
  const Shape& s = problem.shape;
  const auto count = static_cast<double>(chunks_in_a_row(problem, tile.at("block")));
  return static_cast<double>(s.heads) * (ragged(problem) ? 1.0 : static_cast<double>(s.batch)) *
         count * (count - 1) / 2;
}

Traffic traffic(const Problem& problem, const Tile& tile) {
  const double block = tile.at("block");
  const auto k = static_cast<double>(problem.shape.key_dim);
  const double v = columns(problem);
  const auto count = static_cast<double>(chunks_in_a_row(problem, tile.at("block")));
  const double prepared =
      float_rows(problem, k + v) + static_cast<double>(chunks(problem, tile.at("block"))) * k * 4;
  const double walked = block_pairs(problem, tile) * (block * (k + v) + k) * 4;
  const double for_state = problem.final_state ? prepared + states_read(problem) : 0.0;
  // k, gates and v are read to prepare; q, k, gates and v are read for the diagonal blocks.
  const double inputs = 2 * token_reads(problem) - key_bytes(problem) + 2 * value_bytes(problem);
  return {inputs + walked + count * states_read(problem) + for_state,
          prepared + value_bytes(problem) + states_written(problem)};
}

double flops(const Problem& problem, const Tile& tile) {
  const double block = tile.at("block");
  const auto k = static_cast<double>(problem.shape.key_dim);
  const double v = columns(problem);
  const double c = std::min(block, static_cast<double>(problem.shape.seq));
  return 2 * block_pairs(problem, tile) * block * block * (k + v) +
         tokens(problem) * ((c + 1) * (k + v) + (problem.initial_state ? 2 * k * v : 0.0) +
                            (problem.final_state ? 2 * k * v : 0.0));
}

}  // namespace

Variant host_parallel(const Member& member) {
  Variant variant =
      make_variant(member, "parallel", "the quadratic form in blocks through OpenBLAS",
                   {{"block", {64, 32, 128}, "tokens of a block of queries and of keys"}}, run,
                   {"linear_recurrence/host/parallel.cpp", "linear_recurrence/host/chunk.cpp",
                    "linear_recurrence/host/rows.cpp"});
  variant.reject = refuse_whole_form;
  variant.workspace = workspace;
  variant.bind = [](const Problem& problem, const Tile& tile, const Address& address) {
    return linear_recurrence::bind(problem, address, workspace(problem, tile));
  };
  variant.traffic = traffic;
  variant.flops = flops;
  return variant;
}

}  // namespace gla_bench::linear_recurrence
