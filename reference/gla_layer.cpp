#include "reference/gla_layer.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "core/error.hpp"
#include "core/rounding.hpp"
#include "reference/gla_layer_second_form.hpp"
#include "reference/inputs.hpp"
#include "reference/round_outputs.hpp"

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

std::vector<TensorSpec> tensors(const Problem& problem) {
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
    spec.longest_sum = s.seq;
    spec.decayed_factors = spec.name == "y" ? 2 : 1;
  }
  return list;
}

Work work(const Problem& problem) {
  const Sizes n = sizes(problem);
  Work result;
  for (const TensorSpec& spec : tensors(problem))
    result.floor_bytes += static_cast<double>(spec.bytes());
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
  constexpr double open = 100, shut = -100, strong = -32;
  const std::string& regime = problem.gate;
  const Stream normals = stream(problem.seed, "b_g"), kinds = stream(problem.seed, "b_g.channels");
  std::vector<float> bias(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    double value = 0.25 * random_normal(normals, index);
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

void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, const double* b,
              double* c) {
  const auto size = [](std::int64_t extent) { return static_cast<blasint>(extent); };
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size(m), size(n), size(k), 1.0, a, size(k),
              b, size(n), 0.0, c, size(n));
}

void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b,
              float* c) {
  const auto size = [](std::int64_t extent) { return static_cast<blasint>(extent); };
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size(m), size(n), size(k), 1.0f, a,
              size(k), b, size(n), 0.0f, c, size(n));
}

// The layer in the arithmetic of Real, with its products through BLAS. `Operand` rounds the
// operands of a product. `Inner` is gla in the same arithmetic.
template <class Real, class Operand, class Inner>
class Chain {
 public:
  Chain(const Problem& problem, const HostTensors& inputs, Operand operand, Inner inner)
      : problem_(problem), inputs_(inputs), operand_(operand), inner_(inner) {}

  // Returns y before rounding, and the final state where the problem has one.
  std::map<std::string, std::vector<Real>> run() const {
    const Sizes n = sizes(problem_);
    HostTensors stage;  // tensors between the stages, stored in the dtype
    const std::vector<Real> x = operands(inputs_.at("x"));
    for (const auto& [name, columns] :
         {std::pair{"q", n.keys}, std::pair{"k", n.keys}, std::pair{"v", n.values},
          std::pair{"r", n.values}, std::pair{"1", gla_layer_rank}})
      stage[name] = rounded(product(x, std::string("w_") + name, n.rows, n.model, columns));
    stage["g"] = gates(stage.at("1"));
    if (problem_.initial_state) stage["initial_state"] = inputs_.at("initial_state");
    auto outputs = inner_(recurrence_of(problem_), stage);
    std::vector<Real> gated = norm_and_gate(outputs.at("o"), stage.at("r"));
    outputs.erase("o");
    for (Real& value : gated) value = operand_(value);
    outputs["y"] = product(gated, "w_o", n.rows, n.values, n.model);
    return outputs;
  }

 private:
  std::vector<Real> operands(const std::vector<float>& values) const {
    std::vector<Real> result(values.begin(), values.end());
    for (Real& value : result) value = operand_(value);
    return result;
  }

  std::vector<Real> product(const std::vector<Real>& a, const std::string& weight, std::int64_t m,
                            std::int64_t k, std::int64_t n) const {
    const std::vector<Real> b = operands(inputs_.at(weight));
    std::vector<Real> c(static_cast<std::size_t>(m * n));
    multiply(m, n, k, a.data(), b.data(), c.data());
    return c;
  }

  std::vector<float> rounded(const std::vector<Real>& values) const {
    return stored(problem_.dtype, {values.begin(), values.end()});
  }

  std::vector<float> gates(const std::vector<float>& low) const {
    const Sizes n = sizes(problem_);
    std::vector<Real> z = product(operands(low), "w_2", n.rows, gla_layer_rank, n.keys);
    const float* bias = inputs_.at("b_g").data();
    const auto divisor = static_cast<Real>(gate_divisor(problem_));
#pragma omp parallel for schedule(static) if (n.rows * n.keys > 65536)
    for (std::int64_t row = 0; row < n.rows; ++row)
      for (std::int64_t i = 0; i < n.keys; ++i) {
        Real& value = z[row * n.keys + i];
        value += static_cast<Real>(bias[i]);
        value = (std::min(value, Real(0)) - std::log1p(std::exp(-std::abs(value)))) / divisor;
      }
    return rounded(z);
  }

  // swish(r + b_r) (.) LN(o). In float64 it stays unrounded. In float32 it is rounded to the dtype
  // in which the product with W_O reads it.
  std::vector<Real> norm_and_gate(const std::vector<Real>& o, const std::vector<float>& r) const {
    const Sizes n = sizes(problem_);
    const float* bias = inputs_.at("b_r").data();
    std::vector<Real> gated(o.size());
    const std::int64_t units = n.rows * n.heads;
#pragma omp parallel for schedule(static) if (units * n.value_dim > 65536)
    for (std::int64_t unit = 0; unit < units; ++unit) {
      const std::int64_t at = unit * n.value_dim, head = unit % n.heads;
      Real mean = 0, variance = 0;
      for (std::int64_t i = 0; i < n.value_dim; ++i) mean += o[at + i];
      mean /= static_cast<Real>(n.value_dim);
      for (std::int64_t i = 0; i < n.value_dim; ++i)
        variance += (o[at + i] - mean) * (o[at + i] - mean);
      variance /= static_cast<Real>(n.value_dim);
      const Real factor = 1 / std::sqrt(variance + static_cast<Real>(gla_layer_epsilon));
      for (std::int64_t i = 0; i < n.value_dim; ++i) {
        const Real open = static_cast<Real>(r[at + i]) + bias[head * n.value_dim + i];
        const Real swish = open / (1 + std::exp(-open));
        const Real value = swish * (o[at + i] - mean) * factor;
        gated[at + i] = std::is_same_v<Real, double>
                            ? value
                            : static_cast<Real>(round_to(problem_.dtype, value));
      }
    }
    return gated;
  }

  const Problem& problem_;
  const HostTensors& inputs_;
  Operand operand_;
  Inner inner_;
};

ReferenceTensors reference(const Problem& problem, const HostTensors& inputs) {
  const Operator& gla = *find_operator("gla");
  return Chain<double, double (*)(double), decltype(gla.reference)>(
             problem, inputs, [](double x) { return x; }, gla.reference)
      .run();
}

// The plain computation. Sums are float32. The operands of every product are rounded to what the
// arithmetic keeps (10 explicit mantissa bits for tf32 and float16, 7 for bfloat16). gla is its own
// plain computation. Every tensor between the stages is stored in the problem's dtype.
HostTensors baseline(const Problem& problem, const HostTensors& inputs, Arithmetic arithmetic) {
  const auto inner = [arithmetic](const Problem& recurrence, const HostTensors& stage) {
    const Operator& gla = *find_operator("gla");
    HostTensors outputs = gla.baseline(recurrence, stage, arithmetic);
    round_outputs(gla.tensors(recurrence), outputs);
    return outputs;
  };
  const auto run = [&](auto operand) {
    return Chain<float, decltype(operand), decltype(inner)>(problem, inputs, operand, inner).run();
  };
  return with_operand_rounding(arithmetic, run);
}

}  // namespace

Operator gla_layer_operator() {
  Operator op;
  op.name = "gla_layer";
  op.summary =
      "Y = (swish(x W_r + b_r) (.) LN(gla(x W_q, x W_k, x W_v, logsigmoid((x W_1) W_2 + b_g)/16))) "
      "W_O";
  op.directions = {Direction::forward};
  op.gates = {"mild", "none", "strong", "per_channel"};
  op.extents.push_back("model_dim");
  op.options = {{"gate_divisor", {"16", "1"}, "what divides the logsigmoid that makes the gates"}};
  op.refuse = [](const Problem& problem) -> std::optional<std::string> {
    if (problem.layout == Layout::head_first)
      return "head_first: the layer's tensors have no heads to put first";
    return std::nullopt;
  };
  op.default_scale = [](const Problem& problem) {
    return 1 / std::sqrt(static_cast<double>(problem.shape.key_dim));
  };
  op.tensors = tensors;
  op.work = work;
  op.draw = draw;
  // Not the weights, since keys are correlated with queries through them.
  op.signed_inputs = [](const Problem&) { return std::vector<std::string>{"x", "initial_state"}; };
  op.reference = reference;
  op.second_form = gla_layer_forms::second_form;
  op.baseline = baseline;
  return op;
}

}  // namespace gla_bench
