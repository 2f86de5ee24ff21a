#include "reference/gla_layer_second_form.hpp"

#include <cmath>

#include "reference/gla_layer.hpp"

namespace gla_bench::gla_layer_forms {
namespace {

// Row `row` of a [rows, length] matrix times column `column` of a [length, columns] matrix.
template <class Real>
double dot(const std::vector<Real>& a, std::int64_t row, const std::vector<float>& b,
           std::int64_t column, std::int64_t length, std::int64_t columns) {
  double sum = 0;
  for (std::int64_t i = length; i-- > 0;)
    sum += static_cast<double>(a[row * length + i]) * static_cast<double>(b[i * columns + column]);
  return sum;
}

template <class Real>
std::vector<double> product(const std::vector<Real>& a, const std::vector<float>& b,
                            std::int64_t rows, std::int64_t length, std::int64_t columns) {
  std::vector<double> c;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column)
      c.push_back(dot(a, row, b, column, length, columns));
  return c;
}

// log(sigmoid(z)), accurate in both tails.
double log_sigmoid(double z) {
  return z > 0 ? -std::log1p(std::exp(-z)) : z - std::log1p(std::exp(z));
}

// The variance as the mean of all (x_i - x_j)^2 / 2.
double variance(const double* x, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t j = 0; j < i; ++j) sum += (x[i] - x[j]) * (x[i] - x[j]);
  return sum / (static_cast<double>(count) * static_cast<double>(count));
}

// swish(r + b_r) (.) LN(o)
std::vector<double> norm_and_gate(const Sizes& n, const std::vector<double>& o,
                                  const std::vector<float>& r, const std::vector<float>& b_r) {
  std::vector<double> gated(o.size());
  for (std::int64_t unit = 0; unit < n.rows * n.heads; ++unit) {
    const double* x = o.data() + unit * n.value_dim;
    double mean = 0;
    for (std::int64_t i = n.value_dim; i-- > 0;) mean += x[i] / static_cast<double>(n.value_dim);
    const double spread = std::sqrt(variance(x, n.value_dim) + gla_layer_epsilon);
    for (std::int64_t i = 0; i < n.value_dim; ++i) {
      const std::int64_t at = unit * n.value_dim + i;
      const double open =
          static_cast<double>(r[at]) + static_cast<double>(b_r[unit % n.heads * n.value_dim + i]);
      gated[at] = (x[i] - mean) / spread * open * std::exp(log_sigmoid(open));
    }
  }
  return gated;
}

}  // namespace

ReferenceTensors second_form(const Problem& problem, const HostTensors& inputs) {
  const Sizes n = sizes(problem);
  const DType dtype = problem.dtype;
  const std::vector<float>& x = inputs.at("x");
  const auto projection = [&](const char* weight, std::int64_t columns) {
    return stored(dtype, product(x, inputs.at(weight), n.rows, n.model, columns));
  };
  HostTensors stage{{"q", projection("w_q", n.keys)},
                    {"k", projection("w_k", n.keys)},
                    {"v", projection("w_v", n.values)}};
  std::vector<double> gates =
      product(projection("w_1", gla_layer_rank), inputs.at("w_2"), n.rows, gla_layer_rank, n.keys);
  for (std::size_t i = 0; i < gates.size(); ++i) {
    const auto channel = i % static_cast<std::size_t>(n.keys);
    gates[i] = log_sigmoid(gates[i] + static_cast<double>(inputs.at("b_g")[channel]));
    gates[i] /= gate_divisor(problem);
  }
  stage["g"] = stored(dtype, gates);
  if (problem.initial_state) stage["initial_state"] = inputs.at("initial_state");
  ReferenceTensors outputs = find_operator("gla")->second_form(recurrence_of(problem), stage);
  const std::vector<double> gated =
      norm_and_gate(n, outputs.at("o"), projection("w_r", n.values), inputs.at("b_r"));
  outputs.erase("o");
  outputs["y"] = product(gated, inputs.at("w_o"), n.rows, n.values, n.model);
  return outputs;
}

}  // namespace gla_bench::gla_layer_forms
