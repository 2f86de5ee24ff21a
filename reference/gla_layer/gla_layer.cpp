#include "reference/gla_layer/gla_layer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"
#include "core/rounding.hpp"
#include "reference/gla_layer/backward.hpp"
#include "reference/gla_layer/chain.hpp"
#include "reference/gla_layer/second_form.hpp"
#include "reference/inputs.hpp"
#include "reference/passes.hpp"

namespace gla_bench {
namespace gla_layer_forms {

Sizes sizes(const Problem& problem) {
  const Shape& s = problem.shape;
  return {s.batch * s.seq,     s.model_dim,          s.heads, s.key_dim, s.value_dim,
          s.heads * s.key_dim, s.heads * s.value_dim};
}

Problem recurrence_of(const Problem& problem) {
  Problem inner = problem;
  inner.op = "gla";
  inner.shape.model_dim = 0;
  inner.gate = "mild";  // not drawn, because the layer computes the gates
  inner.options.clear();
  inner.tensors.clear();
  inner.tensor_names.clear();
  return inner;
}

double gate_divisor(const Problem& problem) {
  const auto choice = problem.options.find("gate_divisor");
  return choice != problem.options.end() && choice->second == "1" ? 1.0 : 16.0;
}

std::vector<float> stored(DType dtype, std::vector<double> values) {
  std::vector<float> result(values.size());
  const auto count = static_cast<std::int64_t>(values.size());
#pragma omp parallel for schedule(static) if (count > 65536)
  for (std::int64_t i = 0; i < count; ++i) result[i] = round_to(dtype, values[i]);
  return result;
}

}  // namespace gla_layer_forms

namespace {

using namespace gla_layer_forms;
using Role = TensorSpec::Role;

std::vector<TensorSpec> forward_tensors(const Problem& problem) {
  const Shape& s = problem.shape;
  const Sizes n = sizes(problem);
  const DType d = problem.dtype;
  const std::vector<std::int64_t> tokens{s.batch, s.seq, n.model};
  const std::vector<std::int64_t> state{s.batch, s.heads, s.key_dim, s.value_dim};
  std::vector<TensorSpec> list{{"x", Role::input, d, tokens},
                               {"w_q", Role::input, d, {n.model, n.keys}},
                               {"w_k", Role::input, d, {n.model, n.keys}},
                               {"w_v", Role::input, d, {n.model, n.values}},
                               {"w_1", Role::input, d, {n.model, gla_layer_rank}},
                               {"w_2", Role::input, d, {gla_layer_rank, n.keys}},
                               {"b_g", Role::input, d, {n.keys}},
                               {"w_r", Role::input, d, {n.model, n.values}},
                               {"b_r", Role::input, d, {n.values}},
                               {"w_o", Role::input, d, {n.values, n.model}}};
  if (problem.initial_state) list.push_back({"initial_state", Role::input, DType::float32, state});
  list.push_back({"y", Role::output, d, tokens});
  if (problem.final_state) {
    list.push_back({"final_state", Role::output, DType::float32, state});
    list.back().rounded_factors = 2;  // keys as the product with W_k leaves them, decayed keys
  }
  for (TensorSpec& spec : list) {
    if (spec.role != Role::output) continue;
    spec.longest_sum = std::max({s.seq, n.model, n.values});
    spec.decayed_factors = spec.name == "y" ? 2 : 1;
  }
  return list;
}

std::vector<TensorSpec> tensors(const Problem& problem) {
  const std::vector<TensorSpec> forward = forward_tensors(problem);
  return has_gradients(problem.direction) ? backward_tensors(problem, forward) : forward;
}

Work work(const Problem& problem) {
  const Sizes n = sizes(problem);
  Work result;
  if (problem.direction == Direction::training) {
    const Work forward = work(in_direction(problem, Direction::forward));
    result =
        work_of_passes(forward, work(in_direction(problem, Direction::backward)), tensors(problem));
    result.flops = forward.flops + backward_flops(problem);
    return result;
  }
  for (const TensorSpec& spec : tensors(problem))
    result.floor_bytes += static_cast<double>(spec.bytes());
  if (has_gradients(problem.direction)) {
    result.flops = backward_flops(problem);
    return result;
  }
  // Two operations for each multiplication of a product. The recurrence counts as for gla: 4KV for
  // each token and head.
  const std::int64_t columns = 2 * n.keys + 2 * n.values + gla_layer_rank;
  const std::int64_t per_token = n.model * (columns + n.values) + gla_layer_rank * n.keys +
                                 2 * n.heads * n.key_dim * n.value_dim;
  result.flops = 2.0 * static_cast<double>(n.rows) * static_cast<double>(per_token);
  return result;
}

// The bias of the gate, which defines the regime.
std::vector<float> draw_bias(const Problem& problem, std::int64_t count) {
  // Gradients have their own sizes (gla_layer.hpp).
  constexpr double shut = -100;
  const bool gradients = has_gradients(problem.direction), whole = gate_divisor(problem) == 1;
  const double open = gradients ? 8 : 100, middle = gradients && whole ? 2.7 : 0;
  const double strong = !gradients ? -32 : whole ? 2.3 : -1.2;
  const std::string& regime = problem.gate;
  const Stream normals = stream(problem.seed, "b_g"), kinds = stream(problem.seed, "b_g.channels");
  std::vector<float> bias(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    double value = middle + 0.25 * random_normal(normals, index);
    const double u = random_uniform(kinds, index);
    if (regime == "none") value = open;
    if (regime == "strong") value = strong;
    if (regime == "per_channel" && u < 0.5) value = u < 0.25 ? open : shut;
    bias[i] = round_to(problem.dtype, value);
  }
  return bias;
}

// Activations are N(0,1). Weights are scaled so that the result of every product has about that
// size again. Keys are correlated with the query of their token. If they were independent, a head's
// output would pass through zero wherever its memory is short. The norm divides by the size of that
// output, so it would magnify every rounding error.
HostTensors draw(const Problem& problem) {
  const Operator* op = find_operator(problem.op);
  const auto& regimes = op->gates;
  if (std::find(regimes.begin(), regimes.end(), problem.gate) == regimes.end())
    throw InputError("unknown gate regime '" + problem.gate + "'");
  HostTensors inputs;
  for (const TensorSpec& spec : tensors(problem)) {
    if (spec.role != Role::input) continue;
    std::vector<float>& values = inputs[spec.name];
    if (spec.name == "b_g") {
      values = draw_bias(problem, spec.elements());
      continue;
    }
    const Stream normals = stream(problem.seed, spec.name);
    double scale = 1;
    if (spec.name == "b_r") scale = 0.25;
    if (spec.name == "dfinal_state") scale = 0.25;
    if (spec.name.starts_with("w_")) scale = 1 / std::sqrt(static_cast<double>(spec.extents[0]));
    values = draw_normal(normals, spec.elements(), DType::float32);
    if (spec.name == "w_k") {
      const auto query = draw_normal(stream(problem.seed, "w_q"), spec.elements(), DType::float32);
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = 0.8f * values[i] + 0.6f * query[i];
    }
    for (float& value : values) value = round_to(spec.dtype, scale * value);
  }
  return inputs;
}

// The forward in the arithmetic of Real. `inner` is gla in the same arithmetic.
template <class Real, class Operand, class Inner>
std::map<std::string, std::vector<Real>> forward(const Problem& problem, const HostTensors& inputs,
                                                 Operand operand, Inner inner) {
  const Sizes n = sizes(problem);
  const Chain<Real, Operand> chain(problem, inputs, operand);
  const HostTensors stage = chain.stages();
  auto outputs = inner(recurrence_of(problem), stage);
  const std::vector<Real> gated = chain.norm_and_gate(outputs.at("o"), stage.at("r"));
  outputs.erase("o");
  outputs["y"] = multiply<Real>(n.rows, n.values, n.model, {gated}, {chain.input("w_o")});
  return outputs;
}

ReferenceTensors reference(const Problem& problem, const HostTensors& inputs,
                           const References& inner) {
  return outputs_of_passes(
      problem,
      [&](const Problem& pass) {
        return forward<double>(
            pass, inputs, [](double x) { return x; }, exact_recurrence(inner));
      },
      [&](const Problem& pass) { return backward(pass, inputs, inner); });
}

// The plain computation. Sums are float32. The operands of every product are rounded to what the
// arithmetic keeps (10 explicit mantissa bits for tf32 and float16, 7 for bfloat16). gla is its own
// plain computation. Every tensor between the stages is stored in the problem's dtype.
HostTensors baseline(const Problem& problem, const HostTensors& inputs, Arithmetic arithmetic,
                     const References& inner) {
  return outputs_of_passes(
      problem,
      [&](const Problem& pass) {
        return with_operand_rounding(arithmetic, [&](auto operand) {
          return forward<float>(pass, inputs, operand, plain_recurrence(inner, arithmetic));
        });
      },
      [&](const Problem& pass) { return plain_backward(pass, inputs, arithmetic, inner); });
}

const References& on_the_host() {
  static const References references{
      [](const Operator& op, const Problem& problem, const HostTensors& inputs) {
        return op.reference(problem, inputs);
      },
      [](const Operator& op, const Problem& problem, const HostTensors& inputs,
         Arithmetic arithmetic) { return op.baseline(problem, inputs, arithmetic); }};
  return references;
}

ReferenceTensors second_form(const Problem& problem, const HostTensors& inputs) {
  return outputs_of_passes(
      problem, [&](const Problem& pass) { return second_forward(pass, inputs); },
      [&](const Problem& pass) { return second_backward(pass, inputs); });
}

}  // namespace

Operator gla_layer_operator() {
  Operator op;
  op.name = "gla_layer";
  op.summary =
      "Y = (swish(x W_r + b_r) (.) LN(gla(x W_q, x W_k, x W_v, logsigmoid((x W_1) W_2 + b_g)/16))) "
      "W_O";
  op.directions = {Direction::forward, Direction::backward, Direction::training};
  op.gates = {"mild", "none", "strong", "per_channel"};
  op.extents.push_back("model_dim");
  op.options = {{"gate_divisor", {"16", "1"}, "what divides the logsigmoid that makes the gates"}};
  op.refuse = [](const Problem& problem) -> std::optional<std::string> {
    if (problem.layout == Layout::head_first)
      return "head_first: the layer's tensors have no heads to put first";
    return has_gradients(problem.direction) ? refuse_backward(problem) : std::nullopt;
  };
  op.default_scale = [](const Problem& problem) {
    return 1 / std::sqrt(static_cast<double>(problem.shape.key_dim));
  };
  op.tensors = tensors;
  op.work = work;
  op.draw = draw;
  // Not the weights, since keys are correlated with queries through them.
  op.signed_inputs = [](const Problem& problem) {
    std::vector<std::string> list{"x", "initial_state"};
    if (has_gradients(problem.direction)) list.insert(list.end(), {"dy", "dfinal_state"});
    return list;
  };
  op.reference_around = reference;
  op.baseline_around = baseline;
  op.reference = [](const Problem& problem, const HostTensors& inputs) {
    return reference(problem, inputs, on_the_host());
  };
  op.baseline = [](const Problem& problem, const HostTensors& inputs, Arithmetic arithmetic) {
    return baseline(problem, inputs, arithmetic, on_the_host());
  };
  op.second_form = second_form;
  return op;
}

}  // namespace gla_bench
