// flash1 and flash2: a task owns a block of queries of one head and walks over the blocks of keys
// that they see. The scores stay in the task's scratch memory. flash1 keeps its output divided by
// the running sum at every step. flash2 divides once at the end.

#include <algorithm>

#include "kernels/softmax_attention/host/tile.hpp"
#include "kernels/softmax_attention/host/variant.hpp"
#include "kernels/softmax_attention/variants.hpp"

namespace gla_bench::softmax_attention {
namespace {

using namespace host;

void run(const Call& call, const Tile& sizes, bool divide_at_once) {
  const Biases biases(call);
  const long long rows = std::min<long long>(sizes.at("block_q"), call.p.seq);
  const long long keys = std::min<long long>(sizes.at("block_k"), call.p.key_seq);
  const long long blocks = ceil_div(call.p.seq, rows);
#pragma omp parallel
  {
    ScoreTile tile(call, biases, rows, keys);
    Running running(call, rows, divide_at_once);
    // The last blocks see the most keys, so they start first.
#pragma omp for schedule(dynamic)
    for (long long task = 0; task < call.pairs * blocks; ++task) {
      const Pair at = call.pair(task % call.pairs);
      const long long first = (blocks - 1 - task / call.pairs) * rows;
      const long long count = std::min(rows, call.p.seq - first);
      tile.load_queries(at, first, count);
      running.clear(count);
      for (long long key = 0; key < call.seen(first + count - 1); key += keys) {
        tile.load_keys(at, key, std::min(keys, call.p.key_seq - key));
        tile.score();
        running.add(tile);
      }
      running.finish(count);
      call.store_outputs(at, first, count, running.o.data());
      for (long long r = 0; call.p.lse && r < count; ++r)
        call.p.lse[call.lse_at(at, first + r)] = running.lse[r];
    }
  }
}

Traffic traffic(const Problem& problem, const Tile& tile) {
  // Each block of queries reads the keys and values that it sees.
  const double seen = block_pairs(problem, tile.at("block_q"), tile.at("block_k")) /
                      std::min<double>(tile.at("block_q"), static_cast<double>(problem.shape.seq));
  const auto row = static_cast<double>(problem.shape.key_dim + problem.shape.value_dim);
  return {query_bytes(problem) + seen * row * static_cast<double>(size_of(problem.dtype)) +
              2 * decay_bytes(problem),
          output_bytes(problem) + (writes_lse(problem) ? lse_bytes(problem) : 0)};
}

double flops(const Problem& problem, const Tile& tile) {
  const auto row = static_cast<double>(problem.shape.key_dim + problem.shape.value_dim);
  return 2 * row * block_pairs(problem, tile.at("block_q"), tile.at("block_k"));
}

Variant flash(std::string_view op, const char* name, const char* summary, bool divide_at_once) {
  return make_variant(op, Direction::forward,
                      {name,
                       summary,
                       {{"block_q", {64, 32, 128}, "queries of a block"},
                        {"block_k", {64, 32, 128}, "keys of a block"}},
                       {"softmax_attention/host/flash.cpp", "softmax_attention/host/tile.cpp",
                        "softmax_attention/host/rows.cpp"},
                       traffic,
                       flops,
                       {},
                       [divide_at_once](const HostCall& host_call) {
                         for_each_sequence(host_call, [&](const Call& call) {
                           run(call, host_call.tile, divide_at_once);
                         });
                       }});
}

}  // namespace

Variant host_flash1(std::string_view op) {
  return flash(op, "flash1",
               "blocks of queries walk over the keys, the output divided at each step", true);
}

Variant host_flash2(std::string_view op) {
  return flash(op, "flash2", "blocks of queries walk over the keys, divided once at the end",
               false);
}

}  // namespace gla_bench::softmax_attention
