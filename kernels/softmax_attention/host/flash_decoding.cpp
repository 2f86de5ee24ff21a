// flash_decoding and flash_decoding_pp: for few queries and many keys, the keys are split over
// tasks as well. Each task leaves its part of the output and its log-sum-exp. A second step merges
// the parts. The pp form uses a fixed reference of 0 instead of a running maximum, so it takes
// exponentials of the scores as they are. Where these leave the range of float32, it repeats the
// part with a running maximum.

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/linear_recurrence/host/math.hpp"
#include "kernels/softmax_attention/host/tile.hpp"
#include "kernels/softmax_attention/host/variant.hpp"
#include "kernels/softmax_attention/variants.hpp"

namespace gla_bench::softmax_attention {
namespace {

using namespace host;
using linear_recurrence::host::add_product;
using linear_recurrence::host::exp_of_gate;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr long long block_q = 16, block_k = 64;

// The range in which a row's largest score must lie for a reference of 0. Then sums stay finite,
// and the terms that exp_of_gate cuts off (below -80) are negligible beside the rest.
constexpr float highest = 60, lowest = -40;

// How the keys are divided into splits of whole blocks.
struct Split {
  long long length, count;

  Split(const Call& call, long long splits)
      : length(ceil_div(ceil_div(call.p.key_seq, splits), block_k) * block_k),
        count(ceil_div(call.p.key_seq, length)) {}
};

void walk(ScoreTile& tile, Running& running, long long first, long long end) {
  running.clear(tile.rows);
  for (long long key = first; key < end; key += block_k) {
    tile.load_keys(tile.pair, key, std::min(block_k, end - key));
    tile.score();
    running.add(tile);
  }
}

// The same walk with weights relative to 0. Returns false where a row's scores leave the range.
bool walk_fixed(ScoreTile& tile, Running& running, long long first, long long end) {
  running.clear(tile.rows);
  for (long long key = first; key < end; key += block_k) {
    tile.load_keys(tile.pair, key, std::min(block_k, end - key));
    tile.score();
    for (long long r = 0; r < tile.rows; ++r) {
      float* row = tile.scores.data() + r * tile.keys;
      running.most[r] = std::max(running.most[r], *std::max_element(row, row + tile.keys));
      if (running.most[r] > highest) return false;
      for (long long j = 0; j < tile.keys; ++j) row[j] = exp_of_gate(row[j]);
      for (long long j = 0; j < tile.keys; ++j) running.sums[r] += row[j];
    }
    add_product(tile.rows, running.values, tile.keys, tile.scores.data(), tile.keys, 1,
                tile.v.data(), running.values, running.o.data(), running.values);
  }
  for (long long r = 0; r < tile.rows; ++r) {
    if (running.most[r] != -infinity && running.most[r] < lowest) return false;
    running.most[r] = 0;
  }
  return true;
}

// Fills work with the parts of o [pairs, splits, T, V] and their lse [pairs, splits, T].
void form_parts(const Call& call, const Split& split, bool fixed) {
  const Biases biases(call);
  const long long blocks = ceil_div(call.p.seq, block_q);
  auto *outputs = static_cast<float*>(call.p.work[0]), *lses = static_cast<float*>(call.p.work[1]);
#pragma omp parallel
  {
    ScoreTile tile(call, biases, block_q, block_k);
    Running running(call, block_q, false);
#pragma omp for schedule(dynamic)
    for (long long task = 0; task < call.pairs * blocks * split.count; ++task) {
      const long long part = task % split.count, pair = task / split.count / blocks;
      const long long first = task / split.count % blocks * block_q;
      const long long count = std::min(block_q, call.p.seq - first);
      const long long key = part * split.length;
      const long long end = std::min(key + split.length, call.seen(first + count - 1));
      tile.load_queries(call.pair(pair), first, count);
      if (!fixed || !walk_fixed(tile, running, key, end)) walk(tile, running, key, end);
      running.finish(count);
      const long long row = (pair * split.count + part) * call.p.seq + first;
      std::copy_n(running.o.data(), count * running.values, outputs + row * running.values);
      std::copy_n(running.lse.data(), count, lses + row);
    }
  }
}

void merge(const Call& call, const Split& split) {
  const auto *outputs = static_cast<const float*>(call.p.work[0]),
             *lses = static_cast<const float*>(call.p.work[1]);
  const long long values = call.p.value_dim;
#pragma omp parallel for schedule(static)
  for (long long task = 0; task < call.pairs * call.p.seq; ++task) {
    const long long pair = task / call.p.seq, query = task % call.p.seq;
    const auto row = [&](long long part) {
      return (pair * split.count + part) * call.p.seq + query;
    };
    float high = -infinity, sum = 0;
    for (long long part = 0; part < split.count; ++part) high = std::max(high, lses[row(part)]);
    std::vector<float> o = scratch(values);
    for (long long part = 0; high != -infinity && part < split.count; ++part) {
      const float weight = exp_of_gate(lses[row(part)] - high);
      sum += weight;
      for (long long c = 0; c < values; ++c) o[c] += weight * outputs[row(part) * values + c];
    }
    for (long long c = 0; sum > 0 && c < values; ++c) o[c] /= sum;
    call.store_outputs(call.pair(pair), query, 1, o.data());
    if (call.p.lse)
      call.p.lse[call.lse_at(call.pair(pair), query)] = sum > 0 ? high + std::log(sum) : -infinity;
  }
}

void run(const Call& call, long long splits, bool fixed) {
  const Split split(call, splits);
  form_parts(call, split, fixed);
  merge(call, split);
}

double parts(const Problem& problem, const Tile& tile) {
  return query_rows(problem) * choice(tile, "splits");
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  return {floats("parts", parts(problem, tile) * static_cast<double>(problem.shape.value_dim)),
          floats("part_lse", parts(problem, tile))};
}

Traffic traffic(const Problem& problem, const Tile& tile) {
  const double seen = block_pairs(problem, block_q, block_k) /
                      static_cast<double>(std::min<std::int64_t>(block_q, problem.shape.seq));
  const auto row = static_cast<double>(problem.shape.key_dim + problem.shape.value_dim);
  const double partial =
      4 * parts(problem, tile) * (static_cast<double>(problem.shape.value_dim) + 1);
  return {query_bytes(problem) * tile.at("splits") +
              seen * row * static_cast<double>(size_of(problem.dtype)) + 2 * decay_bytes(problem) +
              partial,
          output_bytes(problem) + (writes_lse(problem) ? lse_bytes(problem) : 0) + partial};
}

double flops(const Problem& problem, const Tile&) {
  const auto row = static_cast<double>(problem.shape.key_dim + problem.shape.value_dim);
  return 2 * row * block_pairs(problem, block_q, block_k);
}

Variant decoding(std::string_view op, const char* name, const char* summary, bool fixed) {
  return make_variant(op, Direction::forward,
                      {name,
                       summary,
                       {{"splits", {8, 2, 32}, "parts of the keys that are taken at once"}},
                       {"softmax_attention/host/flash_decoding.cpp",
                        "softmax_attention/host/tile.cpp", "softmax_attention/host/rows.cpp"},
                       traffic,
                       flops,
                       workspace,
                       [fixed](const HostCall& host_call) {
                         for_each_sequence(host_call, [&](const Call& call) {
                           run(call, host_call.tile.at("splits"), fixed);
                         });
                       },
                       true});
}

}  // namespace

Variant host_flash_decoding(std::string_view op) {
  return decoding(op, "flash_decoding", "keys split over tasks, parts merged by their log-sum-exp",
                  false);
}

Variant host_flash_decoding_pp(std::string_view op) {
  return decoding(op, "flash_decoding_pp",
                  "the same relative to a fixed 0, parts done again where that overflows", true);
}

}  // namespace gla_bench::softmax_attention
