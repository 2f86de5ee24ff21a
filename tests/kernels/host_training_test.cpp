// Training on the host between its passes: when the stage "forward" ends, all outputs are there, no
// gradient of them has been read, and what the variant says is kept is all that the backward needs.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/operator.hpp"
#include "core/variant.hpp"

namespace gla_bench {
namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

std::vector<const Variant*> training_variants() {
  std::vector<const Variant*> list;
  for (const Variant& variant : variants())
    if (variant.backend == BackendId::host && variant.direction == Direction::training)
      list.push_back(&variant);
  return list;
}

std::vector<Problem> problems_of(const Variant& variant) {
  Problem problem;
  problem.op = variant.op;
  problem.direction = Direction::training;
  problem.gate = default_gate(*find_operator(variant.op));
  problem.shape = {2, 70, 2, 12, 9};
  if (variant.op == "gla_layer") problem.shape.model_dim = 20;
  problem.initial_state = true;
  std::vector<Problem> list{problem};
  if (variant.op != "linear_attention") return list;
  problem.options["normalize"] = "true";
  list.push_back(problem);
  return list;
}

/// The tensors and the workspace of one call of a candidate in float32, all NaN but the inputs.
struct Memory {
  const Candidate& candidate;
  HostTensors tensors;
  std::map<std::string, std::vector<float>> workspace;
  std::vector<std::string> outputs, gradients;

  Memory(const Candidate& of, HostTensors inputs) : candidate(of), tensors(std::move(inputs)) {
    const Operator& op = *find_operator(of.problem.op);
    const auto forward = op.tensors(in_direction(of.problem, Direction::forward));
    for (const TensorSpec& spec : op.tensors(of.problem)) {
      if (spec.role != TensorSpec::Role::output) continue;
      tensors[spec.name].assign(static_cast<std::size_t>(spec.elements()), not_a_number);
      const bool of_forward =
          std::any_of(forward.begin(), forward.end(),
                      [&](const TensorSpec& one) { return one.name == spec.name; });
      (of_forward ? outputs : gradients).push_back(spec.name);
    }
    for (const Region& region : of.variant->workspace(of.problem, of.tile))
      workspace[region.name].assign(region.bytes / sizeof(float) + 1, not_a_number);
  }

  void run(const std::function<void(std::string_view)>* stage_ended) {
    const Address address = [this](std::string_view name) -> void* {
      const std::string key(name);
      if (const auto found = tensors.find(key); found != tensors.end()) return found->second.data();
      const auto region = workspace.find(key);
      return region != workspace.end() ? region->second.data() : nullptr;
    };
    const ParamBytes params = candidate.variant->bind(candidate.problem, candidate.tile, address);
    std::get<std::function<void(const HostCall&)>>(candidate.variant->code)(
        {candidate.problem, candidate.tile, params, stage_ended});
  }

  bool any_nan(const std::string& tensor) const {
    const std::vector<float>& values = tensors.at(tensor);
    return std::any_of(values.begin(), values.end(), [](float x) { return std::isnan(x); });
  }
};

// Takes the gradients that a loss would give out of the inputs.
HostTensors take_given_gradients(const Problem& problem, HostTensors& inputs) {
  HostTensors given;
  for (const TensorSpec& spec :
       find_operator(problem.op)->tensors(in_direction(problem, Direction::forward))) {
    const auto found = inputs.find("d" + spec.name);
    if (spec.role != TensorSpec::Role::output || found == inputs.end()) continue;
    given[found->first] = found->second;
    std::fill(found->second.begin(), found->second.end(), not_a_number);
  }
  return given;
}

void expect_passes_apart(const Candidate& candidate) {
  HostTensors inputs = find_operator(candidate.problem.op)->draw(candidate.problem);
  Memory whole(candidate, inputs);
  whole.run(nullptr);
  const HostTensors given = take_given_gradients(candidate.problem, inputs);
  ASSERT_FALSE(given.empty());
  Memory apart(candidate, inputs);
  HostTensors outputs;
  std::vector<std::string> stages;
  const std::function<void(std::string_view)> between = [&](std::string_view stage) {
    stages.emplace_back(stage);
    if (stage != "forward") return;
    for (const std::string& name : apart.outputs) {
      EXPECT_FALSE(apart.any_nan(name)) << name << " of " << describe(candidate);
      outputs[name] = apart.tensors.at(name);
      std::fill(apart.tensors.at(name).begin(), apart.tensors.at(name).end(), not_a_number);
    }
    for (const Region& region : candidate.variant->workspace(candidate.problem, candidate.tile))
      if (!region.kept)
        std::fill(apart.workspace.at(region.name).begin(), apart.workspace.at(region.name).end(),
                  not_a_number);
    // In place: the candidate has the addresses.
    for (const auto& [name, values] : given)
      std::copy(values.begin(), values.end(), apart.tensors.at(name).begin());
  };
  apart.run(&between);
  EXPECT_EQ(stages, (std::vector<std::string>{"forward", "backward"})) << describe(candidate);
  for (const std::string& name : whole.outputs)
    EXPECT_EQ(outputs[name], whole.tensors.at(name)) << name << " of " << describe(candidate);
  for (const std::string& name : whole.gradients) {
    EXPECT_FALSE(whole.any_nan(name)) << name << " of " << describe(candidate);
    EXPECT_EQ(apart.tensors.at(name), whole.tensors.at(name))
        << name << " of " << describe(candidate);
  }
}

TEST(HostTraining, WhatIsKeptIsAllThatTheBackwardTakesFromTheForward) {
  int candidates = 0;
  for (const Variant* variant : training_variants())
    for (const Problem& problem : problems_of(*variant))
      for (const Tile& tile : all_tiles(variant->space)) {
        if (variant->reject(problem, tile, {})) continue;
        expect_passes_apart({variant, problem, tile});
        ++candidates;
      }
  EXPECT_GT(candidates, 100);
}

TEST(HostTraining, StatesWhatEachPassMoves) {
  for (const Variant* variant : training_variants())
    for (const Problem& problem : problems_of(*variant)) {
      const Operator& op = *find_operator(problem.op);
      for (const Tile& tile : all_tiles(variant->space)) {
        if (variant->reject(problem, tile, {})) continue;
        const Candidate candidate{variant, problem, tile};
        const auto stages = variant->stages(problem, tile);
        ASSERT_EQ(stages.size(), 2u);
        double sum = 0;
        for (const StageTraffic& stage : stages) {
          const Direction pass = *parse_direction(stage.name);
          const double bytes = stage.traffic.read_bytes + stage.traffic.write_bytes;
          EXPECT_GE(bytes, op.work(in_direction(problem, pass)).floor_bytes)
              << stage.name << " of " << describe(candidate);
          EXPECT_GE(
              pass == Direction::forward ? stage.traffic.write_bytes : stage.traffic.read_bytes,
              static_cast<double>(kept_bytes(candidate)))
              << stage.name << " of " << describe(candidate);
          sum += bytes;
        }
        const Traffic all = variant->traffic(problem, tile);
        EXPECT_DOUBLE_EQ(sum, all.read_bytes + all.write_bytes) << describe(candidate);
      }
    }
}

}  // namespace
}  // namespace gla_bench
