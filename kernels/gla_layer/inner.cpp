#include "kernels/gla_layer/inner.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "kernels/linear_recurrence/family.hpp"
#include "kernels/refusal.hpp"

namespace gla_bench::gla_layer {
namespace {

/// A variant of gla, with the tile that was fastest on an H200 in most problems. The axes that
/// matter most come first. A choice's place in the list is its number in records, so it never
/// changes.
struct Choice {
  std::string_view variant;
  std::vector<std::pair<std::string_view, int>> favourite;
};

const std::vector<Choice>& choices(Direction direction) {
  // Each has a forward of the same name, and training. Which tiles are fastest in a layer is yet to
  // be measured: these are the variants' defaults.
  static const std::vector<Choice> with_gradients{
      {"chunk_fused", {}}, {"chunk_materialized", {}}, {"recurrent", {}},
      {"parallel", {}},    {"chunk_sm90", {}},
  };
  static const std::vector<Choice> list{
      {"chunk_fused",
       {{"block_v", 128}, {"chunk", 64}, {"warps_k", 2}, {"warp_v", 32}, {"stages", 1}}},
      {"chunk_materialized",
       {{"block_v", 128}, {"chunk", 256}, {"step", 64}, {"warps_k", 1}, {"scan_warps", 4}}},
      {"chunk_pipeline", {{"block_v", 128}, {"block_k", 128}, {"stages", 2}}},
      {"recurrent", {{"block_v", 64}, {"columns", 4}, {"lanes", 8}, {"tokens", 8}, {"stages", 2}}},
      {"parallel_cublas", {{"bands", 4}, {"leaf", 64}}},
      {"parallel", {{"block_v", 128}, {"block", 128}, {"block_k", 64}}},
      {"chunk_sm90",
       {{"segments", 1}, {"cluster", 2}, {"value_groups", 2}, {"value_tiles", 2}, {"stages", 2}}},
  };
  return has_gradients(direction) ? with_gradients : list;
}

constexpr int tiles_of_each = 4;
/// A layer in bfloat16 rounds three times itself, to 72 % of the cap. In sequences of fewer tokens,
/// forms of gla that round their factors as well came to 125 % of it on an H200.
constexpr std::int64_t least_tokens_to_round = 64;
constexpr Limits widest{90, 232448, 0, 132};
constexpr Limits narrowest{86, 101376, 0, 84};

// How far a tile is from the preferred one. Earlier axes count more.
int distance(const Choice& wanted, const Tile& tile) {
  int sum = 0, weight = 1 << wanted.favourite.size();
  for (const auto& [axis, value] : wanted.favourite) {
    weight /= 2;
    const auto place = tile.find(std::string(axis));
    if (place != tile.end() && place->second != value) sum += weight;
  }
  return sum;
}

struct Known {
  Variant variant;
  std::vector<Tile> tiles;  // sorted by distance to the preferred tile
};

Known known(const Choice& wanted, const Variant& variant) {
  std::vector<std::pair<int, Tile>> ranked;
  for (Tile& tile : all_tiles(variant.space))
    ranked.emplace_back(distance(wanted, tile), std::move(tile));
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Known result{variant, {}};
  for (auto& [rank, tile] : ranked) result.tiles.push_back(std::move(tile));
  return result;
}

std::vector<Known> known_variants() {
  std::vector<Known> list;
  for (const Variant& variant : linear_recurrence::variants())
    for (const Direction direction : directions)
      for (const Choice& wanted : choices(direction))
        if (variant.op == "gla" && variant.direction == direction && variant.name == wanted.variant)
          list.push_back(known(wanted, variant));
  return list;
}

// Finds a variant of gla without the list of all variants, because this family is part of that
// list.
const Known* find_inner(BackendId backend, std::string_view name, Direction direction) {
  static const std::vector<Known> list = known_variants();
  for (const Known& one : list)
    if (one.variant.name == name && one.variant.backend == backend &&
        one.variant.direction == direction)
      return &one;
  return nullptr;
}

const Choice* choice_of(const Tile& tile, Direction direction) {
  const std::vector<Choice>& list = choices(direction);
  const int number = choice(tile, "inner");
  if (number < 0 || static_cast<std::size_t>(number) >= list.size()) return nullptr;
  return &list[static_cast<std::size_t>(number)];
}

// The `number`-th of the tiles that gla's variant accepts for the problem, in order of distance to
// the preferred tile.
std::optional<Tile> accepted_tile(const Known& inner, const Problem& problem, int number,
                                  const Limits& limits) {
  for (const Tile& tile : inner.tiles)
    if (!inner.variant.reject(problem, tile, limits) && number-- == 0) return tile;
  return std::nullopt;
}

Limits limits_for(BackendId backend, int number) {
  if (backend == BackendId::host) return {};
  return number < tiles_of_each ? widest : narrowest;
}

// The names that gla and the layer have in common. The layer has all of gla's tensors.
bool is_shared(std::string_view name) {
  constexpr std::array<std::string_view, 14> shared{
      "q",  "k",  "v",  "g",  "o",  "initial_state",  "final_state",
      "dq", "dk", "dv", "dg", "do", "dinitial_state", "dfinal_state"};
  return std::find(shared.begin(), shared.end(), name) != shared.end();
}

std::string layers_name(std::string_view stage, std::string_view name) {
  return is_shared(name) ? std::string(name) : std::string(stage) + "." + std::string(name);
}

Address renamed(const std::string& stage, const Address& address) {
  return [stage, address](std::string_view name) { return address(layers_name(stage, name)); };
}

/// From gla's names of tensors and regions to the layer's, with the layer's stage.
struct Renaming {
  std::string name, stage;
  int first_module;

  Step operator()(KernelLaunch launch) const {
    launch.module += first_module;
    launch.stage = stage;
    return launch;
  }
  Step operator()(MatrixProduct product) const {
    for (MatrixOperand* operand : {&product.a, &product.b, &product.c})
      operand->buffer = layers_name(name, operand->buffer);
    product.stage = stage;
    return product;
  }
  Step operator()(Zero zero) const { return Zero{layers_name(name, zero.buffer), stage}; }
  Step operator()(StreamCall call) const { return StreamCall{std::move(call.call), stage}; }
};

Recipe recipe_of(const Inner& inner) {
  return std::get<std::function<Recipe(const Problem&, const Tile&)>>(inner.variant->code)(
      inner.problem, inner.tile);
}

}  // namespace

TileSpace inner_axes(Direction direction) {
  TileAxis inner{"inner", {}, "variant of gla:"};
  for (const Choice& one : choices(direction)) {
    inner.meaning += " " + std::to_string(inner.values.size()) + " " + std::string(one.variant);
    inner.values.push_back(static_cast<int>(inner.values.size()));
  }
  TileAxis tiles{"inner_tile", {}, "which of its tiles, best first; from 4 on for 99 KiB a block"};
  for (int i = 0; i < 2 * tiles_of_each; ++i) tiles.values.push_back(i);
  return {inner, tiles};
}

Problem recurrence_of(const Problem& problem) {
  Problem inner = problem;
  inner.op = "gla";
  inner.shape.model_dim = 0;
  inner.options.clear();
  inner.tensors.clear();
  inner.tensor_names.clear();
  return inner;
}

std::optional<Inner> inner_of(BackendId backend, const Problem& problem, const Tile& tile) {
  const Direction direction = problem.direction;
  const Choice* wanted = choice_of(tile, direction);
  const Known* inner = wanted ? find_inner(backend, wanted->variant, direction) : nullptr;
  const int number = choice(tile, "inner_tile");
  if (inner == nullptr || number < 0 || number >= 2 * tiles_of_each) return std::nullopt;
  const Problem recurrence = recurrence_of(problem);
  const auto found =
      accepted_tile(*inner, recurrence, number % tiles_of_each, limits_for(backend, number));
  if (!found) return std::nullopt;
  return Inner{&inner->variant, recurrence, *found,
               direction == Direction::backward ? "gla_backward" : "gla"};
}

std::optional<Inner> outputs_inner_of(BackendId backend, const Problem& problem, const Tile& tile) {
  const Choice* wanted = choice_of(tile, problem.direction);
  const Known* inner = wanted ? find_inner(backend, wanted->variant, Direction::forward) : nullptr;
  if (inner == nullptr) return std::nullopt;
  Problem recurrence = in_direction(recurrence_of(problem), Direction::forward);
  recurrence.final_state = false;
  const Limits limits = limits_for(backend, choice(tile, "inner_tile"));
  const auto found = accepted_tile(*inner, recurrence, 0, limits);
  if (!found) return std::nullopt;
  return Inner{&inner->variant, recurrence, *found};
}

std::vector<Inner> inners_of(BackendId backend, const Problem& problem, const Tile& tile) {
  std::vector<Inner> list;
  if (problem.direction == Direction::backward)
    if (auto outputs = outputs_inner_of(backend, problem, tile))
      list.push_back(std::move(*outputs));
  if (auto inner = inner_of(backend, problem, tile)) list.push_back(std::move(*inner));
  return list;
}

std::optional<std::string> refuse_inner(BackendId backend, const Problem& problem, const Tile& tile,
                                        const Limits& limits) {
  for (const char* axis : {"inner", "inner_tile"})
    if (!tile.contains(axis)) return "the tile has no " + std::string(axis);
  const Choice* wanted = choice_of(tile, problem.direction);
  if (wanted == nullptr) return "inner: there is no such variant of gla";
  const std::string name(wanted->variant);
  if (find_inner(backend, name, problem.direction) == nullptr)
    return "gla has no " + std::string(gla_bench::name(problem.direction)) + " variant " + name +
           " on " + std::string(gla_bench::name(backend));
  const auto inner = inner_of(backend, problem, tile);
  if (!inner)
    return "gla by " + name + " has no tile number " + std::to_string(choice(tile, "inner_tile")) +
           " for this problem";
  if (auto reason = inner->variant->reject(inner->problem, inner->tile, limits))
    return "gla by " + name + ": " + *reason;
  if (problem.direction == Direction::backward) {
    const auto outputs = outputs_inner_of(backend, problem, tile);
    if (!outputs) return "gla by " + name + " has no tile for the outputs of this problem";
    if (auto reason = outputs->variant->reject(outputs->problem, outputs->tile, limits))
      return "the outputs of gla by " + name + ": " + *reason;
  }
  if (problem.dtype == DType::bfloat16 && problem.shape.seq < least_tokens_to_round &&
      inner->variant->arithmetic(inner->problem, inner->tile) == Arithmetic::bfloat16)
    return "gla by " + name + " rounds its factors, too much beside the layer's own roundings in " +
           "sequences of less than " + std::to_string(least_tokens_to_round) + " tokens";
  return std::nullopt;
}

std::vector<Region> inner_workspace(const Inner& inner) {
  std::vector<Region> regions = inner.variant->workspace(inner.problem, inner.tile);
  for (Region& region : regions) region.name = layers_name(inner.stage, region.name);
  return regions;
}

ParamBytes inner_params(const Inner& inner, const Address& address) {
  return inner.variant->bind(inner.problem, inner.tile, renamed(inner.stage, address));
}

int append_inner_modules(const Inner& inner, Recipe& recipe) {
  const Recipe steps = recipe_of(inner);
  const int first = static_cast<int>(recipe.imports.size()) + 1;
  recipe.imports.push_back({steps.source, steps.constants, [inner](const Address& address) {
                              return inner_params(inner, address);
                            }});
  for (const Module& module : steps.imports)
    recipe.imports.push_back(
        {module.source, module.constants, [module, inner](const Address& address) {
           return module.bind(renamed(inner.stage, address));
         }});
  for (TensorMap map : steps.tensor_maps) {
    map.module += first;
    map.buffer = layers_name(inner.stage, map.buffer);
    recipe.tensor_maps.push_back(std::move(map));
  }
  return first;
}

void append_inner_pass(const Inner& inner, std::string_view pass, int first_module,
                       Recipe& recipe) {
  const Renaming rename{inner.stage, std::string(pass), first_module};
  for (const Step& step : recipe_of(inner).steps)
    if (stage_of(step) == pass) recipe.steps.push_back(std::visit(rename, step));
}

void append_inner(const Inner& inner, Recipe& recipe) {
  const Renaming rename{inner.stage, inner.stage, append_inner_modules(inner, recipe)};
  for (const Step& step : recipe_of(inner).steps) recipe.steps.push_back(std::visit(rename, step));
}

Traffic inner_traffic(const Inner& inner, std::string_view pass) {
  for (const StageTraffic& stage : inner.variant->stages(inner.problem, inner.tile))
    if (stage.name == pass) return stage.traffic;
  return {};
}

std::vector<std::string> inner_sources(BackendId backend, Direction direction) {
  std::vector<Direction> passes{direction};
  if (direction == Direction::backward) passes.push_back(Direction::forward);
  std::set<std::string> sources;
  for (const Direction pass : passes)
    for (const Choice& one : choices(direction))
      if (const Known* inner = find_inner(backend, one.variant, pass))
        sources.insert(inner->variant.sources.begin(), inner->variant.sources.end());
  return {sources.begin(), sources.end()};
}

}  // namespace gla_bench::gla_layer
