#include "reference/softmax/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/rounding.hpp"
#include "reference/inputs.hpp"

namespace gla_bench {
namespace {

using Role = TensorSpec::Role;

constexpr double infinity = std::numeric_limits<double>::infinity();

double scale(const Problem& problem) {
  return problem.scale.value_or(1.0);
}

bool backward(const Problem& problem) {
  return problem.direction == Direction::backward;
}

std::vector<TensorSpec> tensors(const Problem& problem) {
  const std::vector<std::int64_t> extents{problem.shape.batch, problem.shape.columns};
  TensorSpec out{backward(problem) ? "dx" : "y", Role::output, problem.dtype, extents};
  out.rounded_factors = 0;  // no products of matrices
  const TensorSpec x{"x", Role::input, problem.dtype, extents};
  const TensorSpec y{"y", Role::input, problem.dtype, extents};
  const TensorSpec dy{"dy", Role::input, problem.dtype, extents};
  if (backward(problem)) return {y, dy, out};
  return {x, out};
}

Work work(const Problem& problem) {
  const double elements =
      static_cast<double>(problem.shape.batch) * static_cast<double>(problem.shape.columns);
  const auto size = static_cast<double>(size_of(problem.dtype));
  // For each element of the forward: the comparison, the subtraction, its exponential, the sum and
  // the quotient. Of the backward: a product and its sum, a subtraction and two products.
  return {(backward(problem) ? 3 : 2) * elements * size, 5 * elements};
}

double large(double value) {
  return std::clamp(3000 * value, -1e4, 1e4);
}

// Regimes:
// - normal: N(0,1)
// - large: 3000 N(0,1), at most 1e4 in magnitude; in a backward so is dy, and x is normal. (Large x
//   have all weight on one element of nearly every row, and gradients that are differences of equal
//   numbers.)
// - shifted: 1e4 + 8 N(0,1)
// - masked: normal, but 30 % of the elements are -inf, and so is the whole fourth row of every five
HostTensors draw_rows(const Problem& problem) {
  const std::int64_t columns = problem.shape.columns, count = problem.shape.batch * columns;
  std::vector<float> x = draw_normal(stream(problem.seed, "x"), count, problem.dtype);
  const Stream holes = stream(problem.seed, "x.mask");
  const auto shaped = [&](double value, std::int64_t i) {
    if (problem.gate == "large") return backward(problem) ? value : large(value);
    if (problem.gate == "shifted") return 1e4 + 8 * value;
    const bool hole =
        i / columns % 5 == 3 || random_uniform(holes, static_cast<std::uint64_t>(i)) < 0.3;
    return problem.gate == "masked" && hole ? -infinity : value;
  };
#pragma omp parallel for schedule(static) if (count > 65536)
  for (std::int64_t i = 0; i < count; ++i) x[i] = round_to(problem.dtype, shaped(x[i], i));
  return {{"x", std::move(x)}};
}

// One row in the arithmetic of Real, in three passes. The difference is scaled, not the elements,
// because the difference is exact where both are large. The largest logit is the smallest element
// where the scale is below 0, so elements carry its sign.
template <class Real>
void softmax_row(const float* x, std::int64_t columns, Real scale, Real* y) {
  const Real sign = scale < 0 ? Real(-1) : Real(1), size = std::abs(scale);
  Real most = -std::numeric_limits<Real>::infinity(), sum = 0;
  for (std::int64_t i = 0; i < columns; ++i) most = std::max(most, sign * static_cast<Real>(x[i]));
  if (std::isinf(most) && most < 0) {
    std::fill_n(y, columns, Real(0));
    return;
  }
  for (std::int64_t i = 0; i < columns; ++i) {
    y[i] = std::exp(size * (sign * static_cast<Real>(x[i]) - most));
    sum += y[i];
  }
  for (std::int64_t i = 0; i < columns; ++i) y[i] /= sum;
}

template <class Real>
std::vector<Real> rows(const Problem& problem, const HostTensors& inputs) {
  const std::int64_t columns = problem.shape.columns;
  const std::vector<float>& x = inputs.at("x");
  std::vector<Real> y(x.size());
#pragma omp parallel for schedule(static) if (x.size() > 65536)
  for (std::int64_t row = 0; row < problem.shape.batch; ++row)
    softmax_row(x.data() + row * columns, columns, static_cast<Real>(scale(problem)),
                y.data() + row * columns);
  return y;
}

/// dx = scale y (dy - the sum of y dy over the row), of the y that is given, in the arithmetic of
/// Real.
template <class Real>
std::vector<Real> gradients(const Problem& problem, const HostTensors& inputs) {
  const std::int64_t columns = problem.shape.columns;
  const std::vector<float>&y = inputs.at("y"), &dy = inputs.at("dy");
  const auto factor = static_cast<Real>(scale(problem));
  std::vector<Real> dx(y.size());
#pragma omp parallel for schedule(static) if (y.size() > 65536)
  for (std::int64_t row = 0; row < problem.shape.batch; ++row) {
    const std::int64_t first = row * columns, end = first + columns;
    Real sum = 0;
    for (std::int64_t i = first; i < end; ++i)
      sum += static_cast<Real>(y[i]) * static_cast<Real>(dy[i]);
    for (std::int64_t i = first; i < end; ++i)
      dx[i] = factor * static_cast<Real>(y[i]) * (static_cast<Real>(dy[i]) - sum);
  }
  return dx;
}

/// The backward is given the outputs of the forward, rounded to the problem's dtype.
HostTensors draw(const Problem& problem) {
  HostTensors inputs = draw_rows(problem);
  if (!backward(problem)) return inputs;
  const std::vector<double> exact = rows<double>(problem, inputs);
  std::vector<float> y(exact.size());
#pragma omp parallel for schedule(static) if (y.size() > 65536)
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = round_to(problem.dtype, exact[i]);
  std::vector<float> dy =
      draw_normal(stream(problem.seed, "dy"), static_cast<std::int64_t>(y.size()), problem.dtype);
  if (problem.gate == "large")
    for (float& value : dy) value = round_to(problem.dtype, large(value));
  return {{"y", std::move(y)}, {"dy", std::move(dy)}};
}

ReferenceTensors reference(const Problem& problem, const HostTensors& inputs) {
  if (backward(problem)) return {{"dx", gradients<double>(problem, inputs)}};
  return {{"y", rows<double>(problem, inputs)}};
}

// log(e^x[0] + ..), by halves. Each sum of two parts is formed from the larger and the smaller one.
long double log_sum(const float* x, std::int64_t count, long double scale) {
  if (count == 1) return scale * x[0];
  const long double a = log_sum(x, count / 2, scale);
  const long double b = log_sum(x + count / 2, count - count / 2, scale);
  const long double high = std::max(a, b), low = std::min(a, b);
  return std::isinf(low) ? high : high + std::log1p(std::exp(low - high));
}

// Each row's gradient times the matrix of its derivatives, d y_j / d x_i = scale (y_i [i = j] -
// y_i y_j), element by element.
ReferenceTensors second_gradients(const Problem& problem, const HostTensors& inputs) {
  const std::int64_t columns = problem.shape.columns;
  std::vector<double> dx(inputs.at("y").size());
  for (std::int64_t row = 0; row < problem.shape.batch; ++row) {
    const float* y = inputs.at("y").data() + row * columns;
    const float* dy = inputs.at("dy").data() + row * columns;
    for (std::int64_t i = 0; i < columns; ++i) {
      long double sum = 0;
      for (std::int64_t j = 0; j < columns; ++j) {
        const long double own = y[i], other = y[j];
        sum += (i == j ? own - own * other : -own * other) * dy[j];
      }
      dx[row * columns + i] = static_cast<double>(static_cast<long double>(scale(problem)) * sum);
    }
  }
  return {{"dx", std::move(dx)}};
}

// y = e^(x - log of the row's sum), without a maximum and without a quotient.
ReferenceTensors second_form(const Problem& problem, const HostTensors& inputs) {
  if (backward(problem)) return second_gradients(problem, inputs);
  const std::int64_t columns = problem.shape.columns;
  const std::vector<float>& x = inputs.at("x");
  std::vector<double> y(x.size());
  for (std::int64_t row = 0; row < problem.shape.batch; ++row) {
    const float* in = x.data() + row * columns;
    const auto factor = static_cast<long double>(scale(problem));
    const long double total = log_sum(in, columns, factor);
    for (std::int64_t i = 0; i < columns; ++i)
      y[row * columns + i] =
          std::isinf(total) ? 0.0 : static_cast<double>(std::exp(factor * in[i] - total));
  }
  return {{"y", std::move(y)}};
}

// There are no products to round, so it is float32 in every arithmetic.
HostTensors baseline(const Problem& problem, const HostTensors& inputs, Arithmetic) {
  if (backward(problem)) return {{"dx", gradients<float>(problem, inputs)}};
  return {{"y", rows<float>(problem, inputs)}};
}

std::optional<std::string> refuse(const Problem& problem) {
  if (scale(problem) == 0) return "a softmax of scale 0 does not depend on its rows";
  if (scale(problem) < 0 && problem.gate == "masked")
    return "the regime masked has -inf, which a scale below 0 makes infinite";
  return std::nullopt;
}

}  // namespace

Operator softmax_operator() {
  Operator op;
  op.name = "softmax";
  op.summary = "softmax over rows: y = exp(scale x) / sum of exp(scale x)";
  op.directions = {Direction::forward, Direction::backward};
  op.gates = {"normal", "large", "shifted", "masked"};
  op.extents = {"batch", "columns"};
  op.default_scale = [](const Problem&) { return 1.0; };
  op.refuse = refuse;
  op.tensors = tensors;
  op.work = work;
  op.draw = draw;
  op.signed_inputs = [](const Problem& problem) {
    return std::vector<std::string>{backward(problem) ? "dy" : "x"};
  };
  op.reference = reference;
  op.second_form = second_form;
  op.baseline = baseline;
  return op;
}

}  // namespace gla_bench
