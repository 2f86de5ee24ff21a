// Works through the chunks one after the other with the state in the cache. Products inside and
// between chunks are matrix products, and no state between chunks is written out.
//
// A task owns one (sequence, head) pair and block_v columns. For each chunk it forms the scores A
// of the chunk's own tokens, then
//   o = A v + (q e^b) S,  S = e^bn S + (k e^(bn-b))^T v.
// q, k and the gates are read, and A is formed, once for each block of columns.

#include <algorithm>

#include "kernels/linear_recurrence/host/chunk.hpp"
#include "kernels/linear_recurrence/host/variant.hpp"
#include "kernels/linear_recurrence/variants.hpp"

namespace gla_bench::linear_recurrence {
namespace {

using namespace host;

void walk(const Call& call, long long pair, long long column, long long columns, long long length,
          Chunk& chunk, float* state) {
  const long long tokens = call.length(pair);
  load_initial(call, pair, column, columns, state);
  for (long long first = 0; first < tokens; first += length) {
    const Rows at{pair, first, std::min(length, tokens - first), column, columns};
    chunk.intra(call, at);
    chunk.inter(call, state);
    chunk.advance(call, state);
    store_between(call, pair, first + at.rows, column, columns, state);
    store_outputs(call, at, chunk.o.data());
  }
  store_final(call, pair, column, columns, state);
}

void run(const HostCall& host_call) {
  const Call call(host_call);
  const long long length = host_call.tile.at("chunk"), width = host_call.tile.at("block_v");
  const long long blocks = ceil_div(call.values, width);
  const long long widest = std::min<long long>(width, call.values);
#pragma omp parallel
  {
    Chunk chunk(call, std::min(length, call.p.seq), widest);
    std::vector<float> state = scratch(call.keys * (widest + call.extra));
#pragma omp for schedule(dynamic)
    for (long long task = 0; task < call.pairs * blocks; ++task) {
      const long long column = task % blocks * width;
      walk(call, task / blocks, column, std::min(width, call.values - column), length, chunk,
           state.data());
    }
  }
}

}  // namespace

Variant host_chunk_fused(const Member& member) {
  Variant variant =
      make_variant(member, "chunk_fused", "chunk by chunk, the state never written out",
                   {{"chunk", {32, 16, 64, 128}, "tokens of a chunk"},
                    {"block_v", {128, 64, 32, 256}, "columns of the state that a task owns"}},
                   run,
                   {"linear_recurrence/host/chunk_fused.cpp", "linear_recurrence/host/chunk.cpp",
                    "linear_recurrence/host/rows.cpp"});
  variant.reject = refuse_chunk_form;
  variant.traffic = [](const Problem& problem, const Tile& tile) -> Traffic {
    const auto blocks = static_cast<double>(value_blocks(problem, tile));
    return {blocks * token_reads(problem) + value_bytes(problem) + states_read(problem),
            value_bytes(problem) + states_written(problem)};
  };
  variant.flops = [](const Problem& problem, const Tile& tile) {
    return chunk_flops(problem, tile.at("chunk"));
  };
  return variant;
}

}  // namespace gla_bench::linear_recurrence
