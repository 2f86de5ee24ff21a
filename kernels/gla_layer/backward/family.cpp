#include "kernels/gla_layer/backward/family.hpp"

#include <string>
#include <tuple>

#include "kernels/gla_layer/inner.hpp"

namespace gla_bench::gla_layer {
namespace {

double elements_of_weights(const Problem& problem) {
  const Extents n = extents(problem);
  return static_cast<double>(n.model) * static_cast<double>(2 * n.keys + 3 * n.values + rank) +
         static_cast<double>((rank + 1) * n.keys + n.values);
}

void append_workspaces(BackendId backend, const Problem& problem, const Tile& tile,
                       std::vector<Region>& list) {
  for (const Inner& inner : inners_of(backend, problem, tile))
    for (Region& region : inner_workspace(inner)) list.push_back(std::move(region));
}

// On the host gated stays. On a GPU the kernel that forms the gradients of its factors forms it
// once more, and the sums of the gate stay.
bool is_kept(BackendId backend, const std::string& region) {
  for (const char* name : {"q", "k", "v", "r", "low", "g", "o"})
    if (region == name) return true;
  return region == (backend == BackendId::cuda ? "gate_sums" : "gated");
}

// The form of the forward in training.
Form trained_form(BackendId backend) {
  return backend == BackendId::cuda ? Form::composed : Form::fused;
}

}  // namespace

std::vector<Region> gradient_regions(const Problem& problem, Form forward) {
  const Extents n = extents(problem);
  const std::size_t io = size_of(problem.dtype);
  const auto bytes = [&](std::int64_t columns, std::size_t size) {
    return static_cast<std::size_t>(n.rows) * static_cast<std::size_t>(columns) * size;
  };
  std::vector<Region> list = regions(problem, forward);
  for (const auto& [name, columns, size] :
       {std::tuple{"d_gated", n.values, io}, std::tuple{"do", n.values, io},
        std::tuple{"dr", n.values, io}, std::tuple{"dq", n.keys, io}, std::tuple{"dk", n.keys, io},
        std::tuple{"dv", n.values, io}, std::tuple{"dg", n.keys, sizeof(float)},
        std::tuple{"dz", n.keys, io}, std::tuple{"d_low", rank, io},
        std::tuple{"dx_sums", n.model, sizeof(float)}})
    list.push_back({name, bytes(columns, size)});
  return list;
}

GlaLayerGradients gradient_params(const Problem& problem, const Address& address) {
  const auto floats = [&](const char* name) { return static_cast<float*>(address(name)); };
  GlaLayerGradients g{};
  g.layer = params(problem, address);
  g.dy = address("dy");
  g.dx = address("dx");
  g.dw_q = floats("dw_q");
  g.dw_k = floats("dw_k");
  g.dw_v = floats("dw_v");
  g.dw_1 = floats("dw_1");
  g.dw_2 = floats("dw_2");
  g.db_g = floats("db_g");
  g.dw_r = floats("dw_r");
  g.db_r = floats("db_r");
  g.dw_o = floats("dw_o");
  g.d_gated = address("d_gated");
  g.d_o = address("do");
  g.dr = address("dr");
  g.dq = address("dq");
  g.dk = address("dk");
  g.dv = address("dv");
  g.dg = floats("dg");
  g.dz = address("dz");
  g.d_low = address("d_low");
  g.dx_sums = floats("dx_sums");
  return g;
}

std::vector<StageTraffic> gradient_stages(const Problem& problem, const Traffic& gla,
                                          const Traffic& gla_backward) {
  const Extents n = extents(problem);
  const double io = static_cast<double>(size_of(problem.dtype));
  const double weights = elements_of_weights(problem);
  const double values = row_bytes(problem, n.values), model = row_bytes(problem, n.model);
  const std::vector<StageTraffic> forward = stages(problem, Form::fused, gla);
  // The product with W_O, then o, r and its result; do, dr and gated.
  const Traffic norm{model + io * static_cast<double>(n.values * n.model) + 3 * values, 4 * values};
  // dz from dg and low; each gradient of a projection twice, for its weight and for x.
  const double changes = row_bytes(problem, 2 * n.keys + 2 * n.values + rank);
  const double keys = row_bytes(problem, n.keys), low = row_bytes(problem, rank);
  const Traffic last{float_bytes(problem, n.keys) + 2 * low + 2 * keys + values + 2 * changes +
                         7 * model + io * weights + 5 * float_bytes(problem, n.model),
                     keys + low + 4 * weights + 5 * float_bytes(problem, n.model) + model};
  return {
      forward[0],       forward[1], forward[2], {"norm_gate", norm}, {"gla_backward", gla_backward},
      {"weights", last}};
}

Traffic sum_of(const std::vector<StageTraffic>& stages) {
  Traffic sum;
  for (const StageTraffic& stage : stages) {
    sum.read_bytes += stage.traffic.read_bytes;
    sum.write_bytes += stage.traffic.write_bytes;
  }
  return sum;
}

double gradient_flops_around(const Problem& problem) {
  const Extents n = extents(problem);
  const std::int64_t projections = n.model * (2 * n.keys + 2 * n.values + rank) + rank * n.keys;
  return 2 * static_cast<double>(n.rows) *
         static_cast<double>(3 * projections + 2 * n.values * n.model);
}

void add_gate_sums(const Problem& problem, std::vector<StageTraffic>& gradient_stages) {
  const double sums = float_bytes(problem, extents(problem).keys);
  gradient_stages[1].traffic.read_bytes += sums;
  gradient_stages[1].traffic.write_bytes += sums;
  gradient_stages[5].traffic.read_bytes += sums;
}

namespace {

// What both directions have in common; the traffic is that of all stages.
Variant described(BackendId backend, Direction direction, std::string summary,
                  decltype(Variant::stages) stages) {
  Variant v;
  v.op = "gla_layer";
  v.name = "composed";
  v.summary = std::move(summary);
  v.backend = backend;
  v.direction = direction;
  v.stages = std::move(stages);
  v.traffic = [all = v.stages](const Problem& problem, const Tile& tile) {
    return sum_of(all(problem, tile));
  };
  return v;
}

Variant backward_description(BackendId backend) {
  const auto stages_of = [backend](const Problem& problem, const Tile& tile) {
    const auto traffic = [](const std::optional<Inner>& inner) {
      return inner ? inner->variant->traffic(inner->problem, inner->tile) : Traffic{};
    };
    std::vector<StageTraffic> list =
        gradient_stages(problem, traffic(outputs_inner_of(backend, problem, tile)),
                        traffic(inner_of(backend, problem, tile)));
    if (backend == BackendId::cuda) add_gate_sums(problem, list);
    return list;
  };
  Variant v = described(backend, Direction::backward,
                        "the forward up to o, then gla's own backward between products and rows",
                        stages_of);
  v.flops = [backend](const Problem& problem, const Tile& tile) {
    double sum = gradient_flops_around(problem);
    for (const Inner& inner : inners_of(backend, problem, tile))
      sum += inner.variant->flops(inner.problem, inner.tile);
    return sum;
  };
  v.workspace = [backend](const Problem& problem, const Tile& tile) {
    std::vector<Region> list = gradient_regions(problem, Form::fused);
    if (backend == BackendId::cuda)
      list.push_back(
          {"gate_sums", static_cast<std::size_t>(float_bytes(problem, extents(problem).keys))});
    append_workspaces(backend, problem, tile, list);
    return list;
  };
  return v;
}

Variant training_description(BackendId backend) {
  const auto stages_of = [backend](const Problem& problem,
                                   const Tile& tile) -> std::vector<StageTraffic> {
    const auto inner = inner_of(backend, problem, tile);
    const auto pass = [&](const char* name) {
      return inner ? inner_traffic(*inner, name) : Traffic{};
    };
    std::vector<StageTraffic> back = gradient_stages(problem, {}, pass("backward"));
    if (backend == BackendId::cuda)
      add_gate_sums(problem, back);
    else
      back[3].traffic.write_bytes -= row_bytes(problem, extents(problem).values);  // gated
    back.erase(back.begin(), back.begin() + 3);
    return {{"forward", sum_of(stages(problem, trained_form(backend), pass("forward")))},
            {"backward", sum_of(back)}};
  };
  Variant v = described(
      backend, Direction::training,
      "the forward, whose tensors and states of gla stay, and the backward from them", stages_of);
  v.flops = [backend](const Problem& problem, const Tile& tile) {
    const Extents n = extents(problem);
    const std::int64_t projections = n.model * (2 * n.keys + 2 * n.values + rank) + rank * n.keys;
    double sum = flops_around(problem) + gradient_flops_around(problem) -
                 2 * static_cast<double>(n.rows) * static_cast<double>(projections);
    for (const Inner& inner : inners_of(backend, problem, tile))
      sum += inner.variant->flops(inner.problem, inner.tile);
    return sum;
  };
  v.workspace = [backend](const Problem& problem, const Tile& tile) {
    std::vector<Region> list = gradient_regions(problem, trained_form(backend));
    for (Region& region : list) region.kept = is_kept(backend, region.name);
    append_workspaces(backend, problem, tile, list);
    return list;
  };
  return v;
}

}  // namespace

Variant gradient_description(BackendId backend, Direction direction) {
  return direction == Direction::training ? training_description(backend)
                                          : backward_description(backend);
}

}  // namespace gla_bench::gla_layer
