#include "harness/engine/exec.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <vector>

#include "core/error.hpp"
#include "harness/backends/sources/source_hash.hpp"
#include "harness/engine/damage.hpp"
#include "harness/tensors/safetensors.hpp"
#include "harness/tensors/staging.hpp"
#include "harness/tensors/tensor_file.hpp"

namespace gla_bench {
namespace {

std::string title(const Variant& variant) {
  return variant.name + " [" + std::string(name(variant.backend)) + "]";
}

void check_tile(const Variant& variant, const Tile& asked) {
  for (const auto& [axis_name, value] : asked) {
    std::string axes, values;
    bool known = false, allowed = false;
    for (const TileAxis& axis : variant.space) {
      axes.append(axes.empty() ? "" : ", ").append(axis.name);
      if (axis.name != axis_name) continue;
      known = true;
      for (const int candidate : axis.values) {
        values.append(values.empty() ? "" : ", ").append(std::to_string(candidate));
        allowed = allowed || candidate == value;
      }
    }
    if (!known)
      throw InputError(title(variant) + " has no tile axis '" + axis_name + "'; expected one of " +
                       (axes.empty() ? "none" : axes));
    if (!allowed)
      throw InputError(title(variant) + ": " + axis_name + "=" + std::to_string(value) +
                       "; expected one of " + values);
  }
}

bool agrees(const Tile& tile, const Tile& asked) {
  return std::all_of(asked.begin(), asked.end(),
                     [&](const auto& choice) { return tile.at(choice.first) == choice.second; });
}

HostTensors run_once(Backend& backend, const Operator& op, const Candidate& candidate) {
  const HostTensors inputs = read_inputs(op, candidate.problem);
  const std::unique_ptr<Plan> plan = backend.build(candidate);
  const std::unique_ptr<Workset> workset = backend.stage(op, candidate.problem, inputs);
  plan->prepare(*workset);
  workset->poison_outputs();
  plan->poison_workspace();
  plan->run();
  expect_no_damage(candidate, *workset, *plan);
  return workset->download_outputs();
}

std::vector<SafetensorsTensor> stored_outputs(const Operator& op, const Candidate& candidate,
                                              const HostTensors& outputs) {
  std::vector<SafetensorsTensor> stored;
  for (const TensorSpec& spec : op.tensors(candidate.problem)) {
    if (spec.role != TensorSpec::Role::output) continue;
    const std::vector<float>& values = outputs.at(spec.name);
    // The inputs were checked to be finite, so this is either the poison or an overflow.
    if (std::any_of(values.begin(), values.end(), [](float value) { return std::isnan(value); }))
      throw RunError(describe(candidate) + ": output '" + spec.name +
                     "' holds NaN; nothing written");
    stored.push_back({spec.name, spec.dtype, storage_extents(spec, candidate.problem.layout),
                      to_storage_order(spec, candidate.problem.layout, values)});
  }
  return stored;
}

std::map<std::string, std::string> provenance(const Operator& op, const Candidate& candidate) {
  char scale[32];
  std::snprintf(scale, sizeof scale, "%.17g", scale_of(op, candidate.problem));
  return {{"operator", op.name},
          {"direction", std::string(name(candidate.problem.direction))},
          {"variant", candidate.variant->name},
          {"backend", std::string(name(candidate.variant->backend))},
          {"tile", describe(candidate.tile)},
          {"layout", std::string(name(candidate.problem.layout))},
          {"scale", scale},
          {"source_hash", source_hash(*candidate.variant)}};
}

}  // namespace

Tile choose_tile(const Variant& variant, const Problem& problem, const Tile& asked,
                 const Limits& limits) {
  check_tile(variant, asked);
  std::string reason;
  for (const Tile& tile : all_tiles(variant.space)) {
    if (!agrees(tile, asked)) continue;
    const std::optional<std::string> refusal = variant.reject(problem, tile, limits);
    if (!refusal) return tile;
    if (reason.empty()) reason = *refusal;
  }
  throw InputError(title(variant) + " refuses " + describe(problem) +
                   (asked.empty() ? "" : " with " + describe(asked)) + ": " + reason);
}

Candidate exec(Backend& backend, const Operator& op, const Variant& variant,
               const ExecRequest& request) {
  const Problem problem = problem_from_file(op, request.wanted);
  const Candidate candidate{&variant, problem,
                            choose_tile(variant, problem, request.tile, backend.limits())};
  if (!backend.can_run())
    throw InputError("nothing can run on " + std::string(name(backend.id())) +
                     " here: no device was found");
  const HostTensors outputs = run_once(backend, op, candidate);
  write_safetensors(request.output, stored_outputs(op, candidate, outputs),
                    provenance(op, candidate));
  return candidate;
}

}  // namespace gla_bench
