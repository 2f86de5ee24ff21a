// Problems of the backward: tensors, refusals and inputs.

#include <algorithm>

#include "reference/linear_recurrence/backward/backward.hpp"

namespace gla_bench::recurrence {
namespace {

using Role = TensorSpec::Role;

// Gradients that float32 holds whatever their tensor's dtype: they are long sums.
bool in_float32(const Traits& traits, const std::string& name) {
  return name == traits.gate || name == "u";
}

// Sums over all tokens of a head (du, the gradient of a constant decay), or only of a sequence.
bool over_all_tokens(const TensorSpec& input) {
  return input.name == "u" || input.name == "log_decay";
}

TensorSpec gradient_of(const TensorSpec& tensor) {
  TensorSpec gradient = tensor;
  gradient.name = "d" + tensor.name;
  gradient.role = tensor.role == Role::input ? Role::output : Role::input;
  gradient.in_place_of.clear();
  gradient.token_pitch = gradient.token_offset = 0;
  gradient.decayed_factors = 0;
  gradient.decays_alike = false;
  gradient.longest_sum = 0;
  gradient.alike = 1;
  return gradient;
}

}  // namespace

std::vector<TensorSpec> backward_tensors(const Traits& traits, const Problem& problem,
                                         const std::vector<TensorSpec>& forward) {
  const Shape& s = problem.shape;
  std::vector<TensorSpec> list, given, made;
  for (const TensorSpec& spec : forward) {
    if (spec.role == Role::output) {
      given.push_back(gradient_of(spec));
      continue;
    }
    list.push_back(spec);
    if (spec.dtype == DType::int32) continue;
    TensorSpec gradient = gradient_of(spec);
    if (in_float32(traits, spec.name)) gradient.dtype = DType::float32;
    // Of the decayed operands of a chunk form, each gradient has the state's or its gradient's
    // besides its own token's.
    if (traits.decay != Decay::none) gradient.decayed_factors = 2;
    gradient.decays_alike = traits.decay == Decay::per_head;
    gradient.running_sum = spec.name == traits.gate && spec.tokens;
    gradient.longest_sum = over_all_tokens(spec) ? s.batch * s.seq : s.seq;
    gradient.rounded_factors = 3;
    made.push_back(std::move(gradient));
  }
  list.insert(list.end(), given.begin(), given.end());
  for (const TensorSpec& spec : forward)
    if (spec.role == Role::output && problem.direction == Direction::training) list.push_back(spec);
  list.insert(list.end(), made.begin(), made.end());
  return list;
}

std::optional<std::string> refuse_backward(const Traits& traits, const Problem& problem) {
  if (flag(problem, "in_place"))
    return "in_place is of the forward's states: the gradient of the initial state has memory of "
           "its own";
  if (flag(problem, "nan_sequence") && traits.decay == Decay::per_head)
    return "nan_sequence: dlog_decay sums over all sequences, so that all of it would be NaN";
  if (flag(problem, "nan_sequence") && traits.before_update)
    return "nan_sequence: du sums over all sequences, so that all of it would be NaN";
  return std::nullopt;
}

void pad_gradients(const Problem& problem, HostTensors& inputs) {
  const std::int64_t keys = problem.shape.key_dim, values = problem.shape.value_dim;
  const std::vector<float>& q = inputs.at("q");
  std::vector<float>& d_o = inputs.at("do");
  for (std::int64_t row = 0; row * keys < static_cast<std::int64_t>(q.size()); ++row) {
    const auto first = q.begin() + row * keys;
    if (std::all_of(first, first + keys, [](float x) { return x == 0.0f; }))
      std::fill_n(d_o.begin() + row * values, values, 0.0f);
  }
}

}  // namespace gla_bench::recurrence
