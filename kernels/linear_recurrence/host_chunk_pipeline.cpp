// The five steps of the chunk form, each a pass of its own over intermediates in memory:
//
// 1. decay_cumsum: sums of the gates from the chunk's start to each token (b) and from behind each
//    token to the chunk's end (bn - b, summed on its own: the difference of two long sums would
//    have lost the digits that count, and -inf - -inf is none).
// 2. prepare_qg_kg: qg = scale q e^b, kg = k e^(bn-b).
// 3. inter_chunk: the walk over the chunks, o = qg S, S = e^bn S + kg^T v.
// 4. intra_chunk: the scores A of each chunk's own tokens.
// 5. combine: o += A v, rounded to the dtype.
//
// Intermediates are float32 with pairs first: b, bn - b, qg, kg [B*H, T, K], o [B*H, T, V] and A
// [B*H, T, chunk].

#include <algorithm>

#include "kernels/linear_recurrence/host_chunk.hpp"
#include "kernels/linear_recurrence/host_math.hpp"
#include "kernels/linear_recurrence/host_variant.hpp"
#include "kernels/linear_recurrence/variants.hpp"

namespace gla_bench::linear_recurrence {
namespace {

using namespace host;

struct Pipeline {
  const Call& call;
  long long length, count, width;
  float *to_start, *to_end, *qg, *kg, *inter, *scores;

  Pipeline(const Call& c, const Tile& tile)
      : call(c),
        length(tile.at("chunk")),
        count(ceil_div(c.p.seq, length)),
        width(std::min<long long>(tile.at("block_v"), c.values)),
        to_start(static_cast<float*>(c.p.work[0])),
        to_end(static_cast<float*>(c.p.work[1])),
        qg(static_cast<float*>(c.p.work[2])),
        kg(static_cast<float*>(c.p.work[3])),
        inter(static_cast<float*>(c.p.work[4])),
        scores(static_cast<float*>(c.p.work[5])) {}

  // Tokens of a chunk with `columns` columns.
  Rows rows(long long pair, long long chunk, long long columns) const {
    return {pair, chunk * length, std::min(length, call.p.seq - chunk * length), 0, columns};
  }
  // Start of those rows in a float32 intermediate.
  long long start(const Rows& at) const { return (at.pair * call.p.seq + at.first) * at.columns; }
};

// Runs step(rows of q, k or g) for every chunk of every pair.
template <class Step>
void for_each_chunk(const Pipeline& p, Step step) {
#pragma omp parallel for schedule(static)
  for (long long task = 0; task < p.call.pairs * p.count; ++task)
    step(p.rows(task / p.count, task % p.count, p.call.keys));
}

void decay_cumsum(const Pipeline& p) {
  for_each_chunk(p, [&](const Rows& at) {
    const long long keys = p.call.keys;
    float* sum = p.to_start + p.start(at);
    float* left = p.to_end + p.start(at);
    load(p.call, p.call.p.g, p.call.p.key_strides, at, sum);
    std::fill_n(left + (at.rows - 1) * keys, keys, 0.0f);
    for (long long t = at.rows - 2; t >= 0; --t)
      for (long long i = 0; i < keys; ++i)
        left[t * keys + i] = left[(t + 1) * keys + i] + sum[(t + 1) * keys + i];
    for (long long t = 1; t < at.rows; ++t)
      for (long long i = 0; i < keys; ++i) sum[t * keys + i] += sum[(t - 1) * keys + i];
  });
}

void prepare_qg_kg(const Pipeline& p) {
  for_each_chunk(p, [&](const Rows& at) {
    const long long start = p.start(at), elements = at.rows * at.columns;
    float *qg = p.qg + start, *kg = p.kg + start;
    const float *sum = p.to_start + start, *left = p.to_end + start;
    load(p.call, p.call.p.q, p.call.p.key_strides, at, qg);
    load(p.call, p.call.p.k, p.call.p.key_strides, at, kg);
    for (long long i = 0; i < elements; ++i) {
      qg[i] *= p.call.p.scale * without_dust(exp_of_gate(sum[i]));
      kg[i] *= without_dust(exp_of_gate(left[i]));
    }
  });
}

void walk(const Pipeline& p, long long pair, long long column, long long columns, float* state,
          float* v, float* o) {
  const Call& call = p.call;
  const long long keys = call.keys;
  std::vector<float> whole = scratch(keys);
  load_state(call, call.p.initial_state, pair, column, columns, state);
  for (long long chunk = 0; chunk < p.count; ++chunk) {
    const Rows at = p.rows(pair, chunk, keys);
    const float* last = p.to_start + p.start(at) + (at.rows - 1) * keys;
    for (long long i = 0; i < keys; ++i) whole[i] = exp_of_gate(last[i]);
    load(call, call.p.v, call.p.value_strides, {pair, at.first, at.rows, column, columns}, v);
    std::fill_n(o, at.rows * columns, 0.0f);
    add_product(at.rows, columns, keys, p.qg + p.start(at), keys, 1, state, columns, o, columns);
    decay_state(keys, columns, whole.data(), state);
    add_product(keys, columns, at.rows, p.kg + p.start(at), 1, keys, v, columns, state, columns);
    float* out = p.inter + (pair * call.p.seq + at.first) * call.values + column;
    for (long long t = 0; t < at.rows; ++t)
      std::copy_n(o + t * columns, columns, out + t * call.values);
  }
  store_state(call, call.p.final_state, pair, column, columns, state);
}

void inter_chunk(const Pipeline& p) {
  const long long blocks = ceil_div(p.call.values, p.width);
#pragma omp parallel
  {
    std::vector<float> state = scratch(p.call.keys * p.width);
    std::vector<float> v = scratch(std::min(p.length, p.call.p.seq) * p.width), o(v);
#pragma omp for schedule(dynamic)
    for (long long task = 0; task < p.call.pairs * blocks; ++task) {
      const long long column = task % blocks * p.width;
      walk(p, task / blocks, column, std::min(p.width, p.call.values - column), state.data(),
           v.data(), o.data());
    }
  }
}

void intra_chunk(const Pipeline& p) {
#pragma omp parallel
  {
    const long long keys = p.call.keys;
    std::vector<float> q = scratch(std::min(p.length, p.call.p.seq) * keys), k(q), e(q);
    std::vector<float> carried = scratch(keys);
#pragma omp for schedule(static)
    for (long long task = 0; task < p.call.pairs * p.count; ++task) {
      const Rows at = p.rows(task / p.count, task % p.count, keys);
      load(p.call, p.call.p.q, p.call.p.key_strides, at, q.data());
      load(p.call, p.call.p.k, p.call.p.key_strides, at, k.data());
      load(p.call, p.call.p.g, p.call.p.key_strides, at, e.data());
      exponentiate(at.rows, keys, e.data());
      float* a = p.scores + (at.pair * p.call.p.seq + at.first) * p.length;
      host::scores(at.rows, keys, q.data(), k.data(), e.data(), p.call.p.scale, a, p.length,
                   carried.data());
    }
  }
}

void combine(const Pipeline& p) {
#pragma omp parallel
  {
    std::vector<float> v = scratch(std::min(p.length, p.call.p.seq) * p.call.values);
#pragma omp for schedule(static)
    for (long long task = 0; task < p.call.pairs * p.count; ++task) {
      const Rows at = p.rows(task / p.count, task % p.count, p.call.values);
      const float* a = p.scores + (at.pair * p.call.p.seq + at.first) * p.length;
      float* o = p.inter + p.start(at);
      load(p.call, p.call.p.v, p.call.p.value_strides, at, v.data());
      add_lower_product(at.rows, at.columns, a, p.length, v.data(), o);
      store(p.call, p.call.p.o, p.call.p.value_strides, at, o);
    }
  }
}

void run(const HostCall& host_call) {
  const Call call(host_call);
  const Pipeline pipeline(call, host_call.tile);
  decay_cumsum(pipeline);
  prepare_qg_kg(pipeline);
  inter_chunk(pipeline);
  intra_chunk(pipeline);
  combine(pipeline);
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  const auto keys =
      static_cast<std::size_t>(float_rows(problem, static_cast<double>(problem.shape.key_dim)));
  const auto values =
      static_cast<std::size_t>(float_rows(problem, static_cast<double>(problem.shape.value_dim)));
  const auto scores = static_cast<std::size_t>(float_rows(problem, tile.at("chunk")));
  return {{"gates_to_start", keys}, {"gates_to_end", keys}, {"qg", keys}, {"kg", keys},
          {"inter", values},        {"scores", scores}};
}

Traffic traffic(const Problem& problem, const Tile& tile) {
  const auto blocks = static_cast<double>(value_blocks(problem, tile));
  const double chunk = tile.at("chunk");
  const double keys = float_rows(problem, static_cast<double>(problem.shape.key_dim));
  const double values = float_rows(problem, static_cast<double>(problem.shape.value_dim));
  const double scores = float_rows(problem, chunk), last = keys / chunk;
  const double k = key_bytes(problem), v = value_bytes(problem);
  Traffic total;
  total.read_bytes = k                   // decay_cumsum: g
                     + 2 * k + 2 * keys  // prepare_qg_kg: q, k, both sums
                     + blocks * (2 * keys + last) + v + states_read(problem)  // inter_chunk
                     + 3 * k                 // intra_chunk: q, k, g
                     + scores + v + values;  // combine
  total.write_bytes = 2 * keys + 2 * keys + values + states_written(problem) + scores + v;
  return total;
}

}  // namespace

Variant host_chunk_pipeline(const Member& member) {
  Variant variant =
      make_variant(member, "chunk_pipeline",
                   "decay cumsum, q/k preparation, inter-chunk walk, scores, combination",
                   {{"chunk", {16, 32, 64}, "tokens of a chunk"},
                    {"block_v", {64, 32, 128}, "columns of the state in the walk over chunks"}},
                   run,
                   {"linear_recurrence/host_chunk_pipeline.cpp", "linear_recurrence/host_chunk.cpp",
                    "linear_recurrence/host_rows.cpp"});
  variant.workspace = workspace;
  variant.bind = [](const Problem& problem, const Tile& tile, const Address& address) {
    return linear_recurrence::bind(problem, address, workspace(problem, tile));
  };
  variant.traffic = traffic;
  variant.flops = [](const Problem& problem, const Tile& tile) {
    return chunk_flops(problem, tile.at("chunk"));
  };
  return variant;
}

}  // namespace gla_bench::linear_recurrence
