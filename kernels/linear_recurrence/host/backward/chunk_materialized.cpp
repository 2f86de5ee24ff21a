// The backward of all chunks independently and in parallel. The chunks' states, and the gradients
// of these, lie in memory.
//
//   1. For each chunk: the state that it alone would leave and its decay. The first chunk takes the
//      initial state along. A scan over the chunks makes of these the state behind each chunk.
//   2. In training and with a normalizer, for each chunk: its outputs, and with a normalizer of
//      these the gradients of numerators and denominators.
//   3. For each chunk: the gradient that its own tokens alone give the state before it. The last
//      chunk takes the final state's gradient along. The same scan, backwards, makes of these the
//      gradient of the state before each chunk.
//   4. For each chunk: the gradients of its tokens, from the state before it and the gradient of
//      that behind it.

#include <algorithm>

#include "kernels/linear_recurrence/host/backward/chunk.hpp"
#include "kernels/linear_recurrence/host/backward/variant.hpp"
#include "kernels/linear_recurrence/host/backward/variants.hpp"
#include "kernels/linear_recurrence/host/blas.hpp"
#include "kernels/linear_recurrence/host/chunk.hpp"
#include "kernels/linear_recurrence/host/chunk_states.hpp"

namespace gla_bench::linear_recurrence {
namespace {

using namespace host;

struct Chunks {
  const GradientCall& call;
  ChunkStates states, changes;

  Chunks(const GradientCall& c, const Tile& tile)
      : call(c),
        states(c, tile.at("chunk"), c.p.work[0], c.p.work[1]),
        changes(c, tile.at("chunk"), c.p.work[2], c.p.work[3]) {}

  long long count() const { return states.pieces.count(); }
  long long size() const { return call.keys * call.width; }
  Rows rows(long long chunk) const {
    const Piece& piece = states.pieces.list[chunk];
    return call.rows(piece.pair, piece.first, piece.rows);
  }
  bool is_first(long long chunk) const { return states.pieces.list[chunk].index == 0; }
  bool is_last(long long chunk) const {
    return chunk + 1 == states.pieces.begin[states.pieces.list[chunk].pair + 1];
  }
};

// The state before a chunk.
void load_before(const Chunks& c, long long chunk, float* out) {
  if (c.is_first(chunk))
    load_initial(c.call, c.rows(chunk).pair, 0, c.call.values, out);
  else
    std::copy_n(c.states.state(chunk - 1), c.size(), out);
}

// The gradient of the state behind a chunk.
void load_behind(const Chunks& c, long long chunk, float* out) {
  if (c.is_last(chunk))
    load_final_gradient(c.call, c.rows(chunk).pair, out);
  else
    std::copy_n(c.changes.state(chunk + 1), c.size(), out);
}

void leave_states(const Chunks& c) {
#pragma omp parallel
  {
    Chunk work(c.call, c.states.longest(), c.call.values);
#pragma omp for schedule(dynamic)
    for (long long chunk = 0; chunk < c.count(); ++chunk) {
      const Rows at = c.rows(chunk);
      float* state = c.states.state(chunk);
      work.load(c.call, at);
      product_of_decays(c.call, at.rows, work.e.data(), work.whole.data());
      if (c.is_first(chunk))
        load_initial(c.call, at.pair, 0, c.call.values, state);
      else
        std::fill_n(state, c.size(), 0.0f);
      work.advance(c.call, state);
      std::copy_n(work.whole.data(), c.call.keys, c.states.decay(chunk));
      std::copy_n(work.whole.data(), c.call.keys, c.changes.decay(chunk));
    }
  }
  scan(c.states, Order::forwards);
}

void form_outputs(const Chunks& c) {
  if (!c.call.forms_outputs()) return;
#pragma omp parallel
  {
    Chunk work(c.call, c.states.longest(), c.call.values);
    std::vector<float> state = scratch(c.size());
#pragma omp for schedule(dynamic)
    for (long long chunk = 0; chunk < c.count(); ++chunk) {
      const Rows at = c.rows(chunk);
      load_before(c, chunk, state.data());
      work.intra(c.call, at);
      work.inter(c.call, state.data());
      leave_outputs(c.call, at, work.o.data());
    }
  }
}

void leave_changes(const Chunks& c) {
#pragma omp parallel
  {
    GradientChunk work(c.call, c.states.longest());
#pragma omp for schedule(dynamic)
    for (long long chunk = 0; chunk < c.count(); ++chunk) {
      const Rows at = c.rows(chunk);
      float* change = c.changes.state(chunk);
      take_outputs(c.call, at);
      work.load(c.call, at);
      if (c.is_last(chunk))
        load_final_gradient(c.call, at.pair, change);
      else
        std::fill_n(change, c.size(), 0.0f);
      work.retreat(c.call, change);
    }
  }
  scan(c.changes, Order::backwards);
}

void form_gradients(const Chunks& c) {
#pragma omp parallel
  {
    GradientChunk work(c.call, c.states.longest());
    std::vector<float> state = scratch(c.size()), change(state);
#pragma omp for schedule(dynamic)
    for (long long chunk = 0; chunk < c.count(); ++chunk) {
      const Rows at = c.rows(chunk);
      work.sums = HeadSums(c.call);
      load_before(c, chunk, state.data());
      load_behind(c, chunk, change.data());
      work.load(c.call, at);
      work.intra(c.call);
      work.inter(c.call, state.data(), change.data());
      work.store(c.call, at);
      keep_sums(c.call, chunk, work.sums);
    }
  }
  std::vector<long long> pairs;
  for (const Piece& piece : c.states.pieces.list) pairs.push_back(piece.pair);
  store_sums(c.call, pairs);
}

// In training the states behind the last chunks. That of an empty sequence is its initial one.
void return_states(const Chunks& c) {
  if (!c.call.p.final_state) return;
  std::vector<float> initial = scratch(c.size());
  for (long long pair = 0; pair < c.call.pairs; ++pair) {
    const float* last = initial.data();
    if (c.states.pieces.count_of(pair) > 0)
      last = c.states.state(c.states.pieces.begin[pair + 1] - 1);
    else
      load_initial(c.call, pair, 0, c.call.values, initial.data());
    store_final(c.call, pair, 0, c.call.values, last);
  }
}

// The gradients of the states before the first chunks. That of an empty sequence's initial state
// is that of its final one.
void return_changes(const Chunks& c) {
  std::vector<float> last = scratch(c.size());
  for (long long pair = 0; pair < c.call.pairs; ++pair) {
    const float* change = last.data();
    if (c.changes.pieces.count_of(pair) > 0)
      change = c.changes.state(c.changes.pieces.begin[pair]);
    else
      load_final_gradient(c.call, pair, last.data());
    store_initial_gradient(c.call, pair, change);
  }
}

void forwards(const HostCall& host_call) {
  const SingleThreadedBlas scope;
  const GradientCall call(host_call);
  const Chunks chunks(call, host_call.tile);
  leave_states(chunks);
  form_outputs(chunks);
  return_states(chunks);
}

void back(const HostCall& host_call) {
  const SingleThreadedBlas scope;
  const GradientCall call(host_call);
  const Chunks chunks(call, host_call.tile);
  leave_changes(chunks);
  form_gradients(chunks);
  return_changes(chunks);
}

double count_of(const Problem& problem, const Tile& tile) {
  return static_cast<double>(chunks(problem, tile.at("chunk")));
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  const auto bytes = [&](double each) {
    return static_cast<std::size_t>(count_of(problem, tile) * each);
  };
  const double state = stored_state_bytes(problem);
  const double decay = static_cast<double>(problem.shape.key_dim) * 4;
  return {{"chunk_states", bytes(state)},
          {"decays", bytes(decay)},
          {"changes", bytes(state)},
          {"change_decays", bytes(decay)}};
}

Traffic traffic(const Problem& problem, const Tile& tile) {
  const double count = count_of(problem, tile);
  const double state = stored_state_bytes(problem);
  const double decay = static_cast<double>(problem.shape.key_dim) * 4;
  const double combined = combinations(problem, tile.at("chunk"));
  const double between = std::max(count - static_cast<double>(sequences(problem)), 0.0) * state;
  const Traffic outputs = output_traffic(problem);
  // The states need k, the gates and v, their gradients q, k, the gates, v and do, the tokens'
  // gradients all of these once more. Outputs are formed in between, and the final states are read
  // for it. The
  // scans read two states for each combination and write one; then each is read once.
  const double of_states = token_reads(problem) - key_bytes(problem) + value_bytes(problem);
  const double of_outputs = outputs.write_bytes > 0
                                ? token_reads(problem) + value_bytes(problem) + between +
                                      outputs.read_bytes +
                                      (trains(problem) && problem.final_state
                                           ? static_cast<double>(sequences(problem)) * state
                                           : 0.0)
                                : 0.0;
  return {of_states + of_outputs + 2 * token_gradient_reads(problem) +
              4 * combined * (state + decay) + 2 * between + 2 * states_read(problem) +
              2 * states_written(problem) + static_cast<double>(sequences(problem)) * state,
          2 * (count + combined) * (state + decay) + outputs.write_bytes + gradient_bytes(problem)};
}

Traffic forwards_traffic(const Problem& problem, const Tile& tile) {
  const double count = count_of(problem, tile), combined = combinations(problem, tile.at("chunk"));
  const double state = stored_state_bytes(problem);
  const double decay = static_cast<double>(problem.shape.key_dim) * 4;
  const auto of_sequences = static_cast<double>(sequences(problem));
  const double between = std::max(count - of_sequences, 0.0) * state;
  const double last = problem.final_state ? of_sequences * state : 0.0;
  // k, the gates and v for the states, and with q once more for the outputs. The decays of chunks
  // are left twice, since each scan changes its own.
  return {2 * token_reads(problem) - key_bytes(problem) + 2 * value_bytes(problem) +
              2 * combined * (state + decay) + between + last + states_read(problem),
          (count + combined) * (state + decay) + count * decay + outputs_left_bytes(problem)};
}

BackwardForm form() {
  return {
      "chunk_materialized",
      "chunk states and their gradients in memory, a parallel scan each way, then the gradients",
      {{"chunk", {32, 16, 64, 128}, "tokens of a chunk"}},
      {"backward/chunk_materialized.cpp", "backward/chunk.cpp", "chunk_states.cpp", "chunk.cpp"},
      traffic,
      [](const Problem& problem, const Tile& tile) {
        const double of_state = static_cast<double>(problem.shape.key_dim) * columns(problem);
        return chunk_gradient_flops(problem, tile.at("chunk")) + 2 * tokens(problem) * of_state +
               4 * combinations(problem, tile.at("chunk")) * of_state +
               output_flops(problem, tile.at("chunk"));
      },
      workspace,
      count_of,
      back,
      forwards,
      forwards_traffic};
}

}  // namespace

Variant host_backward_chunk_materialized(const Member& member) {
  return backward_variant(member, form());
}

Variant host_training_chunk_materialized(const Member& member) {
  return training_variant(member, form());
}

}  // namespace gla_bench::linear_recurrence
