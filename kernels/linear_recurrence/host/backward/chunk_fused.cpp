// The backward chunk by chunk, the gradient of the state never written out.
//
// A task owns one (sequence, head) pair. It goes forwards over the chunks and keeps the state
// before every n-th of them in memory. Then it goes backwards: the states between two kept ones
// are computed once more into the cache, and the gradient of the state is carried from chunk to
// chunk.

#include <algorithm>

#include "kernels/linear_recurrence/host/backward/chunk.hpp"
#include "kernels/linear_recurrence/host/backward/variant.hpp"
#include "kernels/linear_recurrence/host/backward/variants.hpp"
#include "kernels/linear_recurrence/host/blas.hpp"
#include "kernels/linear_recurrence/host/chunk.hpp"

namespace gla_bench::linear_recurrence {
namespace {

using namespace host;

struct Work {
  Chunk forward;
  GradientChunk backward;
  std::vector<float> change, state, group;  // group: the states before the chunks of a group

  Work(const GradientCall& call, long long chunk, long long kept)
      : forward(call, chunk, call.values),
        backward(call, chunk),
        change(scratch(call.keys * call.width)),
        state(change),
        group(scratch(kept * call.keys * call.width)) {}
};

struct Form {
  const GradientCall& call;
  long long chunk, kept;  // chunks between kept states
  Pieces pieces, groups;
  float* states;

  Form(const GradientCall& c, const Tile& tile)
      : call(c),
        chunk(tile.at("chunk")),
        kept(tile.at("kept")),
        pieces(c, chunk),
        groups(c, chunk * kept),
        states(static_cast<float*>(c.p.work[0])) {}

  long long size() const { return call.keys * call.width; }
  Rows rows(long long number) const {
    const Piece& piece = pieces.list[number];
    return call.rows(piece.pair, piece.first, piece.rows);
  }
  // Where the state before a chunk is kept; the chunk is the first of its group.
  float* kept_state(const Piece& piece) const {
    return states + (groups.begin[piece.pair] + piece.index / kept) * size();
  }
};

// Keeps states, and forms the outputs that are asked for or that have denominators.
void go_forwards(const Form& form, long long pair, Work& work) {
  const GradientCall& call = form.call;
  load_initial(call, pair, 0, call.values, work.state.data());
  for (long long n = form.pieces.begin[pair]; n < form.pieces.begin[pair + 1]; ++n) {
    const Piece& piece = form.pieces.list[n];
    const Rows at = form.rows(n);
    if (piece.index % form.kept == 0)
      std::copy_n(work.state.data(), form.size(), form.kept_state(piece));
    if (call.forms_outputs()) {
      work.forward.intra(call, at);
      work.forward.inter(call, work.state.data());
      leave_outputs(call, at, work.forward.o.data());
    } else {
      work.forward.load(call, at);
      product_of_decays(call, at.rows, work.forward.e.data(), work.forward.whole.data());
    }
    work.forward.advance(call, work.state.data());
  }
  if (call.trains()) store_final(call, pair, 0, call.values, work.state.data());
}

// Computes the states before the chunks [first, last) from the kept one before the first.
void fill_group(const Form& form, long long first, long long last, Work& work) {
  std::copy_n(form.kept_state(form.pieces.list[first]), form.size(), work.group.data());
  for (long long n = first; n + 1 < last; ++n) {
    float* state = work.group.data() + (n - first) * form.size();
    const Rows at = form.rows(n);
    work.forward.load(form.call, at);
    product_of_decays(form.call, at.rows, work.forward.e.data(), work.forward.whole.data());
    std::copy_n(state, form.size(), state + form.size());
    work.forward.advance(form.call, state + form.size());
  }
}

void go_back(const Form& form, long long pair, Work& work) {
  const GradientCall& call = form.call;
  GradientChunk& chunk = work.backward;
  load_final_gradient(call, pair, work.change.data());
  for (long long last = form.pieces.begin[pair + 1]; last > form.pieces.begin[pair];) {
    const long long first = last - 1 - form.pieces.list[last - 1].index % form.kept;
    fill_group(form, first, last, work);
    for (long long n = last; n-- > first;) {
      const Rows at = form.rows(n);
      take_outputs(call, at);
      chunk.load(call, at);
      chunk.intra(call);
      chunk.inter(call, work.group.data() + (n - first) * form.size(), work.change.data());
      chunk.store(call, at);
      chunk.retreat(call, work.change.data());
    }
    last = first;
  }
  store_initial_gradient(call, pair, work.change.data());
}

// Calls act(form, pair, work) for every sequence and head, each thread with work of its own.
template <class Act>
void for_pairs(const GradientCall& call, const Tile& tile, Act act) {
  const SingleThreadedBlas scope;
  const Form form(call, tile);
#pragma omp parallel
  {
    Work work(call, std::min(form.chunk, call.longest()), form.kept);
#pragma omp for schedule(dynamic)
    for (long long pair = 0; pair < call.pairs; ++pair) act(form, pair, work);
  }
}

void forwards(const HostCall& host_call) {
  for_pairs(GradientCall(host_call), host_call.tile, go_forwards);
}

void back(const HostCall& host_call) {
  const GradientCall call(host_call);
  for_pairs(call, host_call.tile, [&](const Form& form, long long pair, Work& work) {
    work.backward.sums = HeadSums(call);
    go_back(form, pair, work);
    keep_sums(call, pair, work.backward.sums);
  });
  store_sums(call);
}

double kept_bytes(const Problem& problem, const Tile& tile) {
  return static_cast<double>(chunks(problem, tile.at("chunk") * tile.at("kept"))) *
         stored_state_bytes(problem);
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  return {{"kept", static_cast<std::size_t>(kept_bytes(problem, tile))}};
}

Traffic traffic(const Problem& problem, const Tile& tile) {
  const Traffic outputs = output_traffic(problem);
  const double of_states = token_reads(problem) - key_bytes(problem) + value_bytes(problem);
  // Forwards k, the gates and v, and for outputs q. Backwards all of them, and k, the gates and v
  // once more for the states between kept ones.
  const double forwards =
      of_states + outputs.read_bytes + (outputs.write_bytes > 0 ? key_bytes(problem) : 0.0);
  const double again = tile.at("kept") > 1 ? of_states : 0.0;
  return {forwards + again + token_gradient_reads(problem) + states_read(problem) +
              states_written(problem) + kept_bytes(problem, tile),
          kept_bytes(problem, tile) + outputs.write_bytes + gradient_bytes(problem)};
}

// k, the gates and v for the states, and q for the outputs.
Traffic forwards_traffic(const Problem& problem, const Tile& tile) {
  return {token_reads(problem) + value_bytes(problem) + states_read(problem),
          kept_bytes(problem, tile) + outputs_left_bytes(problem)};
}

BackwardForm form() {
  return {
      "chunk_fused",
      "chunk by chunk, back from kept states, their gradient never written out",
      {{"chunk", {32, 16, 64, 128}, "tokens of a chunk"},
       {"kept", {4, 1, 16}, "chunks between kept states"}},
      {"backward/chunk_fused.cpp", "backward/chunk.cpp", "chunk.cpp"},
      traffic,
      [](const Problem& problem, const Tile& tile) {
        const double of_state = static_cast<double>(problem.shape.key_dim) * columns(problem);
        return chunk_gradient_flops(problem, tile.at("chunk")) +
               (tile.at("kept") > 1 ? 4 : 2) * tokens(problem) * of_state +
               output_flops(problem, tile.at("chunk"));
      },
      workspace,
      [](const Problem& problem, const Tile&) { return static_cast<double>(sequences(problem)); },
      back,
      forwards,
      forwards_traffic};
}

}  // namespace

Variant host_backward_chunk_fused(const Member& member) {
  return backward_variant(member, form());
}

Variant host_training_chunk_fused(const Member& member) {
  return training_variant(member, form());
}

}  // namespace gla_bench::linear_recurrence
