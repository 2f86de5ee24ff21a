// The host side of materialized.cuh: two products and a softmax.

#include <algorithm>

#include "core/operator.hpp"
#include "kernels/softmax_attention/family.hpp"
#include "kernels/softmax_attention/flash/walk.hpp"
#include "kernels/softmax_attention/variants.hpp"

namespace gla_bench::softmax_attention {
namespace {

constexpr std::int64_t most_keys = std::int64_t{1} << 20;
constexpr std::int64_t most_products = 4096;
constexpr int most_held = 8;  // vectors of four scores in a thread's registers

TileSpace space() {
  return {{"threads", {256, 512, 1024}, "threads that share a row of scores"},
          {"tf32", {0, 1}, "float32 products in tf32"}};
}

Arithmetic arithmetic(const Problem& problem, const Tile& tile) {
  return product_arithmetic(problem, choice(tile, "tf32") != 0 ? 1 : 3);
}

/// The number of elements from one row of scores to the next: whole vectors, whose alignment also
/// suits 16-bit products.
std::int64_t row_ld(const Problem& problem) {
  return ceil_div(problem.shape.keys_seq(), 8) * 8;
}

double scores(const Problem& problem) {
  const Shape& s = problem.shape;
  return static_cast<double>(s.batch) * static_cast<double>(s.heads) * static_cast<double>(s.seq) *
         static_cast<double>(s.keys_seq());
}

/// The number of vectors of a row that a thread holds, or 0 for a row that is read twice.
int held(const Problem& problem, const Tile& tile) {
  const std::int64_t vectors =
      ceil_div(problem.shape.keys_seq(), 4 * std::max(1, choice(tile, "threads")));
  return vectors > most_held ? 0 : static_cast<int>(vectors);
}

/// Whether the products are batched over key heads, with one batch for each sequence and each
/// member of a group. Otherwise they are batched over sequences, with one batch for each head. The
/// choice is the one with fewer batches.
bool over_heads(const Problem& problem) {
  return problem.shape.batch * group(problem) <= problem.shape.heads;
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits&) {
  const Shape& s = problem.shape;
  const bool tf32 = choice(tile, "tf32") != 0;
  if (tf32 && problem.dtype != DType::float32) return "tf32=1 is for float32 problems";
  if (auto reason = refuse_tf32(problem, tf32 ? 1 : 3)) return reason;
  if (s.key_dim > 256 || s.value_dim > 256) return "key_dim and value_dim go up to 256";
  if (s.keys_seq() > most_keys)
    return "key_seq=" + std::to_string(s.keys_seq()) + " is too long for a matrix of all scores";
  if (auto reason = refuse_blocks(static_cast<double>(s.batch) * static_cast<double>(s.heads) *
                                  static_cast<double>(s.seq)))
    return reason;
  if (std::min(s.batch * group(problem), s.heads) > most_products)
    return "more than " + std::to_string(most_products) + " products of one kind";
  return std::nullopt;
}

std::vector<Region> workspace(const Problem& problem, const Tile&) {
  const Shape& s = problem.shape;
  std::vector<Region> regions = decay_regions(problem);
  regions.push_back(
      {"scores", static_cast<std::size_t>(s.batch * s.heads * s.seq * row_ld(problem)) * 4});
  return regions;
}

/// Each product reads its operands once and writes its result once. Keys and values are read once
/// for each head of their group. The mask only saves reads of scores by the softmax.
Traffic traffic(const Problem& problem, const Tile& tile) {
  const auto heads = static_cast<double>(group(problem));
  const double all = scores(problem);
  const double probabilities = all * static_cast<double>(size_of(problem.dtype));
  const double passes = held(problem, tile) > 0 ? 1 : 2;
  Traffic bytes{query_bytes(problem) + (key_bytes(problem) + value_bytes(problem)) * heads +
                    4 * passes * pairs(problem) + probabilities,
                4 * all + probabilities + output_bytes(problem) +
                    (writes_lse(problem) ? lse_bytes(problem) : 0)};
  add_decay_traffic(problem, bytes);
  return bytes;
}

double flops(const Problem& problem, const Tile&) {
  return 2 * scores(problem) * static_cast<double>(problem.shape.key_dim + problem.shape.value_dim);
}

/// The two kinds of products, each issued for every batch that over_heads() implies.
class Products {
 public:
  Products(const Problem& problem, const Tile& tile)
      : problem_(problem),
        params_(attention_params(problem, [](std::string_view) { return nullptr; }, {})),
        arithmetic_(arithmetic(problem, tile)) {}

  void add(std::vector<Step>& steps, bool of_scores) const {
    const Shape& s = problem_.shape;
    const std::int64_t members = group(problem_);
    if (over_heads(problem_)) {
      for (std::int64_t b = 0; b < s.batch; ++b)
        for (std::int64_t member = 0; member < members; ++member)
          steps.push_back(product(of_scores, {b, member, 0, members, s.keys_heads()}));
    } else {
      for (std::int64_t head = 0; head < s.heads; ++head)
        steps.push_back(product(of_scores, {0, head, 1, 0, s.batch}));
    }
  }

 private:
  /// The first sequence and query head of a batch, the steps to the next, and their number.
  struct Batch {
    std::int64_t sequence, head, sequence_step, head_step, count;
  };

  /// Rows of a tensor with token axes. `members` is the number of query heads that share one of its
  /// heads.
  MatrixOperand tensor(const char* name, const TokenStrides& strides, const Batch& batch,
                       std::int64_t members) const {
    return {name,
            problem_.dtype,
            batch.sequence * strides.batch + batch.head / members * strides.heads,
            strides.seq,
            batch.sequence_step * strides.batch + batch.head_step / members * strides.heads,
            false};
  }
  /// Rows of scores, or of probabilities in the same memory.
  MatrixOperand matrix(DType dtype, const Batch& batch) const {
    const std::int64_t ld = row_ld(problem_) * 4 / static_cast<std::int64_t>(size_of(dtype));
    const std::int64_t one = problem_.shape.seq * ld, heads = problem_.shape.heads;
    return {"scores",
            dtype,
            (batch.sequence * heads + batch.head) * one,
            ld,
            (batch.sequence_step * heads + batch.head_step) * one,
            false};
  }
  MatrixProduct product(bool of_scores, const Batch& batch) const {
    const Shape& s = problem_.shape;
    const std::int64_t members = group(problem_);
    MatrixProduct p;
    p.m = s.seq;
    p.batch = batch.count;
    p.arithmetic = arithmetic_;
    if (of_scores) {
      p.n = s.keys_seq();
      p.k = s.key_dim;
      p.alpha = scale_of(*find_operator(problem_.op), problem_);
      p.a = tensor("q", params_.query_strides, batch, 1);
      p.b = tensor("k", params_.key_strides, batch, members);
      p.b.transposed = true;
      p.c = matrix(DType::float32, batch);
    } else {
      p.n = s.value_dim;
      p.k = s.keys_seq();
      p.alpha = problem_.dtype == DType::float16 ? 1.0 / 32768 : 1.0;  // probability_scale
      p.a = matrix(problem_.dtype, batch);
      p.b = tensor("v", params_.value_strides, batch, members);
      p.c = tensor("o", params_.output_strides, batch, 1);
    }
    return p;
  }

  const Problem& problem_;
  AttentionParams params_;
  Arithmetic arithmetic_;
};

Recipe recipe(const Problem& problem, const Tile& tile) {
  const Shape& s = problem.shape;
  // The kernel depends only on the threads of the tile, so tf32 shares its binaries.
  Recipe r{"softmax_attention/materialized/materialized.cuh",
           constants(problem, {{"threads", choice(tile, "threads")}}),
           {}};
  r.constants.push_back({"launch", "held", held(problem, tile)});
  r.constants.push_back({"launch", "row_ld", static_cast<int>(row_ld(problem))});
  add_decay_steps(problem, r.steps);
  const Products products(problem, tile);
  products.add(r.steps, true);
  r.steps.push_back(KernelLaunch{"attention_softmax",
                                 {static_cast<unsigned>(s.batch * s.heads * s.seq), 1, 1},
                                 {static_cast<unsigned>(choice(tile, "threads")), 1, 1},
                                 0});
  products.add(r.steps, false);
  return r;
}

}  // namespace

Variant materialized(std::string_view op) {
  return cuda_variant(
      op, Direction::forward,
      {"materialized",
       "all scores in device memory, products through cuBLAS, a softmax between them",
       space(),
       {"softmax_attention/materialized/materialized.cuh",
        "softmax_attention/materialized/materialized.cpp", "softmax_attention/flash/walk.cpp"},
       arithmetic,
       reject,
       traffic,
       flops,
       workspace,
       recipe});
}

}  // namespace gla_bench::softmax_attention
