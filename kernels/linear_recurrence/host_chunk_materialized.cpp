// Every chunk on its own, all at once; the chunks' states lie in memory.
//
// 1. For each chunk, independently: the state that it alone would leave, (k e^(bn-b))^T v, and its
//    decay e^bn. The first chunk takes the initial state along.
// 2. An associative scan over the chunks, (d2, S2) o (d1, S1) = (d2 d1, d2 S1 + S2), as a tree of
//    log2(chunks) levels up and as many down: all combinations of a level run in parallel.
// 3. For each chunk, independently: its outputs, from the state that the chunk before it left.
//
// States and decays are written and read again, [B*H, chunks, K, V] and [B*H, chunks, K] float32.

#include <algorithm>

#include "kernels/linear_recurrence/host_chunk.hpp"
#include "kernels/linear_recurrence/host_math.hpp"
#include "kernels/linear_recurrence/host_variant.hpp"
#include "kernels/linear_recurrence/variants.hpp"

namespace gla_bench::linear_recurrence {
namespace {

using namespace host;

// The chunks of all pairs and what the workspace holds of them.
struct Chunks {
  const Call& call;
  long long length, count, width;
  float* states;
  float* decays;

  Chunks(const Call& c, const Tile& tile)
      : call(c),
        length(tile.at("chunk")),
        count(ceil_div(c.p.seq, length)),
        width(std::min<long long>(tile.at("block_v"), c.values)),
        states(static_cast<float*>(c.p.work[0])),
        decays(static_cast<float*>(c.p.work[1])) {}

  long long blocks() const { return ceil_div(call.values, width); }
  float* state(long long pair, long long chunk) const {
    return states + (pair * count + chunk) * call.keys * call.values;
  }
  float* decay(long long pair, long long chunk) const {
    return decays + (pair * count + chunk) * call.keys;
  }
  // Tokens of a chunk and columns of a block.
  Rows rows(long long pair, long long chunk, long long block) const {
    return {pair, chunk * length, std::min(length, call.p.seq - chunk * length), block * width,
            std::min(width, call.values - block * width)};
  }
};

// Columns [column, ...) of a stored state, dense; zeros where there is none before the first chunk.
void load_start(const Chunks& c, const Rows& at, long long chunk, float* out) {
  if (chunk == 0)
    return load_state(c.call, c.call.p.initial_state, at.pair, at.column, at.columns, out);
  load_state(c.call, c.state(at.pair, chunk - 1), 0, at.column, at.columns, out);
}

void leave_state(const Chunks& c, long long pair, long long chunk, long long block, Chunk& work,
                 std::vector<float>& state) {
  const Rows at = c.rows(pair, chunk, block);
  work.load_keys(c.call, at);
  std::fill(work.whole.begin(), work.whole.end(), 1.0f);
  for (long long t = 0; t < at.rows; ++t)
    for (long long i = 0; i < c.call.keys; ++i)
      work.whole[i] = without_dust(work.whole[i] * work.e[t * c.call.keys + i]);
  load_state(c.call, chunk == 0 ? c.call.p.initial_state : nullptr, pair, at.column, at.columns,
             state.data());
  work.advance(c.call, state.data());
  store_state(c.call, c.state(pair, chunk), 0, at.column, at.columns, state.data());
  if (block == 0) std::copy_n(work.whole.data(), c.call.keys, c.decay(pair, chunk));
}

void leave_states(const Chunks& c) {
#pragma omp parallel
  {
    Chunk work(c.call, std::min(c.length, c.call.p.seq), c.width);
    std::vector<float> state = scratch(c.call.keys * c.width);
    const long long per_pair = c.count * c.blocks();
#pragma omp for schedule(dynamic)
    for (long long task = 0; task < c.call.pairs * per_pair; ++task)
      leave_state(c, task / per_pair, task % per_pair / c.blocks(), task % c.blocks(), work, state);
  }
}

// Puts (left o right) in the place of right: rows [first, end) of the state.
void combine(const Chunks& c, long long pair, long long left, long long right, long long row) {
  const float* before = c.state(pair, left) + row * c.call.values;
  float* state = c.state(pair, right) + row * c.call.values;
  float& decay = c.decay(pair, right)[row];
  for (long long j = 0; j < c.call.values; ++j) state[j] += decay * before[j];
  decay = without_dust(decay * c.decay(pair, left)[row]);
}

// One level of the tree: chunk i takes in chunk i - distance for i = first, first + step, ...
void level(const Chunks& c, long long first, long long step, long long distance) {
  if (first >= c.count) return;
  const long long at_once = (c.count - 1 - first) / step + 1;
  const long long per_pair = at_once * c.call.keys;
#pragma omp parallel for schedule(static)
  for (long long task = 0; task < c.call.pairs * per_pair; ++task) {
    const long long chunk = first + task % per_pair / c.call.keys * step;
    combine(c, task / per_pair, chunk - distance, chunk, task % c.call.keys);
  }
}

void scan(const Chunks& c) {
  long long distance = 1;
  for (; distance < c.count; distance *= 2) level(c, 2 * distance - 1, 2 * distance, distance);
  for (distance /= 2; distance >= 1; distance /= 2)
    level(c, 3 * distance - 1, 2 * distance, distance);
}

void form_outputs(const Chunks& c) {
#pragma omp parallel
  {
    Chunk work(c.call, std::min(c.length, c.call.p.seq), c.width);
    std::vector<float> state = scratch(c.call.keys * c.width);
    const long long per_pair = c.count * c.blocks();
#pragma omp for schedule(dynamic)
    for (long long task = 0; task < c.call.pairs * per_pair; ++task) {
      const long long chunk = task % per_pair / c.blocks();
      const Rows at = c.rows(task / per_pair, chunk, task % c.blocks());
      work.intra(c.call, at);
      load_start(c, at, chunk, state.data());
      work.inter(c.call, state.data());
      store(c.call, c.call.p.o, c.call.p.value_strides, at, work.o.data());
    }
  }
}

void run(const HostCall& host_call) {
  const Call call(host_call);
  const Chunks chunks(call, host_call.tile);
  leave_states(chunks);
  scan(chunks);
  form_outputs(chunks);
  for (long long pair = 0; call.p.final_state && pair < call.pairs; ++pair)
    std::copy_n(chunks.state(pair, chunks.count - 1),
                static_cast<long long>(call.keys) * call.values,
                call.p.final_state + pair * call.keys * call.values);
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  const auto count = static_cast<std::size_t>(chunks(problem, tile.at("chunk")));
  const auto keys = static_cast<std::size_t>(sequences(problem) * problem.shape.key_dim);
  return {{"states", count * keys * static_cast<std::size_t>(problem.shape.value_dim) * 4},
          {"decays", count * keys * 4}};
}

// Combinations that the two sweeps of the tree make for `count` chunks.
double combinations(std::int64_t count) {
  std::int64_t total = 0, distance = 1;
  const auto of_level = [&](std::int64_t first, std::int64_t step) {
    if (first < count) total += (count - 1 - first) / step + 1;
  };
  for (; distance < count; distance *= 2) of_level(2 * distance - 1, 2 * distance);
  for (distance /= 2; distance >= 1; distance /= 2) of_level(3 * distance - 1, 2 * distance);
  return static_cast<double>(total);
}

Traffic traffic(const Problem& problem, const Tile& tile) {
  const auto blocks = static_cast<double>(value_blocks(problem, tile));
  const std::int64_t chunk_count = chunks(problem, tile.at("chunk"));
  const auto count = static_cast<double>(chunk_count);
  const double state = state_bytes(problem);
  const double decay = state / static_cast<double>(problem.shape.value_dim);
  const double combined = combinations(chunk_count);
  // k, g for the states and q, k, g for the outputs in each block of columns, v twice; the states
  // once out, two in and one out for each combination, once in for the outputs (all but the last).
  return {blocks * 5 * key_bytes(problem) + 2 * value_bytes(problem) + 2 * states_read(problem) +
              2 * combined * (state + decay) + (count - 1) * state + states_written(problem),
          value_bytes(problem) + states_written(problem) + (count + combined) * (state + decay)};
}

}  // namespace

Variant host_chunk_materialized(const Member& member) {
  Variant variant =
      make_variant(member, "chunk_materialized",
                   "chunk states in memory, a parallel scan over chunks, then the outputs",
                   {{"chunk", {32, 16, 64, 128}, "tokens of a chunk"},
                    {"block_v", {128, 64, 32, 256}, "columns of v that a task takes"}},
                   run,
                   {"linear_recurrence/host_chunk_materialized.cpp",
                    "linear_recurrence/host_chunk.cpp", "linear_recurrence/host_rows.cpp"});
  variant.workspace = workspace;
  variant.bind = [](const Problem& problem, const Tile& tile, const Address& address) {
    return linear_recurrence::bind(problem, address, workspace(problem, tile));
  };
  variant.traffic = traffic;
  variant.flops = [](const Problem& problem, const Tile& tile) {
    const std::int64_t chunk = tile.at("chunk");
    return chunk_flops(problem, chunk) +
           combinations(chunks(problem, chunk)) * state_bytes(problem) / 4 * 2;
  };
  return variant;
}

}  // namespace gla_bench::linear_recurrence
