#include "kernels/linear_recurrence/host/backward/gradients.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/operator.hpp"

namespace gla_bench::linear_recurrence::host {
namespace {

GradientParams params_of(const HostCall& call) {
  GradientParams params;
  std::memcpy(&params, call.params.data(), sizeof params);
  return params;
}

// The derivative of a feature by its element: e^x = feature below 0, and 1 above.
float feature_slope(float feature) {
  return feature > 1 ? 1.0f : feature;
}

void multiply_by_slopes(const GradientCall& call, long long elements, const float* features,
                        float* x) {
  if (!call.elu_features) return;
  for (long long i = 0; i < elements; ++i) x[i] *= feature_slope(features[i]);
}

// The log decay is -exp(w), and its derivative by w is the log decay itself. Where the decay is 0
// its gradient is 0, whatever the derivative.
void go_to_raw_gates(const Call& call, const Rows& at, float* dg) {
  std::vector<float> log_decays = scratch(at.rows * call.keys);
  load_log_decays(call, at, log_decays.data());
  for (std::size_t i = 0; i < log_decays.size(); ++i)
    dg[i] = std::isinf(log_decays[i]) ? 0.0f : dg[i] * log_decays[i];
}

void store_gates(const GradientCall& call, const Rows& at, float* dg, double& constant) {
  const Rows keys{at.pair, at.first, at.rows, 0, call.keys};
  if (call.decay == Decay::none) return;
  if (call.decay == Decay::per_key) {
    if (call.raw_gates) go_to_raw_gates(call, at, dg);
    store_rows(call, DType::float32, call.g.d_gate, call.p.gate_strides, keys, dg, call.keys);
    return;
  }
  for (long long t = 0; t < at.rows; ++t) {
    double sum = 0;
    for (long long i = 0; i < call.keys; ++i) sum += dg[t * call.keys + i];
    dg[t] = static_cast<float>(sum);  // of a token whose row is read no more
    constant += sum;
  }
  if (call.decay == Decay::per_token)
    store_rows(call, DType::float32, call.g.d_gate, call.p.gate_strides,
               {at.pair, at.first, at.rows, 0, 1}, dg, 1);
}

}  // namespace

std::vector<Region> gradient_regions(const Problem& problem, std::vector<Region> own,
                                     double tasks) {
  const Shape& s = problem.shape;
  const auto bytes = [](double elements, double each) {
    return static_cast<std::size_t>(elements * each);
  };
  const double tokens = static_cast<double>(s.batch) * static_cast<double>(s.seq * s.heads);
  if (flag(problem, "normalize"))
    own.push_back({outputs_region, bytes(tokens * static_cast<double>(s.value_dim + 1), 4)});
  if (has_head_sums(problem))
    own.push_back({sums_region, bytes(tasks * static_cast<double>(s.key_dim + 1), 8)});
  return own;
}

GradientCall::GradientCall(const HostCall& call)
    : Call(call), g(params_of(call)), width(values + extra) {}

void keep_output_gradients(const GradientCall& call, const Rows& at, const float* outputs) {
  if (call.extra == 0) return;
  const long long width = call.width, values = call.values;
  float* kept = call.g.d_outputs + call.row(at.pair, at.first) * width;
  load_rows(call, call.dtype, call.g.d_o, call.g.value_strides, at, kept, width);
  for (long long t = 0; t < at.rows; ++t, kept += width, outputs += width) {
    const float divisor = outputs[values] + call.p.epsilon;
    double sum = 0;  // where a divisor is near zero, its gradient is all that counts
    for (long long e = 0; e < values; ++e) {
      kept[e] /= divisor;
      sum += static_cast<double>(kept[e]) * outputs[e];
    }
    kept[values] = static_cast<float>(-sum / divisor);
  }
}

void leave_outputs(const GradientCall& call, const Rows& at, const float* outputs) {
  if (!call.trains()) {
    keep_output_gradients(call, at, outputs);
    return;
  }
  store_outputs(call, at, outputs);
  if (call.extra > 0)
    std::copy_n(outputs, at.rows * call.width,
                call.g.d_outputs + call.row(at.pair, at.first) * call.width);
}

void take_outputs(const GradientCall& call, const Rows& at) {
  if (!call.trains() || call.extra == 0) return;
  const float* kept = call.g.d_outputs + call.row(at.pair, at.first) * call.width;
  const std::vector<float> outputs(kept, kept + at.rows * call.width);
  keep_output_gradients(call, at, outputs.data());
}

void load_output_gradients(const GradientCall& call, const Rows& at, float* out) {
  if (call.extra == 0)
    load_rows(call, call.dtype, call.g.d_o, call.g.value_strides, at, out, call.width);
  else
    std::copy_n(call.g.d_outputs + call.row(at.pair, at.first) * call.width, at.rows * call.width,
                out);
}

void load_final_gradient(const GradientCall& call, long long pair, float* out) {
  std::fill_n(out, call.keys * call.width, 0.0f);
  if (!call.g.d_final_state) return;
  load_state(call, call.g.d_final_state, pair, 0, call.values, out, call.width);
  for (long long i = 0; call.g.d_final_normalizer && i < call.keys; ++i)
    out[i * call.width + call.values] = call.g.d_final_normalizer[pair * call.keys + i];
}

void store_initial_gradient(const GradientCall& call, long long pair, const float* in) {
  if (!call.g.d_initial_state) return;
  store_state(call, call.g.d_initial_state, pair, 0, call.values, in, call.width);
  for (long long i = 0; call.g.d_initial_normalizer && i < call.keys; ++i)
    call.g.d_initial_normalizer[pair * call.keys + i] = in[i * call.width + call.values];
}

void store_gradients(const GradientCall& call, const Rows& at, const PieceGradients& of,
                     double& constant) {
  const long long elements = at.rows * call.keys;
  const Rows keys{at.pair, at.first, at.rows, 0, call.keys};
  multiply_by_slopes(call, elements, of.q, of.dq);
  multiply_by_slopes(call, elements, of.k, of.dk);
  store_rows(call, call.dtype, call.g.dq, call.g.key_strides, keys, of.dq, call.keys);
  store_rows(call, call.dtype, call.g.dk, call.g.key_strides, keys, of.dk, call.keys);
  store_rows(call, call.dtype, call.g.dv, call.g.value_strides, at, of.dv, call.width);
  store_gates(call, at, of.dg, constant);
}

void keep_sums(const GradientCall& call, long long task, const HeadSums& sums) {
  if (!call.g.sums) return;
  double* to = call.g.sums + task * (call.keys + 1);
  std::copy(sums.bonus.begin(), sums.bonus.end(), to);
  to[call.keys] = sums.constant;
}

void store_sums(const GradientCall& call, std::span<const long long> pairs) {
  if (!call.g.sums) return;
  const long long row = call.keys + 1;
  std::vector<double> totals(static_cast<std::size_t>(call.p.heads * row));
  for (std::size_t task = 0; task < pairs.size(); ++task) {
    const double* from = call.g.sums + static_cast<long long>(task) * row;
    double* to = totals.data() + call.head(pairs[task]) * row;
    for (long long i = 0; i < row; ++i) to[i] += from[i];
  }
  for (long long h = 0; h < call.p.heads; ++h) {
    for (long long i = 0; call.before_update && i < call.keys; ++i)
      call.g.du[h * call.keys + i] = static_cast<float>(totals[h * row + i]);
    if (call.decay == Decay::per_head)
      call.g.d_gate[h] = static_cast<float>(totals[h * row + call.keys]);
  }
}

void store_sums(const GradientCall& call) {
  std::vector<long long> pairs(static_cast<std::size_t>(call.pairs));
  std::iota(pairs.begin(), pairs.end(), 0LL);
  store_sums(call, pairs);
}

}  // namespace gla_bench::linear_recurrence::host
