#pragma once
// A toy operator (o = 2 q) with toy variants, to test the harness without any of the real ones.

#include <vector>

#include "core/catalog.hpp"

namespace gla_bench::toy {

inline std::vector<TensorSpec> tensors(const Problem& problem) {
  const Shape& s = problem.shape;
  const std::vector<std::int64_t> extents{s.batch, s.seq, s.heads, s.key_dim};
  std::vector<TensorSpec> specs{{"q", TensorSpec::Role::input, problem.dtype, extents, true},
                                {"o", TensorSpec::Role::output, problem.dtype, extents, true}};
  if (problem.initial_state)
    specs.push_back({"initial_state",
                     TensorSpec::Role::input,
                     DType::float32,
                     {s.batch, s.heads, s.key_dim, s.value_dim},
                     false});
  return specs;
}

inline HostTensors draw(const Problem& problem) {
  HostTensors inputs;
  for (const TensorSpec& spec : tensors(problem)) {
    if (spec.role != TensorSpec::Role::input) continue;
    auto& values = inputs[spec.name];
    for (std::int64_t i = 0; i < spec.elements(); ++i)
      values.push_back(static_cast<float>(1 + (i + static_cast<std::int64_t>(problem.seed)) % 7));
  }
  return inputs;
}

inline ReferenceTensors reference(const Problem&, const HostTensors& inputs) {
  ReferenceTensors outputs;
  for (const float value : inputs.at("q")) outputs["o"].push_back(2.0 * value);
  return outputs;
}

inline Operator make_operator() {
  Operator op;
  op.name = "toy";
  op.summary = "o = 2 q";
  op.directions = {Direction::forward};
  op.gates = {"mild", "strong"};
  op.default_scale = [](const Problem&) { return 1.0; };
  op.tensors = tensors;
  op.work = [](const Problem& problem) {
    Work work;
    for (const TensorSpec& spec : tensors(problem))
      work.floor_bytes += static_cast<double>(spec.bytes());
    work.flops = static_cast<double>(tensors(problem)[0].elements());
    return work;
  };
  op.draw = draw;
  op.reference = reference;
  op.second_form = reference;
  op.baseline = [](const Problem&, const HostTensors& inputs, Arithmetic) {
    HostTensors outputs;
    for (const float value : inputs.at("q")) outputs["o"].push_back(2 * value);
    return outputs;
  };
  return op;
}

inline Variant make_variant(std::string name, BackendId backend, TileSpace space) {
  Variant variant;
  variant.op = "toy";
  variant.name = std::move(name);
  variant.summary = "a toy";
  variant.backend = backend;
  variant.space = std::move(space);
  variant.arithmetic = [](const Problem&, const Tile&) { return Arithmetic::float32; };
  variant.reject = [](const Problem&, const Tile&, const Limits&) -> std::optional<std::string> {
    return std::nullopt;
  };
  variant.traffic = [](const Problem& problem, const Tile&) {
    const double bytes = static_cast<double>(tensors(problem)[0].bytes());
    return Traffic{bytes, bytes};
  };
  variant.flops = [](const Problem& problem, const Tile&) {
    return static_cast<double>(tensors(problem)[0].elements());
  };
  variant.workspace = [](const Problem&, const Tile&) { return std::vector<Region>{}; };
  variant.bind = [](const Problem&, const Tile&, const Address&) { return ParamBytes{}; };
  variant.code = [](const HostCall&) {};
  return variant;
}

/// fast [host, cuda]: chunk 16, 32, 64 (host: 16, 32) and warps 1, 2 (cuda only), of which chunk 64
/// with warps 1 is refused; slow [host, cuda]: no axes; device_only [cuda]; picky [host]: refuses
/// all.
inline std::vector<Variant> make_variants() {
  std::vector<Variant> list;
  list.push_back(make_variant("fast", BackendId::host, {{"chunk", {16, 32}, "tokens"}}));
  list.push_back(make_variant("fast", BackendId::cuda,
                              {{"chunk", {16, 32, 64}, "tokens"}, {"warps", {1, 2}, "warps"}}));
  list.back().reject = [](const Problem&, const Tile& tile,
                          const Limits&) -> std::optional<std::string> {
    if (tile.at("chunk") == 64 && tile.at("warps") == 1) return "chunk 64 needs 2 warps";
    return std::nullopt;
  };
  list.push_back(make_variant("slow", BackendId::host, {}));
  list.push_back(make_variant("slow", BackendId::cuda, {}));
  list.push_back(make_variant("device_only", BackendId::cuda, {}));
  list.push_back(make_variant("picky", BackendId::host, {}));
  list.back().reject = [](const Problem&, const Tile&,
                          const Limits&) -> std::optional<std::string> { return "not today"; };
  return list;
}

inline Catalog catalog() {
  static const std::vector<Operator> ops{make_operator()};
  static const std::vector<Variant> list = make_variants();
  return {ops, list};
}

inline Problem problem() {
  Problem p;
  p.op = "toy";
  p.shape = {1, 8, 2, 4, 4};
  return p;
}

}  // namespace gla_bench::toy
