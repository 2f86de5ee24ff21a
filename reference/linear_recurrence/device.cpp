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

std::int64_t sequences_of(const Shape& s) {
  return s.sequences > 0 ? s.sequences : s.batch;
}

std::int64_t column_blocks(const Shape& s) {
  return (s.value_dim + device::columns - 1) / device::columns;
}

// Warps of a block, each with some rows of the state.
std::int64_t slices_of(const Shape& s) {
  return (s.key_dim + device::most_warp_rows - 1) / device::most_warp_rows;
}

// One block for each sequence, head and slice of the value columns.
KernelLaunch launch_of(const char* entry, const Shape& s) {
  return {entry,
          {static_cast<unsigned>(sequences_of(s) * s.heads),
           static_cast<unsigned>(column_blocks(s)), 1},
          {static_cast<unsigned>(device::columns * slices_of(s)), 1, 1},
          0};
}

// The launches of the gradients, behind the one that goes forwards.
std::vector<KernelLaunch> gradient_launches(const Shape& s) {
  constexpr std::int64_t rows_of_block = 8;
  const auto blocks =
      static_cast<unsigned>((s.batch * s.seq * s.heads + rows_of_block - 1) / rows_of_block);
  return {launch_of("linear_recurrence_gradients", s),
          {"linear_recurrence_token_sums", {blocks, 1, 1}, {32 * rows_of_block, 1, 1}, 0},
          {"linear_recurrence_head_sums",
           {static_cast<unsigned>(s.heads), 1, 1},
           {static_cast<unsigned>(s.key_dim), 1, 1},
           0}};
}

// What the kernels of the gradients leave to each other, as Params says.
std::vector<Region> gradient_workspace(const Shape& s, std::size_t real_bytes) {
  const std::int64_t sequences = sequences_of(s), blocks = sequences * s.heads * column_blocks(s);
  const std::int64_t rows = s.batch * s.seq * s.heads;
  const std::int64_t segments = s.batch * s.seq / device::segment + sequences + 1;
  const std::int64_t slices = slices_of(s);
  const std::int64_t thread_rows = (s.key_dim + slices - 1) / slices;
  const auto region = [&](const char* name, std::int64_t elements) {
    return Region{name, static_cast<std::size_t>(elements) * real_bytes};
  };
  return {region("kept", segments * s.heads * s.key_dim * s.value_dim),
          region("walked", blocks * (device::segment + 1) * thread_rows * device::columns * slices),
          region("parts", device::kinds_of_parts * column_blocks(s) * rows * s.key_dim),
          region("own", rows), region("head_parts", blocks)};
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
  p.d_o = given("do");
  p.d_final_state = given("dfinal_state");
  p.dq = made("dq");
  p.dk = made("dk");
  p.dv = made("dv");
  p.d_gate = made("d" + std::string(traits.gate));
  p.d_bonus = made("du");
  p.d_initial_state = made("dinitial_state");
  p.kept = made("kept");
  p.walked = made("walked");
  p.parts = made("parts");
  p.own = made("own");
  p.head_parts = made("head_parts");
  if (p.states != nullptr) p.every = std::stoll(option(problem, "states_every"));
  p.seq = problem.shape.seq;
  p.heads = problem.shape.heads;
  p.rows = problem.shape.batch * problem.shape.seq * problem.shape.heads;
  p.sequences = sequences_of(problem.shape);
  p.value_dim = static_cast<int>(problem.shape.value_dim);
  p.scale = problem.scale.value_or(default_scale(traits, problem));
  return bytes_of(p);
}

ReferenceRecipe recipe_of(const Traits& traits, const Problem& problem,
                          std::optional<Arithmetic> arithmetic) {
  ReferenceRecipe recipe;
  recipe.source = "reference/linear_recurrence/linear_recurrence.cuh";
  recipe.constants = constants_of(traits, problem);
  recipe.launches = {launch_of("linear_recurrence", problem.shape)};
  if (has_gradients(problem.direction)) {
    recipe.source = "reference/linear_recurrence/backward/backward.cuh";
    for (KernelLaunch& launch : gradient_launches(problem.shape))
      recipe.launches.push_back(std::move(launch));
    recipe.workspace =
        gradient_workspace(problem.shape, arithmetic ? sizeof(float) : sizeof(double));
  }
  recipe.bind = [t = &traits, problem, arithmetic](const Address& address) {
    return arithmetic ? bind<float>(*t, problem, address) : bind<double>(*t, problem, address);
  };
  return recipe;
}

// Gradients behind a normalizer are the host's. So is the plain computation of a constant decay's:
// one running sum over all products, whose error no sum of many threads has.
bool on_host(const Traits& traits, const Problem& problem, std::optional<Arithmetic> arithmetic) {
  return has_gradients(problem.direction) && (option(problem, "normalize") == "true" ||
                                              (arithmetic && traits.decay == Decay::per_head));
}

}  // namespace

DeviceReference device_reference(const Traits& traits) {
  DeviceReference reference;
  // Of gradients some are sums over the batch.
  reference.splits_batch = [](const Problem& problem) { return !has_gradients(problem.direction); };
  reference.recipe = [t = &traits](
                         const Problem& problem,
                         std::optional<Arithmetic> arithmetic) -> std::optional<ReferenceRecipe> {
    if (on_host(*t, problem, arithmetic)) return std::nullopt;
    return recipe_of(*t, problem, arithmetic);
  };
  return reference;
}

}  // namespace gla_bench::recurrence
