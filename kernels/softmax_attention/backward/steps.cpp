#include "kernels/softmax_attention/backward/steps.hpp"

#include "kernels/softmax_attention/backward/layout.h"
#include "kernels/softmax_attention/family.hpp"

namespace gla_bench::softmax_attention {
namespace {

constexpr unsigned largest_blocks = 32;  // blocks that may share a sequence and key head

std::size_t count(std::int64_t a, std::int64_t b, std::int64_t c) {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b) * static_cast<std::size_t>(c);
}

bool scaled(const Problem& problem) {
  return problem.dtype == DType::float16;
}

BackwardRows rows_of(const Problem& problem) {
  return {static_cast<int>(problem.shape.value_dim), static_cast<int>(size_of(problem.dtype))};
}

double prepare_blocks(const Problem& problem) {
  const Shape& s = problem.shape;
  const double rows =
      static_cast<double>(s.batch) * static_cast<double>(s.heads) * static_cast<double>(s.seq);
  const double per_block = rows_of(problem).rows;
  return static_cast<double>(static_cast<std::int64_t>((rows + per_block - 1) / per_block));
}

}  // namespace

KernelLaunch backward_launch(std::string_view entry, double blocks, int threads, int shared) {
  return {std::string(entry),
          {static_cast<unsigned>(blocks), 1, 1},
          {static_cast<unsigned>(threads), 1, 1},
          static_cast<std::size_t>(shared)};
}

std::vector<Region> backward_regions(const Problem& problem, Preparation preparation) {
  const Shape& s = problem.shape;
  const Decay decay = decay_of(problem);
  const std::size_t queries = count(s.batch, s.heads, s.seq);
  const std::size_t keys = count(s.batch, s.heads, s.keys_seq());
  std::vector<Region> list;
  if (preparation == Preparation::shared) list.push_back({"pairs", 8 * queries});
  if (scaled(problem)) list.push_back({"largest", 8 * count(s.batch, s.keys_heads(), 1)});
  if (decay == Decay::per_token) {
    if (preparation == Preparation::shared) list.push_back({"decays", 16 * keys});
    list.push_back({"query_sums", 8 * queries});
  }
  if (decay != Decay::none) list.push_back({"key_sums", 8 * keys});
  return list;
}

std::vector<Constant> backward_places(const std::vector<Region>& regions) {
  std::vector<Constant> list;
  for (const char* name : {"pairs", "largest", "decays", "query_sums", "key_sums", "dq_sums",
                           "scores", "operands", "results"}) {
    int place = 0;
    for (std::size_t i = 0; i < regions.size(); ++i)
      if (regions[i].name == name) place = static_cast<int>(i);
    list.push_back({"work", name, place});
  }
  return list;
}

std::vector<Step> steps_before(const Problem& problem, DecaySums sums, Preparation preparation) {
  const Shape& s = problem.shape;
  const bool varies = decay_of(problem) == Decay::per_token;
  std::vector<Step> list;
  if (preparation == Preparation::shared)
    list.push_back(backward_launch("attention_backward_prepare", prepare_blocks(problem),
                                   BackwardRows::threads));
  if (scaled(problem)) {
    KernelLaunch launch =
        backward_launch("attention_backward_largest", static_cast<double>(s.batch * s.keys_heads()),
                        BackwardRows::threads);
    launch.grid.y = largest_blocks;
    list.push_back(Zero{"largest"});
    list.push_back(launch);
  }
  if (!varies) return list;
  if (preparation == Preparation::shared)
    list.push_back(backward_launch("attention_backward_sum_decays",
                                   static_cast<double>(sequences(problem) * s.heads),
                                   backward_scan_threads));
  if (sums == DecaySums::added) list.push_back(Zero{"query_sums"});
  return list;
}

std::vector<Step> steps_after(const Problem& problem) {
  const Shape& s = problem.shape;
  const Decay decay = decay_of(problem);
  if (decay == Decay::none) return {};
  const auto blocks =
      static_cast<double>(decay == Decay::per_token ? sequences(problem) * s.heads : s.heads);
  return {backward_launch("attention_backward_decay", blocks, backward_scan_threads)};
}

Traffic traffic_beside(const Problem& problem, DecaySums sums, Preparation preparation) {
  const Decay decay = decay_of(problem);
  const double queries = lse_bytes(problem) / 4;
  const double keys = queries / static_cast<double>(problem.shape.seq) *
                      static_cast<double>(problem.shape.keys_seq());
  Traffic bytes{2 * output_bytes(problem) + lse_bytes(problem),
                preparation == Preparation::shared ? 8 * queries : 0};
  if (scaled(problem)) bytes.read_bytes += output_bytes(problem) + value_bytes(problem);
  if (decay == Decay::none) return bytes;
  bytes.read_bytes += 8 * keys;
  bytes.write_bytes += decay_gradient_bytes(problem);
  const bool scanned = preparation == Preparation::shared && decay == Decay::per_token;
  if (scanned || decay == Decay::constant) bytes.read_bytes += decay_bytes(problem);
  if (decay == Decay::constant) return bytes;
  bytes.read_bytes += 8 * queries;
  bytes.write_bytes += (scanned ? 16 * keys : 0) + (sums == DecaySums::added ? 8 * queries : 0);
  return bytes;
}

std::optional<std::string> refuse_backward(const Problem& problem) {
  const Shape& s = problem.shape;
  for (const std::int64_t dim : {s.key_dim, s.value_dim})
    if (dim > 256)
      return (dim == s.key_dim ? "key_dim " : "value_dim ") + std::to_string(dim) +
             " is above 256, the most of the backward";
  if (s.seq > std::int64_t{1} << 30 || s.keys_seq() > std::int64_t{1} << 30)
    return "more tokens than 2^30";
  if (auto reason = refuse_blocks(prepare_blocks(problem))) return reason;
  return refuse_blocks(static_cast<double>(s.batch) * static_cast<double>(s.heads));
}

}  // namespace gla_bench::softmax_attention
