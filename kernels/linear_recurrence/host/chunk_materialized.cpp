// Computes all chunks independently and in parallel. The chunks' states lie in memory.
//
//   1. For each chunk: the state that it alone would leave, (k e^(bn-b))^T v, and its decay e^bn.
//      The first chunk takes the initial state along.
//   2. An associative scan over the chunks, (d2, S2) o (d1, S1) = (d2 d1, d2 S1 + S2). It is a
//      tree of log2(chunks) levels up and as many down. All combinations of a level run in
//      parallel.
//   3. For each chunk: its outputs, from the state that the chunk before it left.
//
// States and decays are written and read again. For each chunk of each (sequence, head) pair these
// are [K, V] and [K] float32. A normalizer is one more column of the states.

#include <algorithm>

#include "kernels/linear_recurrence/host/chunk.hpp"
#include "kernels/linear_recurrence/host/chunk_states.hpp"
#include "kernels/linear_recurrence/host/variant.hpp"
#include "kernels/linear_recurrence/variants.hpp"

namespace gla_bench::linear_recurrence {
namespace {

using namespace host;

// The chunks of all pairs in blocks of columns.
struct Chunks : ChunkStates {
  long long width;

  Chunks(const Call& c, const Tile& tile)
      : ChunkStates(c, tile.at("chunk"), c.p.work[0], c.p.work[1]),
        width(std::min<long long>(tile.at("block_v"), c.values)) {}

  long long blocks() const { return ceil_div(call.values, width); }
  long long tasks() const { return pieces.count() * blocks(); }
  // The tokens of a chunk and the columns of a block.
  Rows rows(long long task) const {
    const Piece& piece = pieces.list[task / blocks()];
    const long long column = task % blocks() * width;
    return {piece.pair, piece.first, piece.rows, column, std::min(width, call.values - column)};
  }
};

// Loads a block's columns of a stored state, followed by the normalizer's column.
void load_stored(const Chunks& c, long long chunk, const Rows& at, float* out) {
  const long long width = at.columns + c.call.extra;
  const float* from = c.state(chunk);
  copy_rectangle(c.call.keys, at.columns, from + at.column, c.row, out, width);
  copy_rectangle(c.call.keys, c.call.extra, from + c.call.values, c.row, out + at.columns, width);
}

// Stores them. The normalizer's column goes with the first block.
void store_stored(const Chunks& c, long long chunk, const Rows& at, const float* in) {
  const long long width = at.columns + c.call.extra;
  float* to = c.state(chunk);
  copy_rectangle(c.call.keys, at.columns, in, width, to + at.column, c.row);
  if (at.column == 0)
    copy_rectangle(c.call.keys, c.call.extra, in + at.columns, width, to + c.call.values, c.row);
}

void leave_state(const Chunks& c, long long task, Chunk& work, std::vector<float>& state) {
  const long long chunk = task / c.blocks();
  const Rows at = c.rows(task);
  work.load(c.call, at);
  product_of_decays(c.call, at.rows, work.e.data(), work.whole.data());
  if (at.first == 0)
    load_initial(c.call, at.pair, at.column, at.columns, state.data());
  else
    std::fill(state.begin(), state.end(), 0.0f);
  work.advance(c.call, state.data());
  store_stored(c, chunk, at, state.data());
  if (at.column == 0) std::copy_n(work.whole.data(), c.call.keys, c.decay(chunk));
}

void leave_states(const Chunks& c) {
#pragma omp parallel
  {
    Chunk work(c.call, c.longest(), c.width);
    std::vector<float> state = scratch(c.call.keys * (c.width + c.call.extra));
#pragma omp for schedule(dynamic)
    for (long long task = 0; task < c.tasks(); ++task) leave_state(c, task, work, state);
  }
}

void form_outputs(const Chunks& c) {
#pragma omp parallel
  {
    Chunk work(c.call, c.longest(), c.width);
    std::vector<float> state = scratch(c.call.keys * (c.width + c.call.extra));
#pragma omp for schedule(dynamic)
    for (long long task = 0; task < c.tasks(); ++task) {
      const Rows at = c.rows(task);
      work.intra(c.call, at);
      if (at.first == 0)
        load_initial(c.call, at.pair, at.column, at.columns, state.data());
      else
        load_stored(c, task / c.blocks() - 1, at, state.data());
      work.inter(c.call, state.data());
      store_outputs(c.call, at, work.o.data());
    }
  }
}

// Returns the states of the last chunks, and those between that are outputs. An empty sequence
// returns its initial state.
void return_states(const Chunks& c) {
  for (long long chunk = 0; c.call.p.states && chunk < c.pieces.count(); ++chunk) {
    const Piece& piece = c.pieces.list[chunk];
    store_between(c.call, piece.pair, piece.first + piece.rows, 0, c.call.values, c.state(chunk));
  }
  if (!c.call.p.final_state) return;
  std::vector<float> initial = scratch(c.call.keys * c.row);
  for (long long pair = 0; pair < c.call.pairs; ++pair) {
    const float* last = initial.data();
    if (c.pieces.count_of(pair) > 0)
      last = c.state(c.pieces.begin[pair + 1] - 1);
    else
      load_initial(c.call, pair, 0, c.call.values, initial.data());
    store_final(c.call, pair, 0, c.call.values, last);
  }
}

void run(const HostCall& host_call) {
  const Call call(host_call);
  const Chunks chunks(call, host_call.tile);
  leave_states(chunks);
  scan(chunks, Order::forwards);
  form_outputs(chunks);
  return_states(chunks);
}

// Elements of a stored state.
double stored(const Problem& problem) {
  return static_cast<double>(problem.shape.key_dim) * columns(problem);
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  const auto count = static_cast<double>(chunks(problem, tile.at("chunk")));
  const auto bytes = [&](double elements) {
    return static_cast<std::size_t>(count * elements * 4);
  };
  return {{"chunk_states", bytes(stored(problem))},
          {"decays", bytes(static_cast<double>(problem.shape.key_dim))}};
}

Traffic traffic(const Problem& problem, const Tile& tile) {
  const auto blocks = static_cast<double>(value_blocks(problem, tile));
  const auto count = static_cast<double>(chunks(problem, tile.at("chunk")));
  const double state = stored(problem) * 4;
  const double decay = static_cast<double>(problem.shape.key_dim) * 4;
  const double combined = combinations(problem, tile.at("chunk"));
  const double firsts = static_cast<double>(sequences(problem));
  // k and gates are read for the states, q, k and gates for the outputs in each block of columns,
  // and v twice. The states are written once; each combination reads two and writes one; the
  // outputs read all but the last of each sequence; those that are returned are read once more.
  const double returned =
      (problem.final_state ? firsts : 0.0) + static_cast<double>(states_between(problem));
  return {blocks * (2 * token_reads(problem) - key_bytes(problem)) + 2 * value_bytes(problem) +
              2 * states_read(problem) + 2 * combined * (state + decay) +
              (std::max(count - firsts, 0.0) + returned) * state,
          value_bytes(problem) + states_written(problem) + (count + combined) * (state + decay)};
}

}  // namespace

Variant host_chunk_materialized(const Member& member) {
  Variant variant = make_variant(
      member, "chunk_materialized",
      "chunk states in memory, a parallel scan over chunks, then the outputs",
      {{"chunk", {32, 16, 64, 128}, "tokens of a chunk"},
       {"block_v", {128, 64, 32, 256}, "columns of v that a task takes"}},
      run,
      {"linear_recurrence/host/chunk_materialized.cpp", "linear_recurrence/host/chunk_states.cpp",
       "linear_recurrence/host/chunk.cpp", "linear_recurrence/host/rows.cpp"});
  variant.reject = refuse_chunk_form;
  variant.workspace = workspace;
  variant.bind = [](const Problem& problem, const Tile& tile, const Address& address) {
    return linear_recurrence::bind(problem, address, workspace(problem, tile));
  };
  variant.traffic = traffic;
  variant.flops = [](const Problem& problem, const Tile& tile) {
    return chunk_flops(problem, tile.at("chunk")) +
           combinations(problem, tile.at("chunk")) * stored(problem) * 2;
  };
  return variant;
}

}  // namespace gla_bench::linear_recurrence
