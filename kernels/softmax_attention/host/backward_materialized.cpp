// materialized: P and dS of one head are stored in memory, [T,Tk] each in float32. The five
// products are done by OpenBLAS. Heads that share keys are one task, which adds up their dk and dv
// in order.

#include <algorithm>

#include "kernels/linear_recurrence/host/blas.hpp"
#include "kernels/softmax_attention/host/gradients.hpp"
#include "kernels/softmax_attention/variants.hpp"

namespace gla_bench::softmax_attention {
namespace {

using namespace host;
using linear_recurrence::host::blas_product;
using linear_recurrence::host::SingleThreadedBlas;

constexpr int sums_region = 2;  // after P and dS

// The backward pass of one head. It adds to dk and dv.
void walk(const Call& call, const Biases& biases, const Pair& at, const DecaySums& decays,
          std::vector<float>& dk, std::vector<float>& dv) {
  const long long queries = call.p.seq, tokens = call.p.key_seq;
  const long long keys = call.p.key_dim, values = call.p.value_dim;
  const long long start = (at.batch * call.p.heads + at.head) * queries * tokens;
  float* p = static_cast<float*>(call.p.work[0]) + start;
  float* ds = static_cast<float*>(call.p.work[1]) + start;
  std::vector<float> q = scratch(queries * keys), k = scratch(tokens * keys), dq(q);
  std::vector<float> v = scratch(tokens * values), d_o = scratch(queries * values);
  std::vector<double> terms(static_cast<std::size_t>(queries));
  call.load_queries(at, 0, queries, q.data());
  for (float& x : q) x *= call.p.scale;
  call.load_keys(at, 0, tokens, k.data());
  call.load_values(at, 0, tokens, v.data());
  call.load_outputs(call.p.d_o, at, 0, queries, d_o.data());
  row_terms(call, at, 0, queries, d_o.data(), terms.data());
  blas_product(queries, tokens, keys, {q.data(), keys}, {k.data(), keys, true}, 0.0f, p, tokens);
  biases.add(at, 0, queries, 0, tokens, p);
  blas_product(queries, tokens, values, {d_o.data(), values}, {v.data(), values, true}, 0.0f, ds,
               tokens);
  form_gradients(call, at, 0, queries, 0, tokens, terms.data(), p, ds);
  blas_product(queries, keys, tokens, {ds, tokens}, {k.data(), keys}, 0.0f, dq.data(), keys);
  blas_product(tokens, keys, queries, {ds, tokens, true}, {q.data(), keys}, 1.0f, dk.data(), keys);
  blas_product(tokens, values, queries, {p, tokens, true}, {d_o.data(), values}, 1.0f, dv.data(),
               values);
  store_query_gradients(call, at, 0, queries, dq.data());
  if (call.decay == Decay::none) return;
  decays.add_rows(call, at, 0, queries, 0, tokens, ds);
  decays.add_columns(call, at, queries, 0, tokens, ds);
}

void run(const Call& call) {
  const SingleThreadedBlas scope;
  const Biases biases(call);
  const DecaySums decays = decay_sums(call, sums_region);
#pragma omp parallel for schedule(dynamic)
  for (long long pair = 0; pair < call.p.batch * call.p.key_heads; ++pair) {
    const Pair first{pair / call.p.key_heads, pair % call.p.key_heads * call.group};
    std::vector<float> dk = scratch(call.p.key_seq * call.p.key_dim);
    std::vector<float> dv = scratch(call.p.key_seq * call.p.value_dim);
    for (long long head = first.head; head < first.head + call.group; ++head)
      walk(call, biases, {first.batch, head}, decays, dk, dv);
    store_key_gradients(call, first, 0, call.p.key_seq, dk.data(), dv.data());
  }
  store_decay_gradients(call, decays);
}

double elements(const Problem& problem) {
  return query_rows(problem) * static_cast<double>(problem.shape.keys_seq());
}

std::vector<Region> workspace(const Problem& problem, const Tile&) {
  std::vector<Region> regions{floats("p", elements(problem)), floats("ds", elements(problem))};
  for (Region& region : decay_sum_regions(problem)) regions.push_back(std::move(region));
  return regions;
}

Traffic traffic(const Problem& problem, const Tile&) {
  // P is written, read and written again, then read by one product. dS is the same but is read by
  // two products, and twice more for the log decays.
  const bool decaying = decay_of(problem) != Decay::none;
  const auto group = static_cast<double>(softmax_attention::group(problem));
  const double sums = decaying ? 4 * (2 * query_rows(problem) + decay_rows(problem)) : 0;
  return {query_bytes(problem) + group * (key_bytes(problem) + value_bytes(problem)) +
              2 * output_bytes(problem) + lse_bytes(problem) + decay_bytes(problem) +
              4 * elements(problem) * (decaying ? 7 : 5) + sums,
          query_bytes(problem) + key_bytes(problem) + value_bytes(problem) +
              decay_gradient_bytes(problem) + 16 * elements(problem) + sums};
}

double flops(const Problem& problem, const Tile&) {
  return 2 * elements(problem) *
         static_cast<double>(3 * problem.shape.key_dim + 2 * problem.shape.value_dim);
}

}  // namespace

Variant host_backward_materialized(std::string_view op) {
  return make_variant(
      op, Direction::backward,
      {"materialized",
       "P and dS in memory, products through OpenBLAS",
       {},
       {"softmax_attention/host/backward_materialized.cpp", "softmax_attention/host/gradients.cpp",
        "softmax_attention/host/tile.cpp", "softmax_attention/host/rows.cpp"},
       traffic,
       flops,
       workspace,
       [](const HostCall& call) { for_each_sequence(call, run); }});
}

}  // namespace gla_bench::softmax_attention
