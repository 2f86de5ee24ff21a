#include "kernels/softmax_attention/rows/vectors.hpp"

#include <algorithm>

#include "kernels/refusal.hpp"
#include "kernels/softmax_attention/family.hpp"

namespace gla_bench::softmax_attention {
namespace {

constexpr std::int64_t most_columns = 131072;
constexpr int most_vector_bytes = 16;
/// Of an H100 or H200 in its SXM form.
constexpr int threads_of_multiprocessor = 2048;
constexpr double cache_bytes = 50e6;

}  // namespace

int vector_width(const Problem& problem) {
  const auto size = static_cast<std::int64_t>(size_of(problem.dtype));
  std::int64_t bytes = most_vector_bytes;
  while (problem.shape.columns * size % bytes != 0) bytes /= 2;
  return static_cast<int>(bytes / size);
}

std::optional<std::string> refuse_columns(const Problem& problem) {
  if (problem.shape.columns <= most_columns) return std::nullopt;
  return "columns=" + std::to_string(problem.shape.columns) + " are more than " +
         std::to_string(most_columns);
}

std::int64_t blocks_of_row(const Problem& problem, std::int64_t block) {
  return ceil_div(problem.shape.columns, std::max<std::int64_t>(1, block));
}

std::optional<std::string> refuse_held_block(const Problem& problem, int block, int threads,
                                             int most) {
  if (auto reason = refuse_columns(problem)) return reason;
  const int each = block / threads;
  if (each < vector_width(problem))
    return "block=" + std::to_string(block) + " leaves " + std::to_string(threads) +
           " threads less than a vector each";
  if (each > most)
    return std::to_string(each) + " elements a thread, registers hold " + std::to_string(most);
  if (block > 1024 && block / 2 >= problem.shape.columns)
    return "half of block=" + std::to_string(block) + " already covers columns";
  return refuse_blocks(static_cast<double>(problem.shape.batch) *
                       static_cast<double>(blocks_of_row(problem, block)));
}

double passes_from_memory(const Problem& problem, int passes, int tensors, int rows, int threads) {
  const int blocks_of_one = threads_of_multiprocessor / std::max(1, rows * threads);
  const double blocks = multiprocessors * std::max(1, blocks_of_one);
  const double row = row_bytes(problem) / static_cast<double>(problem.shape.batch);
  const double at_work = std::min(static_cast<double>(problem.shape.batch), blocks * rows);
  return at_work * row * tensors <= cache_bytes ? 1 : passes;
}

}  // namespace gla_bench::softmax_attention
