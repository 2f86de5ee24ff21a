// The recurrence as it is defined, one token after the other.
//
// A task owns one (sequence, head) pair and block_v columns of the state, which stay in the core's
// own cache. q, k and the gates are read once for each block of columns, v and o once. Decays are
// multiplied only into the state, never with one another.

#include <algorithm>

#include "kernels/linear_recurrence/host/rows.hpp"
#include "kernels/linear_recurrence/host/variant.hpp"
#include "kernels/linear_recurrence/variants.hpp"

namespace gla_bench::linear_recurrence {
namespace {

using namespace host;

constexpr long long tokens_at_once = 16;  // rows widened together

struct Buffers {
  std::vector<float> q, k, e, v, o, state, bonus;
  Buffers(const Call& call, long long width)
      : q(scratch(tokens_at_once * call.keys)),
        k(q),
        e(q),
        v(scratch(tokens_at_once * width)),
        o(v),
        state(scratch(call.keys * width)),
        bonus(scratch(call.keys)) {}
};

// The operands of one token.
struct Token {
  const float *q, *k, *decay, *v;
  float* o;
};

// o = scale S^T q after S = diag(decay) S + k v^T.
void step_after(const Call& call, long long width, const Token& token, float* state) {
  std::fill_n(token.o, width, 0.0f);
  for (long long i = 0; i < call.keys; ++i) {
    float* row = state + i * width;
    const float factor = token.decay[i], key = token.k[i], query = token.q[i];
#pragma omp simd
    for (long long j = 0; j < width; ++j) {
      row[j] = factor * row[j] + key * token.v[j];
      token.o[j] += query * row[j];
    }
  }
  for (long long j = 0; j < width; ++j) token.o[j] *= call.p.scale;
}

// o = scale (S + diag(u) k v^T)^T q, then S = diag(decay) S + k v^T.
void step_before(const Call& call, long long width, const Token& token, const float* bonus,
                 float* state) {
  std::fill_n(token.o, width, 0.0f);
  float own = 0;
  for (long long i = 0; i < call.keys; ++i) {
    float* row = state + i * width;
    const float factor = token.decay[i], key = token.k[i], query = token.q[i];
    own += query * bonus[i] * key;
#pragma omp simd
    for (long long j = 0; j < width; ++j) {
      token.o[j] += query * row[j];
      row[j] = factor * row[j] + key * token.v[j];
    }
  }
  for (long long j = 0; j < width; ++j) token.o[j] = call.p.scale * (token.o[j] + own * token.v[j]);
}

void walk(const Call& call, long long pair, long long column, long long columns, Buffers& b) {
  const long long width = columns + call.extra, tokens = call.length(pair);
  load_initial(call, pair, column, columns, b.state.data());
  if (call.before_update) load_bonus(call, pair, b.bonus.data());
  for (long long first = 0; first < tokens; first += tokens_at_once) {
    const Rows at{pair, first, std::min(tokens_at_once, tokens - first), column, columns};
    load_queries(call, at, b.q.data());
    load_keys(call, at, b.k.data());
    load_decays(call, at, b.e.data());
    load_values(call, at, b.v.data());
    for (long long t = 0; t < at.rows; ++t) {
      const long long key = t * call.keys, value = t * width;
      const Token token{b.q.data() + key, b.k.data() + key, b.e.data() + key, b.v.data() + value,
                        b.o.data() + value};
      if (call.before_update)
        step_before(call, width, token, b.bonus.data(), b.state.data());
      else
        step_after(call, width, token, b.state.data());
      store_between(call, pair, first + t + 1, column, columns, b.state.data());
    }
    store_outputs(call, at, b.o.data());
  }
  store_final(call, pair, column, columns, b.state.data());
}

void run(const HostCall& host_call) {
  const Call call(host_call);
  const long long width = host_call.tile.at("block_v");
  const long long blocks = ceil_div(call.values, width);
#pragma omp parallel
  {
    Buffers buffers(call, std::min<long long>(width, call.values) + call.extra);
#pragma omp for schedule(dynamic)
    for (long long task = 0; task < call.pairs * blocks; ++task) {
      const long long column = task % blocks * width;
      walk(call, task / blocks, column, std::min(width, call.values - column), buffers);
    }
  }
}

}  // namespace

Variant host_recurrent(const Member& member) {
  Variant variant =
      make_variant(member, "recurrent", "token by token, a block of the state in the core's cache",
                   {{"block_v", {64, 32, 128, 256}, "columns of the state that a task owns"}}, run,
                   {"linear_recurrence/host/recurrent.cpp", "linear_recurrence/host/rows.cpp"});
  variant.traffic = [](const Problem& problem, const Tile& tile) -> Traffic {
    const auto blocks = static_cast<double>(value_blocks(problem, tile));
    return {blocks * token_reads(problem) + value_bytes(problem) + states_read(problem),
            value_bytes(problem) + states_written(problem)};
  };
  variant.flops = [](const Problem& problem, const Tile&) {
    return 4 * tokens(problem) * static_cast<double>(problem.shape.key_dim) * columns(problem);
  };
  return variant;
}

}  // namespace gla_bench::linear_recurrence
