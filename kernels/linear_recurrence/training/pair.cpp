#include "kernels/linear_recurrence/training/pair.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "kernels/refusal.hpp"

namespace gla_bench::linear_recurrence {
namespace {

/// One half with its share of the pair's problem and tile.
struct Half {
  const Variant& variant;
  Problem problem;
  Tile tile;

  Half(const Variant& of, const Problem& both, const Tile& of_both)
      : variant(of), problem(in_direction(both, of.direction)) {
    for (const TileAxis& axis : of.space)
      if (const auto found = of_both.find(axis.name); found != of_both.end()) tile.insert(*found);
  }

  std::optional<std::string> reject(const Limits& limits) const {
    if (const auto reason = variant.reject(problem, tile, limits))
      return std::string(name(variant.direction)) + ": " + *reason;
    return std::nullopt;
  }
  Traffic traffic() const { return variant.traffic(problem, tile); }
  double flops() const { return variant.flops(problem, tile); }
  Arithmetic arithmetic() const { return variant.arithmetic(problem, tile); }
  std::vector<Region> workspace() const { return variant.workspace(problem, tile); }
  ParamBytes bind(const Address& address) const { return variant.bind(problem, tile, address); }
  Recipe recipe() const { return std::get<0>(variant.code)(problem, tile); }
};

/// Whether a backward knows the tensor: outputs of the forward are none of its own.
bool is_output_of_forward(std::string_view tensor) {
  constexpr std::array<std::string_view, 3> outputs{"o", "final_state", "final_normalizer"};
  return std::find(outputs.begin(), outputs.end(), tensor) != outputs.end();
}

Address without_outputs(const Address& address) {
  return [address](std::string_view tensor) -> void* {
    return is_output_of_forward(tensor) ? nullptr : address(tensor);
  };
}

template <class Named>
auto find_name(std::vector<Named>& list, const std::string& name) {
  return std::find_if(list.begin(), list.end(), [&](const Named& one) { return one.name == name; });
}

TileSpace joined(TileSpace axes, const TileSpace& others) {
  for (const TileAxis& axis : others) {
    const auto shared = find_name(axes, axis.name);
    if (shared == axes.end()) {
      axes.push_back(axis);
      continue;
    }
    std::erase_if(shared->values, [&](int value) {
      return std::find(axis.values.begin(), axis.values.end(), value) == axis.values.end();
    });
  }
  return axes;
}

std::vector<Region> joined(std::vector<Region> regions, const std::vector<Region>& others) {
  for (const Region& region : others) {
    const auto shared = find_name(regions, region.name);
    if (shared == regions.end()) {
      regions.push_back(region);
      continue;
    }
    shared->bytes = std::max(shared->bytes, region.bytes);
    shared->kept = true;
  }
  return regions;
}

double bytes_of(const std::vector<Region>& regions) {
  double bytes = 0;
  for (const Region& region : regions) bytes += static_cast<double>(region.bytes);
  return bytes;
}

std::vector<std::string> joined(std::vector<std::string> sources,
                                const std::vector<std::string>& others) {
  for (const std::string& source : others)
    if (std::find(sources.begin(), sources.end(), source) == sources.end())
      sources.push_back(source);
  return sources;
}

/// Appends a half's steps as a stage, with its modules counted from `module` on.
void append_steps(const Recipe& half, std::string_view stage, const std::vector<int>& modules,
                  Recipe& recipe) {
  for (Step step : half.steps) {
    std::visit([&](auto& any) { any.stage = stage; }, step);
    if (auto* launch = std::get_if<KernelLaunch>(&step))
      launch->module = modules[static_cast<std::size_t>(launch->module)];
    recipe.steps.push_back(std::move(step));
  }
  for (TensorMap map : half.tensor_maps) {
    map.module = modules[static_cast<std::size_t>(map.module)];
    recipe.tensor_maps.push_back(std::move(map));
  }
}

/// The numbers of a half's modules in the pair's recipe, its own source first.
std::vector<int> numbers(int own, std::size_t first, std::size_t imports) {
  std::vector<int> list{own};
  for (std::size_t i = 0; i < imports; ++i) list.push_back(static_cast<int>(first + i));
  return list;
}

Recipe recipe_of(const Half& forward, const Half& backward,
                 const std::shared_ptr<const TrainingPair>& pair) {
  const Recipe first = forward.recipe(), second = backward.recipe();
  Recipe recipe{second.source, second.constants, {}, second.imports};
  for (Module& module : recipe.imports)
    module.bind = [bind = module.bind](const Address& address) {
      return bind(without_outputs(address));
    };
  const auto of_backward = numbers(0, 1, second.imports.size());
  const std::size_t own = recipe.imports.size() + 1;
  recipe.imports.push_back(
      {first.source, first.constants,
       [pair, problem = forward.problem, tile = forward.tile](const Address& address) {
         return pair->forward.bind(problem, tile, address);
       }});
  recipe.imports.insert(recipe.imports.end(), first.imports.begin(), first.imports.end());
  append_steps(first, "forward", numbers(static_cast<int>(own), own + 1, first.imports.size()),
               recipe);
  append_steps(second, "backward", of_backward, recipe);
  return recipe;
}

}  // namespace

Variant training_pair(TrainingPair halves) {
  const auto pair = std::make_shared<const TrainingPair>(std::move(halves));
  const auto with_both = [pair](auto act) {
    return [pair, act](const Problem& problem, const Tile& tile) {
      return act(Half(pair->forward, problem, tile), Half(pair->backward, problem, tile));
    };
  };
  Variant v;
  v.op = pair->forward.op;
  v.name = pair->name;
  v.summary = pair->summary;
  v.backend = BackendId::cuda;
  v.direction = Direction::training;
  v.space = joined(pair->forward.space, pair->backward.space);
  v.sources = joined(pair->forward.sources, pair->backward.sources);
  v.sources.emplace_back("linear_recurrence/training/pair.cpp");
  v.reproducible = pair->forward.reproducible && pair->backward.reproducible;
  v.arithmetic = with_both([](const Half& forward, const Half& backward) {
    const Arithmetic first = forward.arithmetic();
    return first == Arithmetic::float32 ? backward.arithmetic() : first;
  });
  v.traffic = with_both([](const Half& forward, const Half& backward) -> Traffic {
    const Traffic first = forward.traffic(), second = backward.traffic();
    return {first.read_bytes + second.read_bytes, first.write_bytes + second.write_bytes};
  });
  v.stages = with_both([](const Half& forward, const Half& backward) {
    return std::vector<StageTraffic>{{"forward", forward.traffic()},
                                     {"backward", backward.traffic()}};
  });
  v.flops = with_both(
      [](const Half& forward, const Half& backward) { return forward.flops() + backward.flops(); });
  v.workspace = with_both([](const Half& forward, const Half& backward) {
    return joined(forward.workspace(), backward.workspace());
  });
  v.code = std::function<Recipe(const Problem&, const Tile&)>(
      with_both([pair](const Half& forward, const Half& backward) {
        return recipe_of(forward, backward, pair);
      }));
  v.bind = [pair](const Problem& problem, const Tile& tile, const Address& address) {
    return Half(pair->backward, problem, tile).bind(without_outputs(address));
  };
  v.reject = [pair, space = v.space, workspace = v.workspace](
                 const Problem& problem, const Tile& tile,
                 const Limits& limits) -> std::optional<std::string> {
    if (problem.direction != Direction::training) return "training only";
    if (auto reason = refuse_choice(space, tile)) return reason;
    if (auto reason = Half(pair->forward, problem, tile).reject(limits)) return reason;
    if (auto reason = Half(pair->backward, problem, tile).reject(limits)) return reason;
    return refuse_workspace(bytes_of(workspace(problem, tile)), limits);
  };
  return v;
}

}  // namespace gla_bench::linear_recurrence
