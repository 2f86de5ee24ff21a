#include "reference/attention/problem.hpp"

#include <string>

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
