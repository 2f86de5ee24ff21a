// materialized: three steps over scores stored in memory, [B,H,T,Tk] in float32. The steps are q
// k^T through OpenBLAS, the softmax of the rows, and the product with v through OpenBLAS.

#include <algorithm>

#include "kernels/linear_recurrence/host/blas.hpp"
#include "kernels/softmax_attention/host/tile.hpp"
#include "kernels/softmax_attention/host/variant.hpp"
#include "kernels/softmax_attention/variants.hpp"

namespace gla_bench::softmax_attention {
namespace {

using namespace host;
using linear_recurrence::host::blas_product;
using linear_recurrence::host::SingleThreadedBlas;

// Forms the scores of one head; the functions below are the other steps of one head.
void form_scores(const Call& call, const Pair& at, float* scores) {
  const long long keys = call.p.key_dim;
  std::vector<float> q = scratch(call.p.seq * keys), k = scratch(call.p.key_seq * keys);
  call.load_queries(at, 0, call.p.seq, q.data());
  for (float& x : q) x *= call.p.scale;
  call.load_keys(at, 0, call.p.key_seq, k.data());
  blas_product(call.p.seq, call.p.key_seq, keys, {q.data(), keys}, {k.data(), keys, true}, 0.0f,
               scores, call.p.key_seq);
}

void form_outputs(const Call& call, const Pair& at, const float* weights) {
  const long long values = call.p.value_dim;
  std::vector<float> v = scratch(call.p.key_seq * values), o = scratch(call.p.seq * values);
  call.load_values(at, 0, call.p.key_seq, v.data());
  blas_product(call.p.seq, values, call.p.key_seq, {weights, call.p.key_seq}, {v.data(), values},
               0.0f, o.data(), values);
  call.store_outputs(at, 0, call.p.seq, o.data());
}

void run(const Call& call) {
  const SingleThreadedBlas scope;
  const Biases biases(call);
  auto* all_scores = static_cast<float*>(call.p.work[0]);
#pragma omp parallel for schedule(dynamic)
  for (long long pair = 0; pair < call.pairs; ++pair) {
    const Pair at = call.pair(pair);
    float* scores = all_scores + pair * call.p.seq * call.p.key_seq;
    form_scores(call, at, scores);
    biases.add(at, 0, call.p.seq, 0, call.p.key_seq, scores);
    for (long long query = 0; query < call.p.seq; ++query) {
      const float lse =
          softmax_row(scores + query * call.p.key_seq, call.seen(query), call.p.key_seq);
      if (call.p.lse) call.p.lse[call.lse_at(at, query)] = lse;
    }
    form_outputs(call, at, scores);
  }
}

double elements(const Problem& problem) {
  return query_rows(problem) * static_cast<double>(problem.shape.keys_seq());
}

std::vector<Region> workspace(const Problem& problem, const Tile&) {
  return {floats("scores", elements(problem))};
}

Traffic traffic(const Problem& problem, const Tile&) {
  // Scores are written, then read and written by the softmax, then read. Keys and values are read
  // once for each head.
  const auto group = static_cast<double>(softmax_attention::group(problem));
  return {query_bytes(problem) + group * (key_bytes(problem) + value_bytes(problem)) +
              decay_bytes(problem) + 8 * elements(problem),
          output_bytes(problem) + 8 * elements(problem) +
              (writes_lse(problem) ? lse_bytes(problem) : 0)};
}

double flops(const Problem& problem, const Tile&) {
  return 2 * elements(problem) *
         static_cast<double>(problem.shape.key_dim + problem.shape.value_dim);
}

}  // namespace

Variant host_materialized(std::string_view op) {
  return make_variant(op, Direction::forward,
                      {"materialized",
                       "scores in memory, products through OpenBLAS",
                       {},
                       {"softmax_attention/host/materialized.cpp",
                        "softmax_attention/host/tile.cpp", "softmax_attention/host/rows.cpp"},
                       traffic,
                       flops,
                       workspace,
                       [](const HostCall& call) { for_each_sequence(call, run); }});
}

}  // namespace gla_bench::softmax_attention
