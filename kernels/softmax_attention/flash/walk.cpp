#include "kernels/softmax_attention/flash/walk.hpp"

#include <algorithm>

#include "core/operator.hpp"
#include "kernels/softmax_attention/family.hpp"
#include "reference/attention/ragged.hpp"

namespace gla_bench::softmax_attention {
namespace {

constexpr int registers_per_thread = 255;
constexpr int sum_bytes = 16;      // of a DecaySum, and of a chunk's total
constexpr int decay_chunk = 1024;  // DecayPrefix::chunk
constexpr int decay_threads = 256;

/// The number of registers besides accumulators and queries, as seen in the assembler's reports.
int other_registers(const Problem& problem, const FlashLayout& layout, const FlashUse& use,
                    int terms) {
  const int decay = layout.shape.decay ? 20 : 0, divide = use.divides ? 40 : 0;
  if (problem.dtype != DType::float32)
    return 60 + decay + divide + (layout.column_tiles >= 16 ? 4 : 0);
  if (terms == 1) return 80 + divide / 2;
  return layout.row_tiles == 1 ? 110 : 170;
}

std::optional<std::string> refuse_registers(const Problem& problem, const FlashLayout& layout,
                                            const FlashUse& use, int terms) {
  const int needed = layout.accumulators +
                     (layout.queries_in_registers ? layout.query_registers : 0) +
                     other_registers(problem, layout, use, terms);
  if (needed <= registers_per_thread) return std::nullopt;
  return "about " + std::to_string(needed) + " registers a thread, " +
         std::to_string(registers_per_thread) + " are there";
}

double decay_chunks(const Problem& problem) {
  const Shape& s = problem.shape;
  return static_cast<double>(blocks_of(problem, s.keys_seq(), decay_chunk)) *
         static_cast<double>(s.heads);
}

}  // namespace

FlashShape flash_shape(const Problem& problem, const Tile& tile, int warps_m, int warps_n) {
  const auto at_least_one = [](int x) { return std::max(1, x); };
  return {static_cast<int>(problem.shape.key_dim),
          static_cast<int>(problem.shape.value_dim),
          static_cast<int>(size_of(problem.dtype)),
          at_least_one(choice(tile, "block_m")),
          at_least_one(choice(tile, "block_n")),
          at_least_one(warps_m),
          at_least_one(warps_n),
          at_least_one(choice(tile, "stages")),
          decay_of(problem) != Decay::none};
}

std::optional<std::string> refuse_flash(const Problem& problem, const Tile& tile,
                                        const FlashShape& shape, const FlashUse& use,
                                        const Limits& limits) {
  const Shape& s = problem.shape;
  const int terms = choice(tile, "terms");
  if (s.key_dim > 256 || s.value_dim > 256) return "key_dim and value_dim go up to 256";
  if (auto reason = refuse_terms(problem, terms)) return reason;
  if (auto reason = refuse_tf32(problem, terms)) return reason;
  if (!(scale_of(*find_operator(problem.op), problem) > 0)) return "needs a scale above zero";
  if (s.seq > std::int64_t{1} << 30 || s.keys_seq() > std::int64_t{1} << 30)
    return "seq and key_seq go up to 2^30";
  if (shape.block_m % (16 * shape.warps_m) != 0)
    return "block_m=" + std::to_string(shape.block_m) + " leaves " + std::to_string(shape.warps_m) +
           " warps less than 16 rows each";
  if (shape.block_n % (16 * shape.warps_n) != 0)
    return "block_n=" + std::to_string(shape.block_n) + " leaves " + std::to_string(shape.warps_n) +
           " warps less than 16 keys each";
  const FlashLayout layout{shape};
  if (auto reason = refuse_registers(problem, layout, use, terms)) return reason;
  if (shape.decay)
    if (auto reason = refuse_blocks(decay_chunks(problem))) return reason;
  return refuse_shared(layout.bytes, limits);
}

std::optional<std::string> refuse_tf32(const Problem& problem, int terms) {
  const bool large = problem.gate == "peaked" || problem.gate == "shifted";
  if (terms != 1 || problem.dtype != DType::float32 || !large) return std::nullopt;
  return "tf32 rounds logits of the regime " + problem.gate + " by more than its bound allows";
}

int flash_residency(const FlashShape& shape) {
  return std::max(1, 256 / FlashLayout{shape}.threads);
}

double flash_flops(const Problem& problem, const FlashShape& shape, std::int64_t group) {
  const Shape& s = problem.shape;
  double visited = 0;  // number of keys, over the tiles of all sequences
  for (const attention::Lengths& one : attention::lengths(problem)) {
    const std::int64_t keys = one.keys, rows = one.queries * group;
    double of_one = 0;
    for (std::int64_t first = 0; first < rows; first += shape.block_m) {
      const std::int64_t last = std::min(first + shape.block_m, rows) - 1;
      const std::int64_t seen =
          causal(problem) ? std::max<std::int64_t>(0, last / group + 1 + keys - one.queries) : keys;
      of_one += static_cast<double>(ceil_div(seen, shape.block_n) * shape.block_n);
    }
    visited += of_one * static_cast<double>(one.times);
  }
  return 2 * visited * shape.block_m * static_cast<double>(s.key_dim + s.value_dim) *
         static_cast<double>(s.heads / group);
}

std::vector<Region> decay_regions(const Problem& problem) {
  if (decay_of(problem) == Decay::none) return {};
  const Shape& s = problem.shape;
  return {{"decay_sums", static_cast<std::size_t>(s.batch * s.heads * s.keys_seq() * sum_bytes)},
          {"decay_totals", static_cast<std::size_t>(decay_chunks(problem)) * sum_bytes}};
}

void add_decay_steps(const Problem& problem, std::vector<Step>& steps) {
  if (decay_of(problem) == Decay::none) return;
  for (const char* entry : {"decay_totals", "decay_prefix"})
    steps.push_back(KernelLaunch{
        entry, {static_cast<unsigned>(decay_chunks(problem)), 1, 1}, {decay_threads, 1, 1}, 0});
}

void add_decay_traffic(const Problem& problem, Traffic& traffic) {
  double written = 0;
  for (const Region& region : decay_regions(problem)) written += static_cast<double>(region.bytes);
  traffic.read_bytes += 2 * decay_bytes(problem) + written;
  traffic.write_bytes += written;
}

}  // namespace gla_bench::softmax_attention
