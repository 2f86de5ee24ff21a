#pragma once
// An operator that updates its state in place, to test the harness without a real one: o = 2 q,
// after = 3 before + 1.

#include <cstring>

#include "core/operator.hpp"
#include "core/variant.hpp"

namespace gla_bench::toy {

inline std::vector<TensorSpec> in_place_tensors(const Problem& problem) {
  const Shape& s = problem.shape;
  const std::vector<std::int64_t> rows{s.batch, s.seq, s.heads, s.key_dim};
  const std::vector<std::int64_t> state{s.batch, s.heads, s.key_dim, s.value_dim};
  return {{"q", TensorSpec::Role::input, DType::float32, rows, true},
          {"before", TensorSpec::Role::input, DType::float32, state, false, true},
          {"o", TensorSpec::Role::output, DType::float32, rows, true},
          {"after", TensorSpec::Role::output, DType::float32, state, false, true, "before"}};
}

inline ReferenceTensors in_place_reference(const Problem&, const HostTensors& inputs) {
  ReferenceTensors outputs;
  for (const float q : inputs.at("q")) outputs["o"].push_back(2.0 * q);
  for (const float s : inputs.at("before")) outputs["after"].push_back(3.0 * s + 1);
  return outputs;
}

inline Operator in_place_operator() {
  Operator op;
  op.name = "in_place";
  op.summary = "o = 2 q, after = 3 before + 1 where before stood";
  op.directions = {Direction::forward};
  op.default_scale = [](const Problem&) { return 1.0; };
  op.tensors = in_place_tensors;
  op.work = [](const Problem&) { return Work{1000, 1000}; };
  op.draw = [](const Problem& problem) {
    HostTensors inputs;
    for (const TensorSpec& spec : in_place_tensors(problem))
      if (spec.role == TensorSpec::Role::input)
        for (std::int64_t i = 0; i < spec.elements(); ++i)
          inputs[spec.name].push_back(static_cast<float>(1 + i % 7));
    return inputs;
  };
  op.signed_inputs = [](const Problem&) { return std::vector<std::string>{"q", "before"}; };
  op.reference = in_place_reference;
  op.second_form = in_place_reference;
  op.baseline = [](const Problem& problem, const HostTensors& inputs, Arithmetic) {
    HostTensors outputs;
    for (const auto& [name, values] : in_place_reference(problem, inputs))
      outputs[name].assign(values.begin(), values.end());
    return outputs;
  };
  return op;
}

inline Problem in_place_problem() {
  Problem problem;
  problem.op = "in_place";
  problem.shape = {2, 3, 2, 4, 5};
  return problem;
}

/// What a call of an in-place variant sees.
struct InPlaceParams {
  float *q, *before, *o, *after;
  long long rows, states;  ///< elements of q, of before
};

/// A host variant whose whole work is `body`.
inline Variant in_place_variant(std::function<void(const InPlaceParams&)> body) {
  Variant variant;
  variant.op = "in_place";
  variant.name = "toy";
  variant.arithmetic = [](const Problem&, const Tile&) { return Arithmetic::float32; };
  variant.workspace = [](const Problem&, const Tile&) { return std::vector<Region>{}; };
  variant.bind = [](const Problem& problem, const Tile&, const Address& address) {
    const std::vector<TensorSpec> specs = in_place_tensors(problem);
    const auto at = [&](const char* name) { return static_cast<float*>(address(name)); };
    const InPlaceParams params{at("q"),     at("before"),        at("o"),
                               at("after"), specs[0].elements(), specs[1].elements()};
    ParamBytes bytes(sizeof params);
    std::memcpy(bytes.data(), &params, sizeof params);
    return bytes;
  };
  variant.code = [body](const HostCall& call) {
    InPlaceParams params;
    std::memcpy(&params, call.params.data(), sizeof params);
    body(params);
  };
  return variant;
}

inline void write_output(const InPlaceParams& p) {
  for (long long i = 0; i < p.rows; ++i) p.o[i] = 2 * p.q[i];
}

inline void update_state(const InPlaceParams& p) {
  for (long long i = 0; i < p.states; ++i) p.after[i] = 3 * p.before[i] + 1;
}

}  // namespace gla_bench::toy
