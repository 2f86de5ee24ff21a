#include "reference/linear_recurrence.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/rounding.hpp"
#include "reference/inputs.hpp"
#include "reference/linear_recurrence_quadratic.hpp"
#include "reference/linear_recurrence_traits.hpp"

namespace gla_bench {
namespace {

using Role = TensorSpec::Role;

// Below this much work threads are not worth waking.
constexpr double small_flops = 1e7;

template <class Traits>
std::vector<TensorSpec> tensors(const Problem& problem) {
  const Shape& s = problem.shape;
  const DType d = problem.dtype;
  const std::vector<std::int64_t> keys{s.batch, s.seq, s.heads, s.key_dim};
  const std::vector<std::int64_t> values{s.batch, s.seq, s.heads, s.value_dim};
  const std::vector<std::int64_t> state{s.batch, s.heads, s.key_dim, s.value_dim};
  const std::vector<std::int64_t> gates{s.batch, s.seq, s.heads, Traits::gate_channels(s)};
  std::vector<TensorSpec> list{{"q", Role::input, d, keys, true},
                               {"k", Role::input, d, keys, true},
                               {"v", Role::input, d, values, true},
                               {std::string(Traits::gate), Role::input, d, gates, true}};
  if (problem.initial_state)
    list.push_back({"initial_state", Role::input, DType::float32, state, false});
  list.push_back({"o", Role::output, d, values, true});
  if (problem.final_state)
    list.push_back({"final_state", Role::output, DType::float32, state, false});
  return list;
}

template <class Traits>
Work work(const Problem& problem) {
  const Shape& s = problem.shape;
  Work result;
  for (const TensorSpec& spec : tensors<Traits>(problem))
    result.floor_bytes += static_cast<double>(spec.bytes());
  // Per token and head: k v^T added to the state and the state read by q, 2KV each. The decay's KV
  // products are not counted, as is usual.
  result.flops = 4.0 * static_cast<double>(s.batch) * static_cast<double>(s.seq) *
                 static_cast<double>(s.heads) * static_cast<double>(s.key_dim) *
                 static_cast<double>(s.value_dim);
  return result;
}

template <class Traits>
HostTensors draw(const Problem& problem) {
  const Shape& s = problem.shape;
  HostTensors inputs;
  for (const TensorSpec& spec : tensors<Traits>(problem)) {
    if (spec.role != Role::input) continue;
    if (spec.name == Traits::gate)
      inputs[spec.name] = draw_gates(problem.gate, problem.seed, spec.name, s.batch * s.seq,
                                     s.heads, Traits::gate_channels(s), spec.dtype);
    else
      inputs[spec.name] = draw_normal(stream(problem.seed, spec.name), spec.elements(), spec.dtype);
  }
  return inputs;
}

// One (batch, head) pair and a block of the value dimension: independent of all others.
struct Slice {
  std::int64_t batch, head, first_value, values;
};

std::vector<Slice> slices(const Shape& s) {
  // Wide blocks share the exponentials; narrow ones feed the cores when there are few pairs.
  const bool few = s.batch * s.heads < 2 * omp_get_max_threads();
  const std::int64_t width = few ? 16 : 64;
  std::vector<Slice> list;
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t h = 0; h < s.heads; ++h)
      for (std::int64_t v = 0; v < s.value_dim; v += width)
        list.push_back({b, h, v, std::min(width, s.value_dim - v)});
  return list;
}

template <class Real>
using Outputs = std::map<std::string, std::vector<Real>>;

template <class Traits, class Real>
Outputs<Real> empty_outputs(const Problem& problem) {
  Outputs<Real> outputs;
  for (const TensorSpec& spec : tensors<Traits>(problem))
    if (spec.role == Role::output)
      outputs[spec.name].resize(static_cast<std::size_t>(spec.elements()));
  return outputs;
}

// The recurrence over one slice in the arithmetic of Real. `operand` rounds what enters a product
// with k, v or q: k and v when they are written to the state, the state and q when it is read.
// Sums over the key dimension run upwards; the scale multiplies the finished sum.
template <class Traits, class Real, class Operand>
void walk(const Problem& problem, const HostTensors& inputs, const Slice& slice, Operand operand,
          Outputs<Real>& outputs) {
  const Shape& s = problem.shape;
  const auto scale = static_cast<Real>(problem.scale.value_or(Traits::default_scale(s)));
  const float *q = inputs.at("q").data(), *k = inputs.at("k").data(), *v = inputs.at("v").data();
  const float* gate = inputs.at(std::string(Traits::gate)).data();
  const float* initial = problem.initial_state ? inputs.at("initial_state").data() : nullptr;
  const std::int64_t width = slice.values;
  const std::int64_t state_at =
      (slice.batch * s.heads + slice.head) * s.key_dim * s.value_dim + slice.first_value;
  std::vector<Real> state(static_cast<std::size_t>(s.key_dim * width), Real(0));
  std::vector<Real> row(static_cast<std::size_t>(width)), sum(row);
  for (std::int64_t i = 0; initial && i < s.key_dim; ++i)
    for (std::int64_t j = 0; j < width; ++j)
      state[i * width + j] = static_cast<Real>(initial[state_at + i * s.value_dim + j]);
  std::vector<Real>& o = outputs.at("o");
  for (std::int64_t t = 0; t < s.seq; ++t) {
    const std::int64_t token = (slice.batch * s.seq + t) * s.heads + slice.head;
    const std::int64_t value_at = token * s.value_dim + slice.first_value;
    for (std::int64_t j = 0; j < width; ++j) row[j] = operand(static_cast<Real>(v[value_at + j]));
    std::fill(sum.begin(), sum.end(), Real(0));
    for (std::int64_t i = 0; i < s.key_dim; ++i) {
      const Real decay = std::exp(static_cast<Real>(gate[Traits::gate_index(s, token, i)]));
      const Real key = operand(static_cast<Real>(k[token * s.key_dim + i]));
      const Real query = operand(static_cast<Real>(q[token * s.key_dim + i]));
      Real* line = state.data() + i * width;
      Real* out = sum.data();
      const Real* value = row.data();
      for (std::int64_t j = 0; j < width; ++j) {
        line[j] = decay * line[j] + key * value[j];
        out[j] += query * operand(line[j]);
      }
    }
    for (std::int64_t j = 0; j < width; ++j) o[value_at + j] = scale * sum[j];
  }
  if (!problem.final_state) return;
  std::vector<Real>& last = outputs.at("final_state");
  for (std::int64_t i = 0; i < s.key_dim; ++i)
    std::copy_n(state.data() + i * width, width, last.data() + state_at + i * s.value_dim);
}

template <class Traits, class Real, class Operand>
Outputs<Real> recurrence(const Problem& problem, const HostTensors& inputs, Operand operand) {
  Outputs<Real> outputs = empty_outputs<Traits, Real>(problem);
  const std::vector<Slice> list = slices(problem.shape);
  const auto count = static_cast<std::int64_t>(list.size());
  const bool large = work<Traits>(problem).flops > small_flops;
#pragma omp parallel for schedule(dynamic) if (large)
  for (std::int64_t i = 0; i < count; ++i)
    walk<Traits, Real>(problem, inputs, list[i], operand, outputs);
  return outputs;
}

template <class Traits>
ReferenceTensors reference(const Problem& problem, const HostTensors& inputs) {
  return recurrence<Traits, double>(problem, inputs, [](double x) { return x; });
}

// The plain computation: the recurrence with float32 state and accumulation, where the operands of
// every product (k and v into the state, q and the state out of it) are first rounded to what the
// arithmetic keeps: 10 explicit mantissa bits for tf32 and float16 (with float32's range), 7 for
// bfloat16, all of them for float32. The decay multiplies the unrounded state; exp is float32's.
// At last each output is rounded to its own dtype.
template <class Traits>
HostTensors baseline(const Problem& problem, const HostTensors& inputs, Arithmetic arithmetic) {
  const auto run = [&](auto operand) {
    return recurrence<Traits, float>(problem, inputs, operand);
  };
  HostTensors outputs;
  switch (arithmetic) {
    case Arithmetic::float32:
      outputs = run([](float x) { return x; });
      break;
    case Arithmetic::tf32:
    case Arithmetic::float16:
      outputs = run([](float x) { return round_mantissa<10>(x); });
      break;
    case Arithmetic::bfloat16:
      outputs = run([](float x) { return round_mantissa<7>(x); });
      break;
  }
  if (problem.dtype == DType::float32) return outputs;
  std::vector<float>& o = outputs.at("o");
  const auto count = static_cast<std::int64_t>(o.size());
#pragma omp parallel for schedule(static) if (count > 65536)
  for (std::int64_t i = 0; i < count; ++i) o[i] = round_to(problem.dtype, o[i]);
  return outputs;
}

// The second form fills outputs of the right sizes.
template <class Traits>
ReferenceTensors second_form(const Problem& problem, const HostTensors& inputs) {
  ReferenceTensors outputs = empty_outputs<Traits, double>(problem);
  const std::int64_t pairs = problem.shape.batch * problem.shape.heads;
#pragma omp parallel for schedule(dynamic) if (work <Traits>(problem).flops > small_flops)
  for (std::int64_t pair = 0; pair < pairs; ++pair)
    linear_recurrence::quadratic<Traits>(problem, inputs, pair / problem.shape.heads,
                                         pair % problem.shape.heads, outputs);
  return outputs;
}

template <class Traits>
Operator make() {
  Operator op;
  op.name = Traits::name;
  op.summary = Traits::summary;
  op.directions = {Direction::forward};
  op.gates = gate_regimes();
  op.default_scale = [](const Problem& problem) { return Traits::default_scale(problem.shape); };
  op.tensors = tensors<Traits>;
  op.work = work<Traits>;
  op.draw = draw<Traits>;
  op.reference = reference<Traits>;
  op.second_form = second_form<Traits>;
  op.baseline = baseline<Traits>;
  return op;
}

}  // namespace

Operator gla_operator() {
  return make<linear_recurrence::Gla>();
}

}  // namespace gla_bench
