// Host side of parallel_cublas.cuh: the plan of kernels and matrix products.

#include <algorithm>
#include <cmath>

#include "harness/operator.hpp"
#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/parallel_cublas_layout.h"
#include "kernels/linear_recurrence/refusal.hpp"
#include "kernels/linear_recurrence/variants.hpp"

namespace gla_bench::linear_recurrence {
namespace {

TileSpace space() {
  return {{"leaf", {64, 32, 128}, "most tokens of a leaf of the tree, scored by a kernel"},
          {"bands", {4, 1, 8}, "bands of rows of O = P V; each stops at its diagonal"},
          {"tf32", {0, 1}, "float32 products in tf32"}};
}

/// The least number of leaves, a power of two, that keeps each within the tile.
std::int64_t leaves(const Problem& problem, const Tile& tile) {
  std::int64_t count = 1;
  while (ceil_div(problem.shape.seq, count) > choice(tile, "leaf")) count *= 2;
  return count;
}

int levels(std::int64_t leaf_count) {
  int n = 0;
  while (std::int64_t{1} << n < leaf_count) ++n;
  return n;
}

CublasTree tree(const Problem& problem, const Tile& tile) {
  return {problem.shape.seq, leaves(problem, tile)};
}

CublasLayout layout(const Problem& problem, const Tile& tile) {
  return {static_cast<int>(problem.shape.key_dim), static_cast<int>(problem.shape.value_dim),
          static_cast<int>(size_of(problem.dtype)), choice(tile, "leaf")};
}

/// Whether cuBLAS can take v where it lies: one progression of matrices with aligned rows.
bool values_in_place(const Problem& problem) {
  return problem.layout == Layout::head_first && problem.shape.value_dim % 8 == 0;
}

/// Operands in the problem's dtype: one per level, and k's decay to the end for the final state.
int operand_slots(const Problem& problem, std::int64_t leaf_count) {
  return levels(leaf_count) + (problem.final_state ? 1 : 0);
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  const CublasTree t = tree(problem, tile);
  const CublasLayout at = layout(problem, tile);
  const auto batch = static_cast<std::size_t>(sequences(problem));
  const auto seq = static_cast<std::size_t>(t.seq), padded = static_cast<std::size_t>(t.padded);
  const auto key = static_cast<std::size_t>(at.key_ld), io = size_of(problem.dtype);
  const auto value = static_cast<std::size_t>(at.value_ld);
  const auto slots = static_cast<std::size_t>(operand_slots(problem, t.leaves));
  std::vector<Region> regions{{"gates", batch * static_cast<std::size_t>(t.leaves) * key * 4},
                              {"operands", slots * batch * padded * key * io},
                              {"scores", batch * static_cast<std::size_t>(t.score_stride) * io},
                              {"outputs", batch * seq * value * 4}};
  if (problem.initial_state) regions.push_back({"from_start", batch * seq * key * 4});
  if (!values_in_place(problem)) regions.push_back({"values", batch * seq * value * io});
  return regions;
}

/// The same total in floating point, for any size.
double workspace_estimate(const Problem& problem, const Tile& tile) {
  const CublasTree t = tree(problem, tile);
  const CublasLayout at = layout(problem, tile);
  const double io = static_cast<double>(size_of(problem.dtype));
  const auto padded = static_cast<double>(t.padded), seq = static_cast<double>(t.seq);
  double bytes = static_cast<double>(t.leaves) * at.key_ld * 4 + padded * (padded + 1) * io +
                 operand_slots(problem, t.leaves) * padded * at.key_ld * io + seq * at.value_ld * 4;
  if (problem.initial_state) bytes += seq * at.key_ld * 4;
  if (!values_in_place(problem)) bytes += seq * at.value_ld * io;
  return bytes * static_cast<double>(sequences(problem));
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits) {
  if (auto reason = refuse_choice(space(), tile)) return reason;
  if (auto reason = refuse_sizes(problem)) return reason;
  if (auto reason = refuse_architecture(limits)) return reason;
  if (choice(tile, "tf32") != 0 && problem.dtype != DType::float32)
    return "tf32=1 is for float32 problems";
  if (problem.shape.seq > std::int64_t{1} << 22)
    return "seq=" + std::to_string(problem.shape.seq) + " is too long for a matrix of all scores";
  if (auto reason = refuse_blocks(static_cast<double>(problem.shape.batch) *
                                  static_cast<double>(problem.shape.heads)))
    return reason;
  const std::int64_t count = leaves(problem, tile);
  if (count > 65535) return std::to_string(count) + " leaves, a grid holds 65535";
  if (auto reason = refuse_shared(layout(problem, tile).score_shared_bytes, limits)) return reason;
  return refuse_workspace(workspace_estimate(problem, tile), limits);
}

Arithmetic arithmetic(const Problem& problem, const Tile& tile) {
  return product_arithmetic(problem, choice(tile, "tf32") != 0 ? 1 : 3);
}

/// Builds the list of steps: what each product reads and writes is stated once, here.
class StepList {
 public:
  StepList(const Problem& problem, const Tile& tile)
      : problem_(problem),
        tree_(tree(problem, tile)),
        at_(layout(problem, tile)),
        batch_(sequences(problem)),
        levels_(levels(tree_.leaves)),
        arithmetic_(arithmetic(problem, tile)) {}

  std::vector<Step> steps(int bands) {
    const std::int64_t slots = operand_slots(problem_, tree_.leaves) + problem_.initial_state;
    launch("gla_sum_gates", at_.row_threads);
    if (slots > 0) launch("gla_form_operands", at_.row_threads, slots);
    if (!values_in_place(problem_)) launch("gla_copy_values", at_.value_threads);
    list_.push_back(Zero{"scores"});
    launch("gla_score_leaves", at_.score_threads, 1, at_.score_shared_bytes);
    for (int level = 0; level < levels_; ++level) score(level);
    multiply_values(bands);
    if (problem_.initial_state) add_initial();
    if (problem_.final_state) form_final();
    launch("gla_round_outputs", at_.value_threads);
    return std::move(list_);
  }

 private:
  void launch(const char* entry, int threads, std::int64_t depth = 1, int shared = 0) {
    list_.push_back(
        KernelLaunch{entry,
                     {static_cast<unsigned>(batch_), static_cast<unsigned>(tree_.leaves),
                      static_cast<unsigned>(depth)},
                     {static_cast<unsigned>(threads), 1, 1},
                     static_cast<std::size_t>(shared)});
  }

  MatrixProduct extents(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch) const {
    MatrixProduct product;
    product.m = m;
    product.n = n;
    product.k = k;
    product.batch = batch;
    product.arithmetic = arithmetic_;
    return product;
  }

  double scale() const { return scale_of(*find_operator(problem_.op), problem_); }

  MatrixOperand operand(int slot, std::int64_t token, std::int64_t stride) const {
    return {"operands", problem_.dtype,      (slot * batch_ * tree_.padded + token) * at_.key_ld,
            at_.key_ld, stride * at_.key_ld, false};
  }

  MatrixOperand values() const {
    if (values_in_place(problem_))
      return {"v", problem_.dtype, 0, at_.value_dim, tree_.seq * at_.value_dim, false};
    return {"values", problem_.dtype, 0, at_.value_ld, tree_.seq * at_.value_ld, false};
  }

  MatrixOperand outputs(std::int64_t row) const {
    return {"outputs",    DType::float32,           row * at_.value_ld,
            at_.value_ld, tree_.seq * at_.value_ld, false};
  }

  /// Scores of right halves with left halves of L tokens, all pairs of all sequences.
  void score(int level) {
    const std::int64_t half = tree_.leaf << level, pair = 2 * half;
    MatrixProduct product = extents(half, half, at_.key_dim, batch_ * (tree_.padded / pair));
    product.alpha = scale();
    product.a = operand(level, half, pair);
    product.b = operand(level, 0, pair);
    product.b.transposed = true;
    product.c = {
        "scores", problem_.dtype, half * tree_.padded, tree_.padded, pair * (tree_.padded + 1),
        false};
    list_.push_back(product);
  }

  /// O = P V in bands of rows, each over the columns up to its last row.
  void multiply_values(int bands) {
    const std::int64_t rows = ceil_div(ceil_div(tree_.seq, bands), tree_.leaf) * tree_.leaf;
    for (std::int64_t first = 0; first < tree_.seq; first += rows) {
      const std::int64_t last = std::min(first + rows, static_cast<std::int64_t>(tree_.seq));
      MatrixProduct product = extents(last - first, at_.value_dim, last, batch_);
      product.a = {"scores",     problem_.dtype,     first * tree_.padded,
                   tree_.padded, tree_.score_stride, false};
      product.b = values();
      product.c = outputs(first);
      product.arithmetic = arithmetic_;
      list_.push_back(product);
    }
  }

  /// O += scale (q e^prefix) S0 in float32 operands, in tf32 unless float32 is declared.
  void add_initial() {
    MatrixProduct product = extents(tree_.seq, at_.value_dim, at_.key_dim, batch_);
    product.alpha = scale();
    product.beta = 1;
    product.a = {"from_start", DType::float32, 0, at_.key_ld, tree_.seq * at_.key_ld, false};
    product.b = {"initial_state",
                 DType::float32,
                 0,
                 at_.value_dim,
                 std::int64_t{at_.key_dim} * at_.value_dim,
                 false};
    product.c = outputs(0);
    product.arithmetic =
        arithmetic_ == Arithmetic::float32 ? Arithmetic::float32 : Arithmetic::tf32;
    list_.push_back(product);
  }

  /// S = (k e^suffix)^T V, beside what is left of the initial state.
  void form_final() {
    if (problem_.initial_state) launch("gla_carry_state", at_.value_threads);
    MatrixProduct product = extents(at_.key_dim, at_.value_dim, tree_.seq, batch_);
    product.beta = problem_.initial_state ? 1 : 0;
    product.a = operand(levels_, 0, tree_.padded);
    product.a.transposed = true;
    product.b = values();
    product.c = {
        "final_state", DType::float32, 0, at_.value_dim, std::int64_t{at_.key_dim} * at_.value_dim,
        false};
    list_.push_back(product);
  }

  const Problem& problem_;
  CublasTree tree_;
  CublasLayout at_;
  std::int64_t batch_;
  int levels_;
  Arithmetic arithmetic_;
  std::vector<Step> list_;
};

double leaf_flops(const Problem& problem, const Tile& tile) {
  const double leaf = choice(tile, "leaf");
  return 2 * leaf * leaf * static_cast<double>(problem.shape.key_dim) *
         static_cast<double>(sequences(problem)) * static_cast<double>(leaves(problem, tile));
}

double flops(const Problem& problem, const Tile& tile) {
  double sum = leaf_flops(problem, tile);
  for (const Step& step : StepList(problem, tile).steps(choice(tile, "bands")))
    if (const auto* p = std::get_if<MatrixProduct>(&step))
      sum += 2 * static_cast<double>(p->m) * static_cast<double>(p->n) * static_cast<double>(p->k) *
             static_cast<double>(p->batch);
  return sum;
}

/// Products read each operand and write each result once; the kernels' share is that of their
/// tensors and regions.
Traffic traffic(const Problem& problem, const Tile& tile) {
  Traffic bytes;
  for (const Step& step : StepList(problem, tile).steps(choice(tile, "bands"))) {
    const auto* p = std::get_if<MatrixProduct>(&step);
    if (p == nullptr) continue;
    const auto m = static_cast<double>(p->m), n = static_cast<double>(p->n);
    const auto k = static_cast<double>(p->k), batch = static_cast<double>(p->batch);
    const double result = batch * m * n * static_cast<double>(size_of(p->c.dtype));
    bytes.read_bytes += batch * (m * k + k * n) * static_cast<double>(size_of(p->a.dtype));
    if (std::fpclassify(p->beta) != FP_ZERO) bytes.read_bytes += result;
    bytes.write_bytes += result;
  }
  const CublasTree t = tree(problem, tile);
  const auto scores = static_cast<double>(sequences(problem)) *
                      static_cast<double>(t.score_stride) *
                      static_cast<double>(size_of(problem.dtype));
  const double key = key_bytes(problem), value = value_bytes(problem);
  const int slots = operand_slots(problem, t.leaves) + problem.initial_state;
  bytes.read_bytes += key * (1 + 2 * slots) + 3 * key;  // sums, operands (x and g), leaves
  bytes.write_bytes += key * slots + scores + scores / static_cast<double>(t.leaves);
  const double outputs = value / static_cast<double>(size_of(problem.dtype)) * 4;
  bytes.read_bytes += outputs;
  bytes.write_bytes += value;
  if (!values_in_place(problem)) {
    bytes.read_bytes += value;
    bytes.write_bytes += value;
  }
  if (problem.initial_state && problem.final_state) {
    bytes.read_bytes += state_bytes(problem);
    bytes.write_bytes += state_bytes(problem);
  }
  return bytes;
}

Recipe recipe(const Problem& problem, const Tile& tile) {
  // Of the tile the kernels see the leaf alone: bands and tf32 share their binaries.
  Recipe r{"linear_recurrence/parallel_cublas.cuh",
           constants(problem, {{"leaf", choice(tile, "leaf")}}),
           {}};
  const bool exact = arithmetic(problem, tile) == Arithmetic::float32;
  r.constants.push_back({"product", "terms", exact ? 3 : 1});
  r.steps = StepList(problem, tile).steps(choice(tile, "bands"));
  return r;
}

}  // namespace

Variant parallel_cublas() {
  Variant v;
  v.op = "gla";
  v.name = "parallel_cublas";
  v.summary = "quadratic in T, all scores in device memory, products through cuBLAS by a tree";
  v.backend = BackendId::cuda;
  v.space = space();
  v.sources = {"linear_recurrence/parallel_cublas.cuh", "linear_recurrence/parallel_cublas.cpp",
               "linear_recurrence/refusal.cpp"};
  v.arithmetic = arithmetic;
  v.reject = reject;
  v.traffic = traffic;
  v.flops = flops;
  v.workspace = workspace;
  v.bind = [](const Problem& problem, const Tile& tile, const Address& address) {
    return linear_recurrence::bind(problem, address, workspace(problem, tile));
  };
  v.code = recipe;
  return v;
}

}  // namespace gla_bench::linear_recurrence
