#include "kernels/linear_recurrence/host/backward/variant.hpp"

#include <algorithm>
#include <utility>

namespace gla_bench::linear_recurrence::host {
namespace {

std::optional<std::string> refuse(const Problem& problem, Direction direction,
                                  const Limits& limits) {
  if (limits.arch != 0) return "runs on the host only";
  if (problem.direction != direction) return std::string(name(direction)) + " only";
  return std::nullopt;
}

// The states of a walk forwards, the decays of the chunks, and of outputs what their gradients
// take.
bool is_kept(const std::string& region) {
  return region == "kept" || region == "chunk_states" || region == "change_decays" ||
         region == outputs_region;
}

void run(const BackwardForm& form, const HostCall& call) {
  if (form.forwards) form.forwards(call);
  if (trains(call.problem)) call.end_stage("forward");
  form.back(call);
  if (trains(call.problem)) call.end_stage("backward");
}

std::vector<StageTraffic> passes(const BackwardForm& form, const Problem& problem,
                                 const Tile& tile) {
  const Traffic all = form.traffic(problem, tile), first = form.forwards_traffic(problem, tile);
  return {{"forward", first},
          {"backward", {all.read_bytes - first.read_bytes, all.write_bytes - first.write_bytes}}};
}

Variant variant_of(const Member& member, const BackwardForm& form, Direction direction) {
  std::vector<std::string> sources = form.sources;
  for (const char* source : {"backward/gradients.cpp", "rows.cpp"}) sources.emplace_back(source);
  for (std::string& source : sources) source = "linear_recurrence/host/" + source;
  sources.emplace_back("linear_recurrence/backward/gradients.cpp");
  Variant variant = make_variant(
      member, form.name, form.summary, form.space,
      [form](const HostCall& call) { run(form, call); }, std::move(sources));
  variant.direction = direction;
  variant.reject = [direction](const Problem& problem, const Tile&, const Limits& limits) {
    return refuse(problem, direction, limits);
  };
  variant.traffic = form.traffic;
  if (direction == Direction::training)
    variant.stages = [form](const Problem& problem, const Tile& tile) {
      return passes(form, problem, tile);
    };
  variant.flops = form.flops;
  variant.workspace = [form](const Problem& problem, const Tile& tile) {
    std::vector<Region> regions =
        gradient_regions(problem, form.workspace(problem, tile), form.tasks(problem, tile));
    for (Region& region : regions) region.kept = trains(problem) && is_kept(region.name);
    return regions;
  };
  variant.bind = [workspace = variant.workspace](const Problem& problem, const Tile& tile,
                                                 const Address& address) {
    return bind_gradients(problem, address, workspace(problem, tile));
  };
  return variant;
}

}  // namespace

Variant backward_variant(const Member& member, const BackwardForm& form) {
  return variant_of(member, form, Direction::backward);
}

Variant training_variant(const Member& member, const BackwardForm& form) {
  return variant_of(member, form, Direction::training);
}

bool trains(const Problem& problem) {
  return problem.direction == Direction::training;
}

Traffic output_traffic(const Problem& problem) {
  const double kept = kept_output_bytes(problem);
  const double given = kept > 0 ? value_bytes(problem) : 0.0;
  if (!trains(problem)) return {given, kept};
  return {given + kept, value_bytes(problem) + states_written(problem) + 2 * kept};
}

double outputs_left_bytes(const Problem& problem) {
  return value_bytes(problem) + states_written(problem) + kept_output_bytes(problem);
}

double output_flops(const Problem& problem, std::int64_t chunk) {
  if (!trains(problem)) return 0.0;
  const auto k = static_cast<double>(problem.shape.key_dim);
  const double v = columns(problem);
  const auto c = static_cast<double>(std::min(chunk, problem.shape.seq));
  return tokens(problem) * (2 * k * v + (c + 1) * (k + v));
}

double chunk_gradient_flops(const Problem& problem, std::int64_t chunk) {
  const auto k = static_cast<double>(problem.shape.key_dim);
  const double v = columns(problem);
  const auto c = static_cast<double>(std::min(chunk, problem.shape.seq));
  return tokens(problem) * (8 * k * v + (c + 1) * (3 * k + 2 * v));
}

}  // namespace gla_bench::linear_recurrence::host
