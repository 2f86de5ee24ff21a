// The recurrence as it is defined, one token after the other.
//
// A task owns one (batch, head) pair and block_v columns of the state, which stay in the core's own
// cache: q, k and g are read once for each block of columns, v and o once. No products of decays
// are formed beyond the one with the state.

#include <algorithm>

#include "kernels/linear_recurrence/host_math.hpp"
#include "kernels/linear_recurrence/host_rows.hpp"
#include "kernels/linear_recurrence/host_variant.hpp"
#include "kernels/linear_recurrence/variants.hpp"

namespace gla_bench::linear_recurrence {
namespace {

using namespace host;

constexpr long long tokens_at_once = 16;  // rows widened together

struct Buffers {
  std::vector<float> q, k, g, v, o, state;
  Buffers(const Call& call, long long columns)
      : q(scratch(tokens_at_once * call.keys)),
        k(q),
        g(q),
        v(scratch(tokens_at_once * columns)),
        o(v),
        state(scratch(call.keys * columns)) {}
};

// o = scale S^T q after S = diag(decay) S + k v^T.
void step(long long keys, long long columns, const float* q, const float* k, const float* decay,
          const float* v, float scale, float* state, float* o) {
  std::fill_n(o, columns, 0.0f);
  for (long long i = 0; i < keys; ++i) {
    float* row = state + i * columns;
    const float factor = decay[i], key = k[i], query = q[i];
#pragma omp simd
    for (long long j = 0; j < columns; ++j) {
      row[j] = factor * row[j] + key * v[j];
      o[j] += query * row[j];
    }
  }
  for (long long j = 0; j < columns; ++j) o[j] *= scale;
}

void walk(const Call& call, long long pair, long long column, long long columns, Buffers& b) {
  const LinearRecurrenceParams& p = call.p;
  load_state(call, p.initial_state, pair, column, columns, b.state.data());
  for (long long first = 0; first < p.seq; first += tokens_at_once) {
    const long long rows = std::min(tokens_at_once, p.seq - first);
    const Rows keys{pair, first, rows, 0, call.keys}, values{pair, first, rows, column, columns};
    load(call, p.q, p.key_strides, keys, b.q.data());
    load(call, p.k, p.key_strides, keys, b.k.data());
    load(call, p.g, p.key_strides, keys, b.g.data());
    load(call, p.v, p.value_strides, values, b.v.data());
    for (long long i = 0; i < rows * call.keys; ++i) b.g[i] = exp_of_gate(b.g[i]);
    for (long long t = 0; t < rows; ++t) {
      const long long at = t * call.keys;
      step(call.keys, columns, b.q.data() + at, b.k.data() + at, b.g.data() + at,
           b.v.data() + t * columns, p.scale, b.state.data(), b.o.data() + t * columns);
    }
    store(call, p.o, p.value_strides, values, b.o.data());
  }
  store_state(call, p.final_state, pair, column, columns, b.state.data());
}

void run(const HostCall& host_call) {
  const Call call(host_call);
  const long long width = host_call.tile.at("block_v");
  const long long blocks = ceil_div(call.values, width);
#pragma omp parallel
  {
    Buffers buffers(call, std::min<long long>(width, call.values));
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
                   {"linear_recurrence/host_recurrent.cpp", "linear_recurrence/host_rows.cpp"});
  variant.traffic = [](const Problem& problem, const Tile& tile) -> Traffic {
    const auto blocks = static_cast<double>(value_blocks(problem, tile));
    return {blocks * 3 * key_bytes(problem) + value_bytes(problem) + states_read(problem),
            value_bytes(problem) + states_written(problem)};
  };
  variant.flops = [](const Problem& problem, const Tile&) {
    return 4 * tokens(problem) * static_cast<double>(problem.shape.key_dim) *
           static_cast<double>(problem.shape.value_dim);
  };
  return variant;
}

}  // namespace gla_bench::linear_recurrence
