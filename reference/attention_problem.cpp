#include "reference/attention_problem.hpp"

#include <string>

namespace gla_bench::attention {
namespace {

const float* find(const HostTensors& inputs, const char* name, bool needed) {
  return needed ? inputs.at(name).data() : nullptr;
}

}  // namespace

View::View(const Operator& op, const Problem& problem, const HostTensors& inputs) {
  const Shape& s = problem.shape;
  const bool decays_there = op.name == "decay_attention";
  const bool backward = problem.direction == Direction::backward;
  batch = s.batch;
  seq = s.seq;
  key_seq = s.keys_seq();
  heads = s.heads;
  key_heads = s.keys_heads();
  keys = s.key_dim;
  values = s.value_dim;
  causal = decays_there || option(op, problem, "causal") == "true";
  constant_decay = decays_there && option(op, problem, "decay") == "constant";
  lse = option(op, problem, "lse") == "true";
  scale = scale_of(op, problem);
  q = find(inputs, "q", true);
  k = find(inputs, "k", true);
  v = find(inputs, "v", true);
  log_decay = find(inputs, "log_decay", decays_there);
  o = find(inputs, "o", backward);
  given_lse = find(inputs, "lse", backward);
  d_o = find(inputs, "do", backward);
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

}  // namespace gla_bench::attention
