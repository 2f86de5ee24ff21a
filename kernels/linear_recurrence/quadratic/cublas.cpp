// Host side of cublas.cuh. The plan of its launches and products is in cublas_steps.cpp.

#include <cmath>

#include "core/operator.hpp"
#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/quadratic/cublas_steps.hpp"
#include "kernels/linear_recurrence/refusal.hpp"
#include "kernels/linear_recurrence/variants.hpp"

namespace gla_bench::linear_recurrence {
namespace {

TileSpace space() {
  return {{"leaf", {64, 32, 128}, "most tokens of a leaf of the tree, scored by a kernel"},
          {"bands", {4, 1, 8}, "bands of rows of O = P V; each stops at its diagonal"},
          {"tf32", {0, 1}, "float32 products in tf32"}};
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  const CublasTree t = cublas_tree(problem, tile);
  const CublasLayout at = cublas_layout(problem, tile);
  const auto batch = static_cast<std::size_t>(sequences(problem));
  const auto seq = static_cast<std::size_t>(t.seq), padded = static_cast<std::size_t>(t.padded);
  const auto key = static_cast<std::size_t>(at.key_ld);
  const std::size_t held = size_of(workspace_dtype(problem, tile));
  const auto value = static_cast<std::size_t>(at.value_ld);
  const auto slots = static_cast<std::size_t>(operand_slots(problem, t.leaves));
  std::vector<Region> regions;
  switch (member_of(problem).decay) {
    case Decay::none:
      break;
    case Decay::per_head:
    case Decay::per_token:
      regions.push_back({"gates", batch * seq * 8});
      break;
    case Decay::per_key:
      regions.push_back({"gates", batch * static_cast<std::size_t>(t.leaves) * key * 4});
  }
  regions.push_back({"operands", slots * batch * padded * key * held});
  regions.push_back({"scores", batch * static_cast<std::size_t>(t.score_stride) * held});
  regions.push_back({"outputs", batch * seq * value * 4});
  if (problem.initial_state) regions.push_back({"from_start", batch * seq * key * 4});
  if (!values_in_place(problem, tile)) regions.push_back({"values", batch * seq * value * held});
  return regions;
}

/// The same total in floating point, which works for any size.
double workspace_estimate(const Problem& problem, const Tile& tile) {
  const CublasTree t = cublas_tree(problem, tile);
  const CublasLayout at = cublas_layout(problem, tile);
  const auto held = static_cast<double>(size_of(workspace_dtype(problem, tile)));
  const auto padded = static_cast<double>(t.padded), seq = static_cast<double>(t.seq);
  const bool tree = member_of(problem).decay == Decay::per_key;
  double bytes = (tree ? static_cast<double>(t.leaves) * at.key_ld * 4 : seq * 8) +
                 padded * (padded + 1) * held +
                 operand_slots(problem, t.leaves) * padded * at.key_ld * held +
                 seq * at.value_ld * 4;
  if (problem.initial_state) bytes += seq * at.key_ld * 4;
  if (!values_in_place(problem, tile)) bytes += seq * at.value_ld * held;
  return bytes * static_cast<double>(sequences(problem));
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits) {
  if (auto reason = refuse_choice(space(), tile)) return reason;
  if (auto reason = refuse_sizes(problem)) return reason;
  if (auto reason = refuse_states(problem)) return reason;
  if (auto reason = refuse_architecture(limits)) return reason;
  if (auto reason = refuse_ragged(problem)) return reason;
  if (auto reason = refuse_bfloat16_state(problem)) return reason;
  if (choice(tile, "tf32") != 0 && problem.dtype != DType::float32)
    return "tf32=1 is for float32 problems";
  if (problem.shape.seq > std::int64_t{1} << 22)
    return "seq=" + std::to_string(problem.shape.seq) + " is too long for a matrix of all scores";
  if (auto reason = refuse_blocks(static_cast<double>(problem.shape.batch) *
                                  static_cast<double>(problem.shape.heads)))
    return reason;
  const std::int64_t count = cublas_tree(problem, tile).leaves;
  if (count > 65535) return std::to_string(count) + " leaves, a grid holds 65535";
  if (auto reason = refuse_shared(cublas_layout(problem, tile).score_shared_bytes, limits))
    return reason;
  return refuse_workspace(workspace_estimate(problem, tile), limits);
}

double leaf_flops(const Problem& problem, const Tile& tile) {
  if (member_of(problem).decay != Decay::per_key) return 0;
  const double leaf = choice(tile, "leaf");
  return 2 * leaf * leaf * static_cast<double>(problem.shape.key_dim) *
         static_cast<double>(sequences(problem)) *
         static_cast<double>(cublas_tree(problem, tile).leaves);
}

double flops(const Problem& problem, const Tile& tile) {
  double sum = leaf_flops(problem, tile);
  for (const Step& step : cublas_steps(problem, tile))
    if (const auto* p = std::get_if<MatrixProduct>(&step))
      sum += 2 * static_cast<double>(p->m) * static_cast<double>(p->n) * static_cast<double>(p->k) *
             static_cast<double>(p->batch);
  return sum;
}

/// What the kernels between the products move. With a tree, that is the scores of the leaves, which
/// are written over zeros. Without one, it is the scores of bands, which the kernel that gives them
/// their decays reads and writes, and the sums of the gates. Where there are no decays, only the
/// leaves on the diagonal are read.
Traffic score_traffic(const Problem& problem, const Tile& tile) {
  const CublasTree t = cublas_tree(problem, tile);
  const auto held = static_cast<double>(size_of(workspace_dtype(problem, tile)));
  const auto batch = static_cast<double>(sequences(problem));
  const Member& member = member_of(problem);
  if (member.decay == Decay::per_key) {
    const double scores = batch * static_cast<double>(t.score_stride) * held;
    return {2 * key_bytes(problem) + gate_bytes(problem),
            scores + scores / static_cast<double>(t.leaves)};
  }
  double read = 0, written = 0;  // leaves
  for (const CublasBand& band : cublas_bands(t, choice(tile, "bands")))
    for (std::int64_t i = band.first / t.leaf; i < band.leaves; ++i) {
      const bool plain = member.decay == Decay::none;
      read += plain ? 1 : static_cast<double>(i + 1);
      written += static_cast<double>(plain ? band.leaves - i : band.leaves);
    }
  const double leaf = batch * static_cast<double>(t.leaf) * static_cast<double>(t.leaf) * held;
  const double sums = member.decay == Decay::none ? 0 : batch * static_cast<double>(t.seq) * 8;
  return {read * leaf, written * leaf + sums};
}

/// Products read each operand and write each result once. The kernels add the traffic of their
/// tensors and workspace regions.
Traffic traffic(const Problem& problem, const Tile& tile) {
  Traffic bytes;
  for (const Step& step : cublas_steps(problem, tile)) {
    const auto* p = std::get_if<MatrixProduct>(&step);
    if (p == nullptr) continue;
    const auto m = static_cast<double>(p->m), n = static_cast<double>(p->n);
    const auto k = static_cast<double>(p->k), batch = static_cast<double>(p->batch);
    const double result = batch * m * n * static_cast<double>(size_of(p->c.dtype));
    bytes.read_bytes += batch * (m * k + k * n) * static_cast<double>(size_of(p->a.dtype));
    if (std::fpclassify(p->beta) != FP_ZERO) bytes.read_bytes += result;
    bytes.write_bytes += result;
  }
  const double key = key_bytes(problem), value = value_bytes(problem), gate = gate_bytes(problem);
  const double held = static_cast<double>(size_of(workspace_dtype(problem, tile))) /
                      static_cast<double>(size_of(problem.dtype));
  const int slots =
      operand_slots(problem, cublas_tree(problem, tile).leaves) + problem.initial_state;
  const Traffic between = score_traffic(problem, tile);
  bytes.read_bytes += between.read_bytes + small_bytes(problem);
  bytes.write_bytes += between.write_bytes + key * held * slots;
  if (member_of(problem).decay == Decay::per_key)
    bytes.read_bytes += gate + (key + gate) * slots;  // sums, operands
  else
    bytes.read_bytes += gate + key * slots;
  if (flag(problem, "normalize") && problem.final_state) bytes.read_bytes += key;
  const double outputs = value / static_cast<double>(size_of(problem.dtype)) * 4;
  bytes.read_bytes += outputs;
  bytes.write_bytes += value;
  if (!values_in_place(problem, tile)) {
    bytes.read_bytes += value;
    bytes.write_bytes += value * held;
  }
  if (problem.initial_state && problem.final_state) {
    bytes.read_bytes += state_bytes(problem);
    bytes.write_bytes += state_bytes(problem);
  }
  return bytes;
}

Recipe recipe(const Problem& problem, const Tile& tile) {
  // Of the tile, the kernels see only the leaf, so bands and tf32 share their binaries.
  Recipe r{"linear_recurrence/quadratic/cublas.cuh",
           constants(problem, {{"leaf", choice(tile, "leaf")}}),
           {}};
  const bool exact = cublas_arithmetic(problem, tile) == Arithmetic::float32;
  r.constants.push_back({"product", "terms", exact ? 3 : 1});
  r.constants.push_back({"product", "wide", workspace_dtype(problem, tile) != problem.dtype});
  r.steps = cublas_steps(problem, tile);
  return r;
}

}  // namespace

Variant parallel_cublas(const Member& member) {
  return cuda_variant(
      member,
      {"parallel_cublas",
       member.decay == Decay::per_key
           ? "quadratic in T, all scores in device memory, products through cuBLAS by a tree"
           : "quadratic in T, all scores in device memory, two products through cuBLAS",
       space(),
       {"linear_recurrence/quadratic/cublas.cuh", "linear_recurrence/quadratic/cublas.cpp",
        "linear_recurrence/quadratic/cublas_steps.cpp"},
       cublas_arithmetic,
       reject,
       traffic,
       flops,
       workspace,
       recipe});
}

}  // namespace gla_bench::linear_recurrence
