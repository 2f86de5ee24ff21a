#pragma once
// The layer in the arithmetic of Real, with its products through BLAS: the definition in float64
// and the plain computation in float32 are the same code. gla_layer.cpp runs it forwards,
// backward.cpp backwards.

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/rounding.hpp"
#include "reference/gla_layer/gla_layer.hpp"
#include "reference/gla_layer/second_form.hpp"
#include "reference/round_outputs.hpp"

namespace gla_bench::gla_layer_forms {

/// gla's float64 reference.
inline auto exact_recurrence(const References& references) {
  return [&references](const Problem& recurrence, const HostTensors& tensors) {
    return references.reference(*find_operator("gla"), recurrence, tensors);
  };
}

/// gla's plain computation, with its outputs as they are stored between the layer's stages.
inline auto plain_recurrence(const References& references, Arithmetic arithmetic) {
  return [&references, arithmetic](const Problem& recurrence, const HostTensors& tensors) {
    const Operator& gla = *find_operator("gla");
    HostTensors outputs = references.baseline(gla, recurrence, tensors, arithmetic);
    round_outputs(gla.tensors(recurrence), outputs);
    return outputs;
  };
}

/// One operand of a product: a row-major matrix, or the transpose of one.
template <class Real>
struct Matrix {
  const std::vector<Real>& values;
  bool transposed = false;
};

inline void gemm(CBLAS_TRANSPOSE a_order, CBLAS_TRANSPOSE b_order, blasint m, blasint n, blasint k,
                 const double* a, blasint lda, const double* b, blasint ldb, double* c) {
  cblas_dgemm(CblasRowMajor, a_order, b_order, m, n, k, 1.0, a, lda, b, ldb, 0.0, c, n);
}

inline void gemm(CBLAS_TRANSPOSE a_order, CBLAS_TRANSPOSE b_order, blasint m, blasint n, blasint k,
                 const float* a, blasint lda, const float* b, blasint ldb, float* c) {
  cblas_sgemm(CblasRowMajor, a_order, b_order, m, n, k, 1.0f, a, lda, b, ldb, 0.0f, c, n);
}

/// a [m,k] times b [k,n].
template <class Real>
std::vector<Real> multiply(std::int64_t m, std::int64_t k, std::int64_t n, Matrix<Real> a,
                           Matrix<Real> b) {
  const auto size = [](std::int64_t extent) { return static_cast<blasint>(extent); };
  const auto order = [](bool transposed) { return transposed ? CblasTrans : CblasNoTrans; };
  std::vector<Real> c(static_cast<std::size_t>(m * n));
  gemm(order(a.transposed), order(b.transposed), size(m), size(n), size(k), a.values.data(),
       size(a.transposed ? m : k), b.values.data(), size(b.transposed ? k : n), c.data());
  return c;
}

/// The forward up to o, and what follows it. `Operand` rounds the operands of a product.
template <class Real, class Operand>
class Chain {
 public:
  using Values = std::vector<Real>;

  Chain(const Problem& problem, const HostTensors& inputs, Operand operand)
      : problem_(problem), inputs_(inputs), operand_(operand), n_(sizes(problem)) {}

  /// q, k, v, r, low and g, stored in the dtype, and the initial state.
  HostTensors stages() const {
    HostTensors stage;
    const Values x = input("x");
    for (const auto& [weight, name, columns] : projections())
      stage[name] = rounded(multiply<Real>(n_.rows, n_.model, columns, {x}, {input(weight)}));
    stage["g"] = gates(stage.at("low"));
    if (problem_.initial_state) stage["initial_state"] = inputs_.at("initial_state");
    return stage;
  }

  struct Projection {
    const char *weight, *result;
    std::int64_t columns;
  };
  /// The products of x, by weight.
  std::vector<Projection> projections() const {
    return {{"w_q", "q", n_.keys},
            {"w_k", "k", n_.keys},
            {"w_v", "v", n_.values},
            {"w_r", "r", n_.values},
            {"w_1", "low", gla_layer_rank}};
  }

  /// low W_2 + b_g, the argument of the logsigmoid.
  Values gate_sums(const std::vector<float>& low) const {
    Values z = multiply<Real>(n_.rows, gla_layer_rank, n_.keys, {operands(low)}, {input("w_2")});
    const std::vector<float>& bias = inputs_.at("b_g");
    const auto count = static_cast<std::int64_t>(z.size());
#pragma omp parallel for schedule(static) if (count > 65536)
    for (std::int64_t i = 0; i < count; ++i) z[i] += static_cast<Real>(bias[i % n_.keys]);
    return z;
  }

  /// Calls work(first element, mean, 1 / sqrt(variance + epsilon)) for each row of each head of o.
  template <class Work>
  void over_rows(const Values& o, Work work) const {
    const std::int64_t units = n_.rows * n_.heads;
#pragma omp parallel for schedule(static) if (units * n_.value_dim > 65536)
    for (std::int64_t unit = 0; unit < units; ++unit) {
      const std::int64_t at = unit * n_.value_dim;
      Real mean = 0, variance = 0;
      for (std::int64_t i = 0; i < n_.value_dim; ++i) mean += o[at + i];
      mean /= static_cast<Real>(n_.value_dim);
      for (std::int64_t i = 0; i < n_.value_dim; ++i)
        variance += (o[at + i] - mean) * (o[at + i] - mean);
      variance /= static_cast<Real>(n_.value_dim);
      work(at, mean, 1 / std::sqrt(variance + static_cast<Real>(gla_layer_epsilon)));
    }
  }

  /// r + b_r of an element.
  Real open(const std::vector<float>& r, std::int64_t at) const {
    return static_cast<Real>(r[at]) + static_cast<Real>(inputs_.at("b_r")[at % n_.values]);
  }

  /// swish(r + b_r) (.) LN(o), as the product with W_O reads it. In float64 it stays unrounded, in
  /// float32 it is rounded to the dtype.
  Values norm_and_gate(const Values& o, const std::vector<float>& r) const {
    Values gated(o.size());
    over_rows(o, [&](std::int64_t at, Real mean, Real factor) {
      for (std::int64_t i = at; i < at + n_.value_dim; ++i) {
        const Real x = open(r, i);
        gated[i] = between(x / (1 + std::exp(-x)) * (o[i] - mean) * factor);
      }
    });
    return gated;
  }

  /// A value that the plain computation stores in the dtype, and that the definition does not
  /// round; then as an operand.
  Real between(Real value) const {
    if (std::is_same_v<Real, double>) return operand_(value);
    return operand_(static_cast<Real>(round_to(problem_.dtype, value)));
  }

  Values operands(const std::vector<float>& values) const {
    Values result(values.size());
    const auto count = static_cast<std::int64_t>(values.size());
#pragma omp parallel for schedule(static) if (count > 65536)
    for (std::int64_t i = 0; i < count; ++i) result[i] = operand_(static_cast<Real>(values[i]));
    return result;
  }

  Values input(const char* name) const {
    return operands(inputs_.at(name));
  }

  std::vector<float> rounded(const Values& values) const {
    return stored(problem_.dtype, {values.begin(), values.end()});
  }

 private:
  std::vector<float> gates(const std::vector<float>& low) const {
    Values z = gate_sums(low);
    const auto divisor = static_cast<Real>(gate_divisor(problem_));
    const auto count = static_cast<std::int64_t>(z.size());
#pragma omp parallel for schedule(static) if (count > 65536)
    for (std::int64_t i = 0; i < count; ++i)
      z[i] = (std::min(z[i], Real(0)) - std::log1p(std::exp(-std::abs(z[i])))) / divisor;
    return rounded(z);
  }

  const Problem& problem_;
  const HostTensors& inputs_;
  Operand operand_;
  Sizes n_;
};

}  // namespace gla_bench::gla_layer_forms
