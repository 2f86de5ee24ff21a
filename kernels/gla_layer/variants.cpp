#include "kernels/gla_layer/variants.hpp"

#include "kernels/gla_layer/backward/family.hpp"
#include "kernels/gla_layer/inner.hpp"

namespace gla_bench::gla_layer {

Variant description(Form form, BackendId backend) {
  Variant v;
  v.op = "gla_layer";
  v.name = form == Form::composed ? "composed" : "fused";
  v.summary = form == Form::composed
                  ? "a kernel for each function: gate, swish, norm and multiplication apart"
                  : "gate in the kernel of its rank-16 product, norm and output gate in one pass";
  v.backend = backend;
  v.stages = [form, backend](const Problem& problem, const Tile& tile) {
    const auto inner = inner_of(backend, problem, tile);
    const Traffic gla = inner ? inner->variant->traffic(inner->problem, inner->tile) : Traffic{};
    return gla_layer::stages(problem, form, gla);
  };
  v.traffic = [all = v.stages](const Problem& problem, const Tile& tile) {
    Traffic sum;
    for (const StageTraffic& stage : all(problem, tile)) {
      sum.read_bytes += stage.traffic.read_bytes;
      sum.write_bytes += stage.traffic.write_bytes;
    }
    return sum;
  };
  v.flops = [backend](const Problem& problem, const Tile& tile) {
    const auto inner = inner_of(backend, problem, tile);
    return flops_around(problem) +
           (inner ? inner->variant->flops(inner->problem, inner->tile) : 0.0);
  };
  return v;
}

std::vector<Variant> variants() {
  std::vector<Variant> list;
  for (const Form form : {Form::composed, Form::fused}) list.push_back(cuda_variant(form));
  for (const Form form : {Form::composed, Form::fused}) list.push_back(host_variant(form));
  for (const Direction direction : {Direction::backward, Direction::training}) {
    list.push_back(cuda_gradient_variant(direction));
    list.push_back(host_gradient_variant(direction));
  }
  return list;
}

}  // namespace gla_bench::gla_layer
