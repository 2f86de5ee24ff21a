// The backward of the recurrence as it is defined, one token after the other.
//
// A task owns one (sequence, head) pair. It goes forwards and keeps the state before every n-th
// token in memory. Then it goes backwards over the segments in between: the states of a segment
// are computed once more, into the core's cache, and each token's gradients come from the state
// that it reads and the gradient of the state that it leaves. With n about sqrt(T), all kept states
// and those of a segment are about 2 sqrt(T).

#include <algorithm>
#include <cmath>

#include "kernels/linear_recurrence/host/backward/variant.hpp"
#include "kernels/linear_recurrence/host/backward/variants.hpp"

namespace gla_bench::linear_recurrence {
namespace {

using namespace host;

constexpr long long longest_root = 64;  // tokens of a segment whose states fit a cache

long long segment_of(std::int64_t seq, const Tile& tile) {
  const int kept = tile.at("kept");
  if (kept > 0) return kept;
  const auto root = std::llround(std::sqrt(static_cast<double>(seq)));
  return std::clamp<long long>(root, 1, longest_root);
}

struct Segment {
  std::vector<float> q, k, e, v, d_o, dq, dk, dg, dv;
  std::vector<float> states;  // [rows + 1, K, width]: before each token, and after the last
  std::vector<float> bonus;
  HeadSums sums;

  Segment(const GradientCall& call, long long length)
      : q(scratch(length * call.keys)),
        k(q),
        e(q),
        v(scratch(length * call.width)),
        d_o(v),
        dq(q),
        dk(q),
        dg(q),
        dv(v),
        states(scratch((length + 1) * call.keys * call.width)),
        bonus(scratch(call.keys)),
        sums(call) {}

  float* state(const GradientCall& call, long long t) {
    return states.data() + t * call.keys * call.width;
  }
};

// after = decay before + k v^T
void step(const GradientCall& call, const Segment& s, long long t, const float* before,
          float* after) {
  const float* v = s.v.data() + t * call.width;
  for (long long i = 0; i < call.keys; ++i) {
    const float decay = s.e[t * call.keys + i], key = s.k[t * call.keys + i];
    const float* from = before + i * call.width;
    float* to = after + i * call.width;
#pragma omp simd
    for (long long j = 0; j < call.width; ++j) to[j] = decay * from[j] + key * v[j];
  }
}

// out = scale S^T q of the state that token t reads, with the token itself where that is through
// the bonus. The last column is a normalizer's denominator.
void read_state(const GradientCall& call, Segment& s, long long t, float* out) {
  const float *q = s.q.data() + t * call.keys, *k = s.k.data() + t * call.keys;
  const float* state = s.state(call, call.before_update ? t : t + 1);
  std::fill_n(out, call.width, 0.0f);
  for (long long i = 0; i < call.keys; ++i)
    for (long long j = 0; j < call.width; ++j) out[j] += q[i] * state[i * call.width + j];
  float own = 0;
  for (long long i = 0; call.before_update && i < call.keys; ++i) own += q[i] * s.bonus[i] * k[i];
  const float* v = s.v.data() + t * call.width;
  for (long long j = 0; call.before_update && j < call.width; ++j) out[j] += own * v[j];
  for (long long j = 0; j < call.width; ++j) out[j] *= call.p.scale;
}

// Loads a segment and computes its states from the one before it, which is states[0].
void go_forwards(const GradientCall& call, const Rows& at, Segment& s) {
  load_queries(call, at, s.q.data());
  load_keys(call, at, s.k.data());
  load_decays(call, at, s.e.data());
  load_values(call, at, s.v.data());
  for (long long t = 0; t < at.rows; ++t) step(call, s, t, s.state(call, t), s.state(call, t + 1));
}

// A token's gradients. On entry `change` is the gradient of the state behind the token, from later
// tokens alone; on return, of the state before it.
template <bool before_update>
void go_back(const GradientCall& call, Segment& s, long long t, float* change) {
  const long long keys = call.keys, width = call.width;
  const float *old = s.state(call, t), *read = s.state(call, before_update ? t : t + 1);
  const float *v = s.v.data() + t * width, *d_o = s.d_o.data() + t * width;
  float* dv = s.dv.data() + t * width;
  float own = 0, score = 0;
  std::fill_n(dv, width, 0.0f);
  for (long long j = 0; before_update && j < width; ++j) own += d_o[j] * v[j];
  own *= call.p.scale;
  for (long long i = 0; i < keys; ++i) {
    const long long at = t * keys + i;
    const float query = call.p.scale * s.q[at], key = s.k[at], decay = s.e[at];
    const float *old_row = old + i * width, *read_row = read + i * width;
    float* row = change + i * width;
    float dq = 0, dk = 0, gate = 0;
#pragma omp simd reduction(+ : dq, dk, gate)
    for (long long j = 0; j < width; ++j) {
      const float behind = before_update ? row[j] : row[j] + query * d_o[j];
      dq += read_row[j] * d_o[j];
      dk += behind * v[j];
      gate += behind * old_row[j];
      dv[j] += behind * key;
      row[j] = before_update ? decay * behind + query * d_o[j] : decay * behind;
    }
    s.dq[at] = call.p.scale * dq;
    s.dk[at] = dk;
    s.dg[at] = decay * gate;
    if (!before_update) continue;
    s.dq[at] += s.bonus[i] * key * own;
    s.dk[at] += s.bonus[i] * s.q[at] * own;
    s.sums.bonus[i] += static_cast<double>(s.q[at] * key * own);
    score += s.bonus[i] * query * key;
  }
  for (long long j = 0; before_update && j < width; ++j) dv[j] += score * d_o[j];
}

void keep_states(const GradientCall& call, long long pair, const Pieces& pieces, Segment& s,
                 std::vector<float>& out) {
  const long long size = call.keys * call.width;
  float* kept = static_cast<float*>(call.p.work[0]);
  if (call.before_update) load_bonus(call, pair, s.bonus.data());
  load_initial(call, pair, 0, call.values, s.states.data());
  for (long long n = pieces.begin[pair]; n < pieces.begin[pair + 1]; ++n) {
    const Piece& piece = pieces.list[n];
    const Rows at = call.rows(pair, piece.first, piece.rows);
    std::copy_n(s.states.data(), size, kept + n * size);
    go_forwards(call, at, s);
    if (call.forms_outputs()) {
      for (long long t = 0; t < at.rows; ++t) read_state(call, s, t, out.data() + t * call.width);
      leave_outputs(call, at, out.data());
    }
    std::copy_n(s.state(call, at.rows), size, s.states.data());
  }
  if (call.trains()) store_final(call, pair, 0, call.values, s.states.data());
}

void walk_back(const GradientCall& call, long long pair, const Pieces& pieces, Segment& s,
               std::vector<float>& change) {
  const long long size = call.keys * call.width;
  const float* kept = static_cast<const float*>(call.p.work[0]);
  s.sums = HeadSums(call);
  if (call.before_update) load_bonus(call, pair, s.bonus.data());
  load_final_gradient(call, pair, change.data());
  for (long long n = pieces.begin[pair + 1]; n-- > pieces.begin[pair];) {
    const Piece& piece = pieces.list[n];
    const Rows at = call.rows(pair, piece.first, piece.rows);
    std::copy_n(kept + n * size, size, s.states.data());
    go_forwards(call, at, s);
    take_outputs(call, at);
    load_output_gradients(call, at, s.d_o.data());
    for (long long t = at.rows; t-- > 0;)
      (call.before_update ? go_back<true> : go_back<false>)(call, s, t, change.data());
    store_gradients(call, at,
                    {s.q.data(), s.k.data(), s.dq.data(), s.dk.data(), s.dv.data(), s.dg.data()},
                    s.sums.constant);
  }
  store_initial_gradient(call, pair, change.data());
  keep_sums(call, pair, s.sums);
}

long long longest_of(const Pieces& pieces) {
  long long longest = 0;
  for (const Piece& piece : pieces.list) longest = std::max(longest, piece.rows);
  return longest;
}

void forwards(const HostCall& host_call) {
  const GradientCall call(host_call);
  const Pieces pieces(call, segment_of(call.p.seq, host_call.tile));
#pragma omp parallel
  {
    Segment segment(call, longest_of(pieces));
    std::vector<float> out = scratch(call.forms_outputs() ? longest_of(pieces) * call.width : 0);
#pragma omp for schedule(dynamic)
    for (long long pair = 0; pair < call.pairs; ++pair)
      keep_states(call, pair, pieces, segment, out);
  }
}

void back(const HostCall& host_call) {
  const GradientCall call(host_call);
  const Pieces pieces(call, segment_of(call.p.seq, host_call.tile));
#pragma omp parallel
  {
    Segment segment(call, longest_of(pieces));
    std::vector<float> change = scratch(call.keys * call.width);
#pragma omp for schedule(dynamic)
    for (long long pair = 0; pair < call.pairs; ++pair)
      walk_back(call, pair, pieces, segment, change);
  }
  store_sums(call);
}

double kept_bytes(const Problem& problem, const Tile& tile) {
  return static_cast<double>(chunks(problem, segment_of(problem.shape.seq, tile))) *
         stored_state_bytes(problem);
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  return {{"kept", static_cast<std::size_t>(kept_bytes(problem, tile))}};
}

Traffic traffic(const Problem& problem, const Tile& tile) {
  const double kept = kept_bytes(problem, tile);
  // q, k, gates and v are read forwards and backwards; without a normalizer do only backwards.
  const double forwards = token_reads(problem) + value_bytes(problem);
  const Traffic outputs = output_traffic(problem);
  return {forwards + outputs.read_bytes + states_read(problem) + token_gradient_reads(problem) +
              states_written(problem) + kept,
          kept + outputs.write_bytes + gradient_bytes(problem)};
}

Traffic forwards_traffic(const Problem& problem, const Tile& tile) {
  return {token_reads(problem) + value_bytes(problem) + states_read(problem),
          kept_bytes(problem, tile) + outputs_left_bytes(problem)};
}

BackwardForm form() {
  return {
      "recurrent",
      "token by token, back from states that are kept every sqrt(T) tokens",
      {{"kept", {0, 16, 32, 128}, "tokens between kept states; 0: about sqrt(T), 64 at most"}},
      {"backward/recurrent.cpp"},
      traffic,
      [](const Problem& problem, const Tile&) {
        // The state twice, and 10KV for what comes of it and of its gradient, with the gates'.
        const double of_state = static_cast<double>(problem.shape.key_dim) * columns(problem);
        return tokens(problem) * of_state *
               (4 + 8 + (problem.op == "linear_attention" ? 0 : 2) + (trains(problem) ? 2 : 0));
      },
      workspace,
      [](const Problem& problem, const Tile&) { return static_cast<double>(sequences(problem)); },
      back,
      forwards,
      forwards_traffic};
}

}  // namespace

Variant host_backward_recurrent(const Member& member) {
  return backward_variant(member, form());
}

Variant host_training_recurrent(const Member& member) {
  return training_variant(member, form());
}

}  // namespace gla_bench::linear_recurrence
