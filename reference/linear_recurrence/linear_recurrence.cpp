#include "reference/linear_recurrence/linear_recurrence.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/rounding.hpp"
#include "reference/linear_recurrence/backward/backward.hpp"
#include "reference/linear_recurrence/quadratic.hpp"
#include "reference/linear_recurrence/traits.hpp"
#include "reference/passes.hpp"

namespace gla_bench {
namespace {

using namespace recurrence;
using Role = TensorSpec::Role;

// With less work than this, threads are not worth starting.
constexpr double small_flops = 1e7;

// One (sequence, head) pair and a block of the value dimension. Slices do not depend on each other.
struct Slice {
  std::int64_t sequence, head, first_value, values;
};

std::vector<Slice> slices(const View& view) {
  // Wide blocks share the exponentials. Narrow blocks give all cores work when there are few pairs.
  const bool few = view.sequences * view.heads < 2 * omp_get_max_threads();
  const std::int64_t width = few ? 16 : 64;
  std::vector<Slice> list;
  for (std::int64_t n = 0; n < view.sequences; ++n)
    for (std::int64_t h = 0; h < view.heads; ++h)
      for (std::int64_t v = 0; v < view.values; v += width)
        list.push_back({n, h, v, std::min(width, view.values - v)});
  return list;
}

template <class Real>
using Outputs = std::map<std::string, std::vector<Real>>;

template <class Real>
Outputs<Real> empty_outputs(const Traits& traits, const Problem& problem) {
  Outputs<Real> outputs;
  for (const TensorSpec& spec : tensors(traits, problem))
    if (spec.role == Role::output)
      outputs[spec.name].resize(static_cast<std::size_t>(spec.elements()));
  return outputs;
}

// The recurrence over one slice in the arithmetic of Real. `operand` rounds the operands of
// products with k, v or q: k and v when they are written to the state, and the state and q when the
// state is read. Sums over the key dimension run upwards. The scale multiplies the finished sum.
template <class Real, class Operand>
class Walk {
 public:
  Walk(const View& view, const Slice& slice, Operand operand)
      : view_(view),
        slice_(slice),
        operand_(operand),
        state_(static_cast<std::size_t>(view.keys * slice.values), Real(0)),
        normalizer_(static_cast<std::size_t>(view.keys), Real(0)),
        decay_(normalizer_),
        key_(normalizer_),
        query_(normalizer_),
        value_(static_cast<std::size_t>(slice.values)),
        sum_(value_) {}

  void run(Outputs<Real>& outputs) {
    start();
    const Range tokens = view_.tokens(slice_.sequence);
    Range places = view_.places(slice_.sequence);
    for (std::int64_t row = tokens.first; row < tokens.last; ++row) {
      read_token(row);
      if (view_.before_update)
        step_before();
      else
        step_after();
      write_output(row, outputs.at("o"));
      if (places.first < places.last && (row + 1 - tokens.first) % view_.every == 0)
        write_state(places.first++, "states", "normalizers", outputs);
    }
    if (places.first < places.last) write_state(places.first, "states", "normalizers", outputs);
    if (outputs.contains("final_state"))
      write_state(slice_.sequence, "final_state", "final_normalizer", outputs);
  }

 private:
  void start() {
    const std::int64_t at = view_.state_at(slice_.sequence, slice_.head) + slice_.first_value;
    for (std::int64_t i = 0; view_.initial_state && i < view_.keys; ++i)
      for (std::int64_t j = 0; j < slice_.values; ++j)
        state_[i * slice_.values + j] =
            static_cast<Real>(view_.initial_state[at + i * view_.values + j]);
    const std::int64_t sums = view_.normalizer_at(slice_.sequence, slice_.head);
    for (std::int64_t i = 0; view_.initial_normalizer && i < view_.keys; ++i)
      normalizer_[i] = static_cast<Real>(view_.initial_normalizer[sums + i]);
  }

  void read_token(std::int64_t row) {
    const std::int64_t at = view_.key_at(row, slice_.head);
    const std::int64_t value_at = view_.value_at(row, slice_.head) + slice_.first_value;
    const bool one_decay = view_.decay != Decay::per_key;
    for (std::int64_t i = 0; i < view_.keys; ++i) {
      decay_[i] = one_decay && i > 0
                      ? decay_[0]
                      : decay_of(view_.template log_decay<Real>(row, slice_.head, i));
      key_[i] = operand_(view_.template feature<Real>(view_.k[at + i]));
      query_[i] = operand_(view_.template feature<Real>(view_.q[at + i]));
    }
    for (std::int64_t j = 0; j < slice_.values; ++j)
      value_[j] = operand_(static_cast<Real>(view_.v[value_at + j]));
    std::fill(sum_.begin(), sum_.end(), Real(0));
  }

  // S = decay (.) S + k v^T, then sum = S^T q.
  void step_after() {
    for (std::int64_t i = 0; i < view_.keys; ++i) {
      const Real decay = decay_[i], key = key_[i], query = query_[i];
      Real* line = state_.data() + i * slice_.values;
      Real* out = sum_.data();
      const Real* value = value_.data();
      for (std::int64_t j = 0; j < slice_.values; ++j) {
        line[j] = decay * line[j] + key * value[j];
        out[j] += query * operand_(line[j]);
      }
      if (view_.normalize) normalizer_[i] = decay * normalizer_[i] + key;
    }
  }

  // sum = (S + diag(u) k v^T)^T q, then S = decay (.) S + k v^T.
  void step_before() {
    for (std::int64_t i = 0; i < view_.keys; ++i) {
      const Real decay = decay_[i], key = key_[i], query = query_[i];
      const Real bonus = static_cast<Real>(view_.bonus[slice_.head * view_.keys + i]) * key;
      Real* line = state_.data() + i * slice_.values;
      Real* out = sum_.data();
      const Real* value = value_.data();
      for (std::int64_t j = 0; j < slice_.values; ++j) {
        out[j] += query * operand_(line[j] + bonus * value[j]);
        line[j] = decay * line[j] + key * value[j];
      }
    }
  }

  void write_output(std::int64_t row, std::vector<Real>& o) const {
    const auto scale = static_cast<Real>(view_.scale);
    Real divisor = 1;
    if (view_.normalize) {
      Real sum = 0;
      for (std::int64_t i = 0; i < view_.keys; ++i) sum += query_[i] * operand_(normalizer_[i]);
      divisor = scale * sum + static_cast<Real>(normalizer_epsilon);
    }
    Real* out = o.data() + view_.value_at(row, slice_.head) + slice_.first_value;
    for (std::int64_t j = 0; j < slice_.values; ++j) out[j] = scale * sum_[j] / divisor;
  }

  // Writes the state, and the normalizer where there is one, to their place in these outputs.
  void write_state(std::int64_t place, const char* states, const char* normalizers,
                   Outputs<Real>& outputs) const {
    Real* to = outputs.at(states).data() + view_.state_at(place, slice_.head);
    for (std::int64_t i = 0; i < view_.keys; ++i)
      std::copy_n(state_.data() + i * slice_.values, slice_.values,
                  to + i * view_.values + slice_.first_value);
    if (view_.normalize && slice_.first_value == 0)
      std::copy(normalizer_.begin(), normalizer_.end(),
                outputs.at(normalizers).begin() + view_.normalizer_at(place, slice_.head));
  }

  const View& view_;
  const Slice& slice_;
  Operand operand_;
  std::vector<Real> state_, normalizer_, decay_, key_, query_, value_, sum_;
};

template <class Real, class Operand>
Outputs<Real> recurrence_of(const Traits& traits, const Problem& problem, const HostTensors& inputs,
                            Operand operand) {
  Outputs<Real> outputs = empty_outputs<Real>(traits, problem);
  const View view(traits, problem, inputs);
  const std::vector<Slice> list = slices(view);
  const auto count = static_cast<std::int64_t>(list.size());
  const bool large = work(traits, problem).flops > small_flops;
#pragma omp parallel for schedule(dynamic) if (large)
  for (std::int64_t i = 0; i < count; ++i) Walk<Real, Operand>(view, list[i], operand).run(outputs);
  return outputs;
}

ReferenceTensors reference(const Traits& traits, const Problem& problem,
                           const HostTensors& inputs) {
  return outputs_of_passes(
      problem,
      [&](const Problem& pass) {
        return recurrence_of<double>(traits, pass, inputs, [](double x) { return x; });
      },
      [&](const Problem& pass) { return backward(traits, pass, inputs); });
}

// The plain computation: the recurrence with a float32 state and float32 accumulation. The operands
// of every product are first rounded to what the arithmetic keeps. These are k and v on the way
// into the state, and q, the state and the normalizer on the way out. tf32 and float16 keep 10
// explicit mantissa bits (with the range of float32), bfloat16 keeps 7, float32 keeps all. The
// decay multiplies the unrounded state, and exp is that of float32.
HostTensors plain_forward(const Traits& traits, const Problem& problem, const HostTensors& inputs,
                          Arithmetic arithmetic) {
  const auto run = [&](auto operand) {
    return recurrence_of<float>(traits, problem, inputs, operand);
  };
  return with_operand_rounding(arithmetic, run);
}

HostTensors baseline(const Traits& traits, const Problem& problem, const HostTensors& inputs,
                     Arithmetic arithmetic) {
  return outputs_of_passes(
      problem, [&](const Problem& pass) { return plain_forward(traits, pass, inputs, arithmetic); },
      [&](const Problem& pass) { return plain_backward(traits, pass, inputs, arithmetic); });
}

// The second form fills outputs that already have the right sizes.
ReferenceTensors second_forward(const Traits& traits, const Problem& problem,
                                const HostTensors& inputs) {
  ReferenceTensors outputs = empty_outputs<double>(traits, problem);
  const View view(traits, problem, inputs);
  const std::int64_t pairs = view.sequences * view.heads;
  const bool large = work(traits, problem).flops > small_flops;
#pragma omp parallel for schedule(dynamic) if (large)
  for (std::int64_t pair = 0; pair < pairs; ++pair)
    quadratic(view, pair / view.heads, pair % view.heads, outputs);
  return outputs;
}

ReferenceTensors second_form(const Traits& traits, const Problem& problem,
                             const HostTensors& inputs) {
  return outputs_of_passes(
      problem, [&](const Problem& pass) { return second_forward(traits, pass, inputs); },
      [&](const Problem& pass) { return second_backward(traits, pass, inputs); });
}

Operator make(const Traits& traits) {
  Operator op;
  op.name = traits.name;
  op.summary = traits.summary;
  op.directions = {Direction::forward, Direction::backward, Direction::training};
  op.gates = regimes(traits);
  // For these members the list begins with "none", but without gates they would be another
  // operator.
  if (op.gates.front() == "none" && op.gates.size() > 1) op.usual_gate = "mild";
  op.optional_extents = {"sequences"};
  op.options = options(traits);
  // References to members stay valid, because they live as long as the program.
  const auto with = [t = &traits](auto function) {
    return [t, function](const auto&... arguments) { return function(*t, arguments...); };
  };
  op.refuse = with(refuse);
  op.default_scale = with(default_scale);
  op.tensors = with(tensors);
  op.work = with(work);
  op.draw = with(draw);
  op.signed_inputs = with(signed_inputs);
  op.sum_sizes = with(sum_sizes);
  op.reference = with(reference);
  op.second_form = with(second_form);
  op.baseline = with(baseline);
  op.device_reference = device_reference(traits);
  return op;
}

}  // namespace

std::vector<Operator> linear_recurrence_operators() {
  std::vector<Operator> list;
  for (const Traits& traits : family()) list.push_back(make(traits));
  return list;
}

}  // namespace gla_bench
