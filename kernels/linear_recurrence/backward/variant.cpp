#include "kernels/linear_recurrence/backward/variant.hpp"

#include "core/operator.hpp"
#include "kernels/linear_recurrence/host/variant.hpp"

namespace gla_bench::linear_recurrence {
namespace {

constexpr int sum_threads = 256;  // sums.cuh has the same

bool is_normalized(const Problem& problem) {
  return flag(problem, "normalize");
}

bool has_token_gates(const Problem& problem) {
  return member_of(problem).decay == Decay::per_token;
}

bool has_value_parts(const Problem& problem, const GradientSums& sums) {
  return sums.slices > 1 || is_normalized(problem);
}

double value_part_bytes(const Problem& problem) {
  return host::float_rows(problem, host::columns(problem));
}

double gate_part_bytes(const Problem& problem) {
  return has_token_gates(problem) ? host::float_rows(problem, 1) : 0.0;
}

double head_sum_bytes(const Problem& problem, const GradientSums& sums) {
  return has_head_sums(problem) ? 8.0 * static_cast<double>(sums.tasks) *
                                      static_cast<double>(problem.shape.key_dim + sums.slices)
                                : 0.0;
}

std::size_t whole(double bytes) {
  return static_cast<std::size_t>(bytes);
}

double blocks_of(double threads) {
  return static_cast<double>(ceil_div(static_cast<std::int64_t>(threads), sum_threads));
}

double value_threads(const Problem& problem) {
  return host::tokens(problem) * static_cast<double>(problem.shape.value_dim);
}

}  // namespace

std::vector<Region> gradient_regions(const Problem& problem, std::vector<Region> own,
                                     const GradientSums& sums) {
  const auto slices = static_cast<double>(sums.slices);
  if (has_value_parts(problem, sums))
    own.push_back({"value_parts", whole(slices * value_part_bytes(problem))});
  if (has_token_gates(problem))
    own.push_back({"gate_parts", whole(slices * gate_part_bytes(problem))});
  if (is_normalized(problem)) own.push_back({outputs_region, whole(kept_output_bytes(problem))});
  if (has_head_sums(problem)) own.push_back({sums_region, whole(head_sum_bytes(problem, sums))});
  return own;
}

std::vector<Constant> gradient_constants(const std::vector<Region>& regions,
                                         const GradientSums& sums) {
  std::vector<Constant> list{{"launch", "slices", static_cast<int>(sums.slices)},
                             {"launch", "task_tokens", sums.task_tokens}};
  for (const char* name : {"kept", "chunk_states", "changes", "decays", "operands", "read", "passing",
                           "value_parts", "gate_parts"}) {
    int place = 0;
    for (std::size_t i = 0; i < regions.size(); ++i)
      if (regions[i].name == name) place = static_cast<int>(i);
    list.push_back({"work", name, place});
  }
  return list;
}

KernelLaunch gradient_launch(std::string_view entry, double blocks, int threads, int shared) {
  return {std::string(entry),
          {static_cast<unsigned>(blocks), 1, 1},
          {static_cast<unsigned>(threads), 1, 1},
          static_cast<std::size_t>(shared)};
}

std::vector<Step> output_gradient_steps(const Problem& problem) {
  if (!is_normalized(problem)) return {};
  return {gradient_launch("gradient_outputs", blocks_of(32 * host::tokens(problem)), sum_threads)};
}

std::vector<Step> gradient_sum_steps(const Problem& problem, const GradientSums& sums) {
  std::vector<Step> list;
  if (sums.slices > 1)
    list.push_back(
        gradient_launch("gradient_values", blocks_of(value_threads(problem)), sum_threads));
  if (has_token_gates(problem))
    list.push_back(
        gradient_launch("gradient_gates", blocks_of(host::tokens(problem)), sum_threads));
  if (has_head_sums(problem)) {
    const Shape& s = problem.shape;
    const std::int64_t each = member_of(problem).before_update ? s.key_dim : 1;
    list.push_back(gradient_launch("gradient_sums", blocks_of(static_cast<double>(s.heads * each)),
                                   sum_threads));
  }
  return list;
}

Traffic gradient_sum_traffic(const Problem& problem, const GradientSums& sums) {
  const auto slices = static_cast<double>(sums.slices);
  double parts = slices * gate_part_bytes(problem) + head_sum_bytes(problem, sums);
  if (sums.slices > 1) parts += slices * value_part_bytes(problem);
  Traffic bytes{parts, parts};
  if (is_normalized(problem)) {
    const double outputs = slices * value_part_bytes(problem);
    bytes.read_bytes += outputs + value_bytes(problem);
    bytes.write_bytes += outputs + kept_output_bytes(problem);
  }
  return bytes;
}

std::optional<std::string> refuse_gradients(const Problem& problem,
                                            const std::vector<Region>& regions,
                                            const GradientSums& sums, const Limits& limits) {
  if (problem.direction != Direction::backward) return "backward only";
  if (auto reason = refuse_architecture(limits)) return reason;
  if (auto reason = refuse_blocks(value_threads(problem) / sum_threads + 1)) return reason;
  if (auto reason = refuse_blocks(host::tokens(problem) / 8 + 1)) return reason;
  if (auto reason =
          refuse_blocks(static_cast<double>(sums.tasks) * static_cast<double>(sums.slices)))
    return reason;
  double bytes = 0;
  for (const Region& region : regions) bytes += static_cast<double>(region.bytes);
  return refuse_workspace(bytes, limits);
}

Variant cuda_backward_variant(const Member& member, const CudaForm& form) {
  Variant variant = cuda_variant(member, form);
  for (const char* source : {"backward/variant.cpp", "backward/gradients.cpp", "host/variant.cpp"})
    variant.sources.push_back("linear_recurrence/" + std::string(source));
  variant.direction = Direction::backward;
  variant.bind = [workspace = variant.workspace](const Problem& problem, const Tile& tile,
                                                 const Address& address) {
    return bind_gradients(problem, address, workspace(problem, tile));
  };
  return variant;
}

}  // namespace gla_bench::linear_recurrence
