// flash2: a task owns a block of keys. It walks over the queries that see these keys and recomputes
// P and dS. dk and dv belong to the task alone. Its parts of dq are added to float32 sums with
// atomic additions, in any order.
//
// flash2_deterministic: dk and dv are formed in the same way. A second walk, in which each task
// owns a block of queries, forms dq. So every sum has one owner and one order.

#include <algorithm>

#include "kernels/linear_recurrence/host/math.hpp"
#include "kernels/softmax_attention/host/gradients.hpp"
#include "kernels/softmax_attention/variants.hpp"

namespace gla_bench::softmax_attention {
namespace {

using namespace host;
using linear_recurrence::host::add_product;

constexpr int sums_region = 1;  // after the sums of dq

struct Blocks {
  long long queries, keys, query_count, key_count;

  Blocks(const Call& call, const Tile& tile)
      : queries(std::min<long long>(tile.at("block_q"), call.p.seq)),
        keys(std::min<long long>(tile.at("block_k"), call.p.key_seq)),
        query_count(ceil_div(call.p.seq, queries)),
        key_count(ceil_div(call.p.key_seq, keys)) {}
};

// Adds dS k of the tile to rows of the sums [B,H,T,K], to which other tasks add as well.
void add_atomically(const Call& call, const GradientTile& tile, std::vector<float>& part,
                    float* sums) {
  const ScoreTile& t = tile.scores;
  const long long keys = call.p.key_dim;
  std::fill_n(part.begin(), t.rows * keys, 0.0f);
  add_product(t.rows, keys, t.keys, tile.ds.data(), t.keys, 1, t.key_rows.data(), keys, part.data(),
              keys);
  float* to =
      sums + ((t.pair.batch * call.p.heads + t.pair.head) * call.p.seq + t.first_query) * keys;
  for (long long i = 0; i < t.rows * keys; ++i) {
#pragma omp atomic
    to[i] += part[i];
  }
}

// Adds row sums for the log decays' gradients, where several tasks share a row.
void add_rows_exclusively(const Call& call, const GradientTile& tile, const DecaySums& sums) {
#pragma omp critical(gla_bench_row_sums)
  sums.add_rows(call, tile.scores.pair, tile.scores.first_query, tile.scores.rows,
                tile.scores.first_key, tile.scores.keys, tile.ds.data());
}

// Forms dk and dv of a block of keys, and with `sums` (flash2) dq as well.
void walk_queries(const Call& call, const Blocks& blocks, const Pair& first_head, long long block,
                  GradientTile& tile, std::vector<float>& part, float* dq_sums,
                  const DecaySums& decays) {
  const long long first = block * blocks.keys,
                  count = std::min(blocks.keys, call.p.key_seq - first);
  const long long keys = call.p.key_dim, values = call.p.value_dim;
  std::vector<float> dk = scratch(count * keys), dv = scratch(count * values);
  for (long long head = first_head.head; head < first_head.head + call.group; ++head) {
    const Pair at{first_head.batch, head};
    tile.load_keys(at, first, count);
    const long long start = call.first_query(first) / blocks.queries * blocks.queries;
    for (long long query = start; query < call.p.seq; query += blocks.queries) {
      const long long rows = std::min(blocks.queries, call.p.seq - query);
      tile.load_queries(at, query, rows);
      tile.form();
      const float *p = tile.scores.scores.data(), *ds = tile.ds.data();
      add_product(count, values, rows, p, 1, count, tile.d_o.data(), values, dv.data(), values);
      add_product(count, keys, rows, ds, 1, count, tile.scores.q.data(), keys, dk.data(), keys);
      if (call.decay != Decay::none) decays.add_columns(call, at, rows, first, count, ds);
      if (!dq_sums) continue;
      add_atomically(call, tile, part, dq_sums);
      if (call.decay != Decay::none) add_rows_exclusively(call, tile, decays);
    }
  }
  store_key_gradients(call, first_head, first, count, dk.data(), dv.data());
}

// Forms dq of a block of queries.
void walk_keys(const Call& call, const Blocks& blocks, const Pair& at, long long block,
               GradientTile& tile, std::vector<float>& dq, const DecaySums& decays) {
  const long long first = block * blocks.queries,
                  rows = std::min(blocks.queries, call.p.seq - first);
  const long long keys = call.p.key_dim;
  std::fill_n(dq.begin(), rows * keys, 0.0f);
  tile.load_queries(at, first, rows);
  for (long long key = 0; key < call.seen(first + rows - 1); key += blocks.keys) {
    const long long count = std::min(blocks.keys, call.p.key_seq - key);
    tile.load_keys(at, key, count);
    tile.form();
    add_product(rows, keys, count, tile.ds.data(), count, 1, tile.scores.key_rows.data(), keys,
                dq.data(), keys);
    if (call.decay != Decay::none)
      decays.add_rows(call, at, first, rows, key, count, tile.ds.data());
  }
  store_query_gradients(call, at, first, rows, dq.data());
}

void round_query_sums(const Call& call, const float* sums) {
#pragma omp parallel for schedule(static)
  for (long long pair = 0; pair < call.pairs; ++pair)
    store_query_gradients(call, call.pair(pair), 0, call.p.seq,
                          sums + pair * call.p.seq * call.p.key_dim);
}

void run(const Call& call, const Tile& sizes, bool deterministic) {
  const Biases biases(call);
  const Blocks blocks(call, sizes);
  float* dq_sums = deterministic ? nullptr : static_cast<float*>(call.p.work[0]);
  if (dq_sums) std::fill_n(dq_sums, call.pairs * call.p.seq * call.p.key_dim, 0.0f);
  const DecaySums decays = decay_sums(call, deterministic ? 0 : sums_region);
  const long long key_pairs = call.p.batch * call.p.key_heads;
#pragma omp parallel
  {
    GradientTile tile(call, biases, blocks.queries, blocks.keys);
    std::vector<float> part = scratch(blocks.queries * call.p.key_dim);
#pragma omp for schedule(dynamic) nowait
    for (long long task = 0; task < key_pairs * blocks.key_count; ++task) {
      const long long pair = task % key_pairs;
      const Pair at{pair / call.p.key_heads, pair % call.p.key_heads * call.group};
      walk_queries(call, blocks, at, task / key_pairs, tile, part, dq_sums, decays);
    }
    const long long tasks = deterministic ? call.pairs * blocks.query_count : 0;
#pragma omp for schedule(dynamic)
    for (long long task = 0; task < tasks; ++task)
      walk_keys(call, blocks, call.pair(task % call.pairs),
                blocks.query_count - 1 - task / call.pairs, tile, part, decays);
  }
  if (dq_sums) round_query_sums(call, dq_sums);
  store_decay_gradients(call, decays);
}

double elements(const Problem& problem) {
  return query_rows(problem) * static_cast<double>(problem.shape.key_dim);
}

std::vector<Region> workspace(const Problem& problem, bool deterministic) {
  std::vector<Region> regions = decay_sum_regions(problem);
  if (!deterministic) regions.insert(regions.begin(), floats("dq_sums", elements(problem)));
  return regions;
}

Traffic traffic(const Problem& problem, const Tile& tile, bool deterministic) {
  const Shape& s = problem.shape;
  const auto io = static_cast<double>(size_of(problem.dtype));
  const auto k = static_cast<double>(s.key_dim), v = static_cast<double>(s.value_dim);
  const double pairs_formed = block_pairs(problem, tile.at("block_q"), tile.at("block_k"));
  // A block of keys reads q, do and o of the queries that see it. A block of queries reads k and v.
  const double queries_read =
      pairs_formed / std::min<double>(tile.at("block_k"), static_cast<double>(s.keys_seq()));
  const double keys_read =
      pairs_formed / std::min<double>(tile.at("block_q"), static_cast<double>(s.seq));
  const double key_walk = queries_read * ((k + 2 * v) * io + 4) + key_bytes(problem) +
                          value_bytes(problem) + 2 * decay_bytes(problem);
  const double query_walk = keys_read * (k + v) * io + query_bytes(problem) +
                            2 * output_bytes(problem) + lse_bytes(problem) +
                            2 * decay_bytes(problem);
  const double sums =
      decay_of(problem) == Decay::none ? 0 : 4 * (2 * query_rows(problem) + decay_rows(problem));
  const double added = deterministic ? 0 : 4 * k * queries_read + 4 * elements(problem);
  return {key_walk + (deterministic ? query_walk : 0) + added + sums,
          query_bytes(problem) + key_bytes(problem) + value_bytes(problem) + added + sums +
              decay_gradient_bytes(problem)};
}

double flops(const Problem& problem, const Tile& tile, bool deterministic) {
  const auto k = static_cast<double>(problem.shape.key_dim);
  const auto v = static_cast<double>(problem.shape.value_dim);
  return 2 * block_pairs(problem, tile.at("block_q"), tile.at("block_k")) *
         (deterministic ? 4 * k + 3 * v : 3 * k + 2 * v);
}

Variant flash(std::string_view op, const char* name, const char* summary, bool deterministic) {
  return make_variant(
      op, Direction::backward,
      {name,
       summary,
       {{"block_q", {64, 32}, "queries of a block"}, {"block_k", {64, 32}, "keys of a block"}},
       {"softmax_attention/host/backward.cpp", "softmax_attention/host/gradients.cpp",
        "softmax_attention/host/tile.cpp", "softmax_attention/host/rows.cpp"},
       [=](const Problem& problem, const Tile& tile) {
         return traffic(problem, tile, deterministic);
       },
       [=](const Problem& problem, const Tile& tile) {
         return flops(problem, tile, deterministic);
       },
       [=](const Problem& problem, const Tile&) { return workspace(problem, deterministic); },
       [=](const HostCall& host_call) {
         for_each_sequence(host_call,
                           [&](const Call& call) { run(call, host_call.tile, deterministic); });
       }});
}

}  // namespace

Variant host_backward_flash2(std::string_view op) {
  Variant variant =
      flash(op, "flash2", "P recomputed per block of keys, dq by atomic additions", false);
  variant.reproducible = false;
  return variant;
}

Variant host_backward_flash2_deterministic(std::string_view op) {
  return flash(op, "flash2_deterministic", "P recomputed per block, twice: every sum in one order",
               true);
}

}  // namespace gla_bench::softmax_attention
