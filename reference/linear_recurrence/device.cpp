// The linear recurrence on a CUDA device (linear_recurrence.cuh), described as data.

#include <string>

#include "reference/device_bytes.hpp"
#include "reference/linear_recurrence/traits.hpp"

namespace gla_bench::recurrence {
namespace {

std::vector<Constant> constants_of(const Traits& traits, const Problem& problem) {
  const auto chosen = [&](const char* name, const char* value) {
    return option(problem, name) == value ? 1 : 0;
  };
  return {{"dim", "key_dim", static_cast<int>(problem.shape.key_dim)},
          {"trait", "decay", static_cast<int>(traits.decay)},
          {"trait", "before_update", traits.before_update ? 1 : 0},
          {"trait", "elu_features", chosen("feature_map", "elu_plus_one")},
          {"trait", "normalize", chosen("normalize", "true")},
          {"trait", "raw_gates", chosen("gate_input", "raw")},
          {"trait", "ragged", problem.shape.sequences > 0 ? 1 : 0}};
}

// One block for each sequence, head and slice of the value columns.
KernelLaunch launch_of(const Shape& s) {
  const std::int64_t sequences = s.sequences > 0 ? s.sequences : s.batch;
  const auto slices =
      static_cast<unsigned>((s.key_dim + device::most_warp_rows - 1) / device::most_warp_rows);
  constexpr auto columns = static_cast<unsigned>(device::columns);
  return {"linear_recurrence",
          {static_cast<unsigned>(sequences * s.heads),
           static_cast<unsigned>((s.value_dim + device::columns - 1) / device::columns), 1},
          {columns * slices, 1, 1},
          0};
}

template <class Real>
ParamBytes bind(const Traits& traits, const Problem& problem, const Address& address) {
  const auto given = [&](std::string_view name) {
    return static_cast<const float*>(address(name));
  };
  const auto made = [&](std::string_view name) { return static_cast<Real*>(address(name)); };
  device::Params<Real> p{};
  p.q = given("q");
  p.k = given("k");
  p.v = given("v");
  p.gate = given(traits.gate);
  p.bonus = given("u");
  p.boundaries = given("cu_seqlens");
  p.initial_state = given("initial_state");
  p.initial_normalizer = given("initial_normalizer");
  p.o = made("o");
  p.final_state = made("final_state");
  p.final_normalizer = made("final_normalizer");
  p.states = made("states");
  p.normalizers = made("normalizers");
  if (p.states != nullptr) p.every = std::stoll(option(problem, "states_every"));
  p.seq = problem.shape.seq;
  p.heads = problem.shape.heads;
  p.value_dim = static_cast<int>(problem.shape.value_dim);
  p.scale = problem.scale.value_or(default_scale(traits, problem));
  return bytes_of(p);
}

ReferenceRecipe recipe_of(const Traits& traits, const Problem& problem,
                          std::optional<Arithmetic> arithmetic) {
  ReferenceRecipe recipe;
  recipe.source = "reference/linear_recurrence/linear_recurrence.cuh";
  recipe.constants = constants_of(traits, problem);
  recipe.launches = {launch_of(problem.shape)};
  recipe.bind = [t = &traits, problem, arithmetic](const Address& address) {
    return arithmetic ? bind<float>(*t, problem, address) : bind<double>(*t, problem, address);
  };
  return recipe;
}

}  // namespace

DeviceReference device_reference(const Traits& traits) {
  DeviceReference reference;
  reference.splits_batch = true;
  reference.recipe = [t = &traits](
                         const Problem& problem,
                         std::optional<Arithmetic> arithmetic) -> std::optional<ReferenceRecipe> {
    if (problem.direction != Direction::forward) return std::nullopt;
    return recipe_of(*t, problem, arithmetic);
  };
  return reference;
}

}  // namespace gla_bench::recurrence
