#include "reference/attention/problem.hpp"

#include <cmath>
#include <string>

#include "reference/attention/paged.hpp"
#include "reference/feature_energies.hpp"

namespace gla_bench::attention {
namespace {

const float* find(const HostTensors& inputs, const char* name, bool needed) {
  return needed ? inputs.at(name).data() : nullptr;
}

}  // namespace

Form::Form(const Operator& op, const Problem& problem) {
  const Shape& s = problem.shape;
  batch = s.batch;
  seq = s.seq;
  key_seq = s.keys_seq();
  heads = s.heads;
  key_heads = s.keys_heads();
  keys = s.key_dim;
  values = s.value_dim;
  page_size = attention::page_size(problem);
  sequences = page_size > 0 ? s.batch : s.sequences;
  has_decays = op.name == "decay_attention";
  causal = has_decays || option(op, problem, "causal") == "true";
  constant_decay = has_decays && option(op, problem, "decay") == "constant";
  lse = option(op, problem, "lse") == "true";
  backward = problem.direction == Direction::backward;
  scale = scale_of(op, problem);
}

View::View(const Operator& op, const Problem& problem, const HostTensors& inputs)
    : Form(op, problem) {
  q = find(inputs, "q", true);
  k = find(inputs, "k", true);
  v = find(inputs, "v", true);
  log_decay = find(inputs, "log_decay", has_decays);
  o = find(inputs, "o", backward);
  given_lse = find(inputs, "lse", backward);
  d_o = find(inputs, "do", backward);
  const bool paged = page_size > 0, ragged = sequences > 0 && !paged;
  query_ends = find(inputs, "cu_seqlens", ragged);
  key_ends = find(inputs, "cu_seqlens_k", ragged);
  block_table = find(inputs, "block_table", paged);
  key_counts = find(inputs, "cache_seqlens", paged);
}

View View::sequence(std::int64_t n) const {
  if (page_size > 0) {
    View one = *this;
    one.sequences = 0;
    one.batch = 1;
    one.q = q + n * seq * heads * keys;
    one.block_table = block_table + n * ((key_seq + page_size - 1) / page_size);
    one.key_counts = nullptr;
    one.key_seq = static_cast<std::int64_t>(key_counts[n]);
    return one;
  }
  const auto query = static_cast<std::int64_t>(query_ends[n]);
  const auto key = static_cast<std::int64_t>(key_ends[n]);
  const auto behind = [](const float* tensor, std::int64_t rows, std::int64_t width) {
    return tensor == nullptr ? nullptr : tensor + rows * width;
  };
  View one = *this;
  one.sequences = 0;
  one.seq = static_cast<std::int64_t>(query_ends[n + 1]) - query;
  one.key_seq = static_cast<std::int64_t>(key_ends[n + 1]) - key;
  one.q = behind(q, query * heads, keys);
  one.k = behind(k, key * key_heads, keys);
  one.v = behind(v, key * key_heads, values);
  if (!constant_decay) one.log_decay = behind(log_decay, key * heads, 1);
  one.o = behind(o, query * heads, values);
  one.given_lse = behind(given_lse, query * heads, 1);
  one.d_o = behind(d_o, query * heads, values);
  one.query_ends = one.key_ends = nullptr;
  return one;
}

Decays View::decays(std::int64_t b, std::int64_t h) const {
  Decays result;
  if (log_decay == nullptr) return result;
  result.sums.resize(static_cast<std::size_t>(key_seq));
  result.resets.resize(static_cast<std::size_t>(key_seq));
  double sum = 0;
  std::int32_t resets = 0;
  for (std::int64_t t = 0; t < key_seq; ++t) {
    const double step = log_decay[decay_row(b, t, h)];
    if (std::isinf(step))
      ++resets;
    else
      sum += step;
    result.sums[t] = sum;
    result.resets[t] = resets;
  }
  return result;
}

double score_size(std::int64_t key_dim, double scale, const HostTensors& inputs) {
  return std::abs(scale) * std::sqrt(product_energy(feature_energies(key_dim, inputs.at("q")),
                                                    feature_energies(key_dim, inputs.at("k"))));
}

}  // namespace gla_bench::attention
