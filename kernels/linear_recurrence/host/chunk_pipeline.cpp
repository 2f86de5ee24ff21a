// The five steps of the chunk form. Each is a pass of its own over intermediates in memory.
//
//   1. decay_cumsum: sums of the gates from the chunk's start to each token (b), and from after
//      each token to the chunk's end (bn - b). The latter are summed separately: the difference of
//      two long sums would lose the digits that count, and -inf - -inf is not a number.
//   2. prepare_qg_kg: qg = scale q e^b, kg = k e^(bn-b).
//   3. inter_chunk: the walk over the chunks, o = qg S, S = e^bn S + kg^T v.
//   4. intra_chunk: the scores A of each chunk's own tokens.
//   5. combine: o += A v, rounded to the dtype.
//
// Intermediates are float32 with pairs first: b, bn - b, qg, kg [B*H, T, K], o [B*H, T, V] and A
// [B*H, T, chunk].

#include <algorithm>

#include "kernels/linear_recurrence/host/chunk.hpp"
#include "kernels/linear_recurrence/host/math.hpp"
#include "kernels/linear_recurrence/host/variant.hpp"
#include "kernels/linear_recurrence/variants.hpp"

namespace gla_bench::linear_recurrence {
namespace {

using namespace host;

struct Pipeline {
  const Call& call;
  long long length, width;
  Pieces pieces;
  float *to_start, *to_end, *qg, *kg, *inter, *scores;

  Pipeline(const Call& c, const Tile& tile)
      : call(c),
        length(tile.at("chunk")),
        width(std::min<long long>(tile.at("block_v"), c.values)),
        pieces(c, length),
        to_start(static_cast<float*>(c.p.work[0])),
        to_end(static_cast<float*>(c.p.work[1])),
        qg(static_cast<float*>(c.p.work[2])),
        kg(static_cast<float*>(c.p.work[3])),
        inter(static_cast<float*>(c.p.work[4])),
        scores(static_cast<float*>(c.p.work[5])) {}

  long long longest() const { return std::min(length, call.longest()); }
  // The tokens of a chunk and all columns of v.
  Rows rows(const Piece& chunk) const {
    return {chunk.pair, chunk.first, chunk.rows, 0, call.values};
  }
  // Offset of a chunk in a float32 intermediate with `columns` columns.
  long long start(const Piece& chunk, long long columns) const {
    return call.row(chunk.pair, chunk.first) * columns;
  }
};

// Runs step(chunk) for every chunk of every pair.
template <class Step>
void for_each_chunk(const Pipeline& p, Step step) {
#pragma omp parallel for schedule(static)
  for (long long number = 0; number < p.pieces.count(); ++number) step(p.pieces.list[number]);
}

void decay_cumsum(const Pipeline& p) {
  for_each_chunk(p, [&](const Piece& chunk) {
    const long long keys = p.call.keys;
    float* sum = p.to_start + p.start(chunk, keys);
    float* left = p.to_end + p.start(chunk, keys);
    load_log_decays(p.call, p.rows(chunk), sum);
    std::fill_n(left + (chunk.rows - 1) * keys, keys, 0.0f);
    for (long long t = chunk.rows - 2; t >= 0; --t)
      for (long long i = 0; i < keys; ++i)
        left[t * keys + i] = left[(t + 1) * keys + i] + sum[(t + 1) * keys + i];
    for (long long t = 1; t < chunk.rows; ++t)
      for (long long i = 0; i < keys; ++i) sum[t * keys + i] += sum[(t - 1) * keys + i];
  });
}

void prepare_qg_kg(const Pipeline& p) {
  for_each_chunk(p, [&](const Piece& chunk) {
    const long long start = p.start(chunk, p.call.keys), elements = chunk.rows * p.call.keys;
    float *qg = p.qg + start, *kg = p.kg + start;
    const float *sum = p.to_start + start, *left = p.to_end + start;
    load_queries(p.call, p.rows(chunk), qg);
    load_keys(p.call, p.rows(chunk), kg);
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
  load_initial(call, pair, column, columns, state);
  for (long long number = p.pieces.begin[pair]; number < p.pieces.begin[pair + 1]; ++number) {
    const Piece& chunk = p.pieces.list[number];
    const float *qg = p.qg + p.start(chunk, keys), *kg = p.kg + p.start(chunk, keys);
    const float* last = p.to_start + p.start(chunk, keys) + (chunk.rows - 1) * keys;
    for (long long i = 0; i < keys; ++i) whole[i] = exp_of_gate(last[i]);
    load_values(call, {pair, chunk.first, chunk.rows, column, columns}, v);
    std::fill_n(o, chunk.rows * columns, 0.0f);
    add_product(chunk.rows, columns, keys, qg, keys, 1, state, columns, o, columns);
    decay_state(keys, columns, whole.data(), state);
    add_product(keys, columns, chunk.rows, kg, 1, keys, v, columns, state, columns);
    store_between(call, pair, chunk.first + chunk.rows, column, columns, state);
    copy_rectangle(chunk.rows, columns, o, columns, p.inter + p.start(chunk, call.values) + column,
                   call.values);
  }
  store_final(call, pair, column, columns, state);
}

void inter_chunk(const Pipeline& p) {
  const long long blocks = ceil_div(p.call.values, p.width);
#pragma omp parallel
  {
    std::vector<float> state = scratch(p.call.keys * p.width);
    std::vector<float> v = scratch(p.longest() * p.width), o(v);
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
    std::vector<float> q = scratch(p.longest() * keys), k(q), e(q), carried = scratch(keys);
#pragma omp for schedule(static)
    for (long long number = 0; number < p.pieces.count(); ++number) {
      const Piece& chunk = p.pieces.list[number];
      load_queries(p.call, p.rows(chunk), q.data());
      load_keys(p.call, p.rows(chunk), k.data());
      load_decays(p.call, p.rows(chunk), e.data());
      host::scores(p.call, chunk.rows, q.data(), k.data(), e.data(), nullptr,
                   p.scores + p.start(chunk, p.length), p.length, carried.data());
    }
  }
}

void combine(const Pipeline& p) {
#pragma omp parallel
  {
    std::vector<float> v = scratch(p.longest() * p.call.values);
#pragma omp for schedule(static)
    for (long long number = 0; number < p.pieces.count(); ++number) {
      const Piece& chunk = p.pieces.list[number];
      float* o = p.inter + p.start(chunk, p.call.values);
      load_values(p.call, p.rows(chunk), v.data());
      add_lower_product(chunk.rows, p.call.values, p.scores + p.start(chunk, p.length), p.length,
                        v.data(), o);
      store_outputs(p.call, p.rows(chunk), o);
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
  total.read_bytes = k + small_bytes(problem)  // decay_cumsum: g
                     + 2 * k + 2 * keys        // prepare_qg_kg: q, k, both sums
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
                   {"linear_recurrence/host/chunk_pipeline.cpp", "linear_recurrence/host/chunk.cpp",
                    "linear_recurrence/host/rows.cpp"});
  variant.reject = refuse_chunk_form;
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
