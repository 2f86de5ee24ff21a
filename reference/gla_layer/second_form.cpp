#include "reference/gla_layer/second_form.hpp"

#include <cmath>
#include <string>
#include <tuple>

#include "reference/gla_layer/backward.hpp"
#include "reference/gla_layer/gla_layer.hpp"

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

// low W_2 + b_g
std::vector<double> gate_sums(const Sizes& n, const std::vector<float>& low,
                              const HostTensors& inputs) {
  std::vector<double> sums = product(low, inputs.at("w_2"), n.rows, gla_layer_rank, n.keys);
  for (std::int64_t i = 0; i < n.rows * n.keys; ++i)
    sums[i] += static_cast<double>(inputs.at("b_g")[i % n.keys]);
  return sums;
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

// The projections of x and the gates, stored in the dtype, and the initial state.
HostTensors stages(const Problem& problem, const HostTensors& inputs) {
  const Sizes n = sizes(problem);
  const auto projection = [&](const char* weight, std::int64_t columns) {
    return stored(problem.dtype,
                  product(inputs.at("x"), inputs.at(weight), n.rows, n.model, columns));
  };
  HostTensors stage{{"q", projection("w_q", n.keys)},
                    {"k", projection("w_k", n.keys)},
                    {"v", projection("w_v", n.values)},
                    {"r", projection("w_r", n.values)},
                    {"low", projection("w_1", gla_layer_rank)}};
  std::vector<double> gates = gate_sums(n, stage.at("low"), inputs);
  for (double& gate : gates) gate = log_sigmoid(gate) / gate_divisor(problem);
  stage["g"] = stored(problem.dtype, gates);
  if (problem.initial_state) stage["initial_state"] = inputs.at("initial_state");
  return stage;
}

// a b^T, of a [rows, columns] and b [length, columns].
template <class Real>
std::vector<double> times_transposed(const std::vector<Real>& a, const std::vector<float>& b,
                                     std::int64_t rows, std::int64_t columns, std::int64_t length) {
  std::vector<double> c;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t j = 0; j < length; ++j) {
      double sum = 0;
      for (std::int64_t i = columns; i-- > 0;)
        sum += static_cast<double>(a[row * columns + i]) * static_cast<double>(b[j * columns + i]);
      c.push_back(sum);
    }
  return c;
}

// a^T b, of a [rows, length] and b [rows, columns]: what every token adds to the gradient of a
// weight.
template <class A, class B>
std::vector<double> over_tokens(const std::vector<A>& a, const std::vector<B>& b, std::int64_t rows,
                                std::int64_t length, std::int64_t columns) {
  std::vector<double> c(static_cast<std::size_t>(length * columns), 0.0);
  for (std::int64_t row = rows; row-- > 0;)
    for (std::int64_t i = 0; i < length; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        c[i * columns + j] +=
            static_cast<double>(a[row * length + i]) * static_cast<double>(b[row * columns + j]);
  return c;
}

// The gradients of o and of r + b_r. The norm's derivatives are written out, as the matrix of
// (delta_ij - 1/V - n_i n_j / V) / spread.
void norm_and_gate_gradients(const Sizes& n, const std::vector<double>& o,
                             const std::vector<float>& r, const std::vector<float>& b_r,
                             const std::vector<float>& d_gated, std::vector<double>& d_o,
                             std::vector<double>& d_open) {
  const auto count = static_cast<double>(n.value_dim);
  for (std::int64_t unit = 0; unit < n.rows * n.heads; ++unit) {
    const std::int64_t first = unit * n.value_dim;
    const double* x = o.data() + first;
    double mean = 0;
    for (std::int64_t i = n.value_dim; i-- > 0;) mean += x[i] / count;
    const double spread = std::sqrt(variance(x, n.value_dim) + gla_layer_epsilon);
    const auto normed = [&](std::int64_t i) { return (x[i] - mean) / spread; };
    for (std::int64_t i = 0; i < n.value_dim; ++i) {
      const double open = static_cast<double>(r[first + i]) +
                          static_cast<double>(b_r[unit % n.heads * n.value_dim + i]);
      const double sigmoid = std::exp(log_sigmoid(open)), closed = std::exp(log_sigmoid(-open));
      const auto change = static_cast<double>(d_gated[first + i]);
      d_open[first + i] = change * normed(i) * (sigmoid + open * sigmoid * closed);
      for (std::int64_t j = 0; j < n.value_dim; ++j)
        d_o[first + j] += change * open * sigmoid *
                          ((i == j ? 1.0 : 0.0) - 1 / count - normed(i) * normed(j) / count) /
                          spread;
    }
  }
}

}  // namespace

ReferenceTensors second_forward(const Problem& problem, const HostTensors& inputs) {
  const Sizes n = sizes(problem);
  const HostTensors stage = stages(problem, inputs);
  ReferenceTensors outputs = find_operator("gla")->second_form(recurrence_of(problem), stage);
  const std::vector<double> gated =
      norm_and_gate(n, outputs.at("o"), stage.at("r"), inputs.at("b_r"));
  outputs.erase("o");
  outputs["y"] = product(gated, inputs.at("w_o"), n.rows, n.values, n.model);
  return outputs;
}

ReferenceTensors second_backward(const Problem& problem, const HostTensors& inputs) {
  const Sizes n = sizes(problem);
  const Operator& gla = *find_operator("gla");
  HostTensors stage = stages(problem, inputs);
  const std::vector<float>&x = inputs.at("x"), &dy = inputs.at("dy"), &b_r = inputs.at("b_r");
  const Problem inner = recurrence_of(problem);
  const std::vector<double> o =
      gla.second_form(in_direction(inner, Direction::forward), stage).at("o");
  const std::vector<float> d_gated =
      stored(problem.dtype, times_transposed(dy, inputs.at("w_o"), n.rows, n.model, n.values));
  std::vector<double> d_o(o.size(), 0.0), d_open(o.size(), 0.0);
  norm_and_gate_gradients(n, o, stage.at("r"), b_r, d_gated, d_o, d_open);
  stage["do"] = stored(problem.dtype, d_o);
  if (problem.final_state) stage["dfinal_state"] = inputs.at("dfinal_state");
  ReferenceTensors inside = gla.second_form(in_direction(inner, Direction::backward), stage);
  std::vector<double>& d_gate = inside.at("dg");
  const std::vector<double> z = gate_sums(n, stage.at("low"), inputs);
  for (std::size_t i = 0; i < z.size(); ++i)
    d_gate[i] *= std::exp(log_sigmoid(-z[i])) / gate_divisor(problem);
  inside["dr"] = d_open;
  inside["dlow"] = times_transposed(d_gate, inputs.at("w_2"), n.rows, n.keys, gla_layer_rank);

  const std::vector<float> ones(static_cast<std::size_t>(n.rows), 1.0f);
  ReferenceTensors gradients;
  gradients["dw_o"] =
      over_tokens(norm_and_gate(n, o, stage.at("r"), b_r), dy, n.rows, n.values, n.model);
  gradients["dw_2"] = over_tokens(stage.at("low"), d_gate, n.rows, gla_layer_rank, n.keys);
  gradients["db_g"] = over_tokens(ones, d_gate, n.rows, 1, n.keys);
  gradients["db_r"] = over_tokens(ones, d_open, n.rows, 1, n.values);
  if (problem.initial_state) gradients["dinitial_state"] = inside.at("dinitial_state");
  std::vector<double>& dx = gradients["dx"];
  dx.assign(x.size(), 0.0);
  for (const auto& [weight, change, columns] :
       {std::tuple{"w_q", "dq", n.keys}, std::tuple{"w_k", "dk", n.keys},
        std::tuple{"w_v", "dv", n.values}, std::tuple{"w_r", "dr", n.values},
        std::tuple{"w_1", "dlow", gla_layer_rank}}) {
    const std::vector<double>& changes = inside.at(change);
    gradients[std::string("d") + weight] = over_tokens(x, changes, n.rows, n.model, columns);
    const std::vector<double> part =
        times_transposed(changes, inputs.at(weight), n.rows, columns, n.model);
    for (std::size_t i = 0; i < dx.size(); ++i) dx[i] += part[i];
  }
  return gradients;
}

}  // namespace gla_bench::gla_layer_forms
