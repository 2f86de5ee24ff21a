#include "kernels/linear_recurrence/quadratic/cublas_steps.hpp"

#include <algorithm>
#include <utility>

#include "core/operator.hpp"
#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/refusal.hpp"

namespace gla_bench::linear_recurrence {
namespace {

constexpr std::int64_t block_tokens = 512;

int levels(std::int64_t leaf_count) {
  int n = 0;
  while (std::int64_t{1} << n < leaf_count) ++n;
  return n;
}

/// Builds the list of steps. What each product reads and writes is stated once, here.
class StepList {
 public:
  StepList(const Problem& problem, const Tile& tile)
      : problem_(problem),
        tree_(cublas_tree(problem, tile)),
        at_(cublas_layout(problem, tile)),
        batch_(sequences(problem)),
        member_(member_of(problem)),
        levels_(levels(tree_.leaves)),
        value_first_(option(problem, "state_layout") == "value_first"),
        in_place_(values_in_place(problem, tile)),
        dtype_(workspace_dtype(problem, tile)),
        arithmetic_(dtype_ == problem.dtype ? cublas_arithmetic(problem, tile) : Arithmetic::tf32) {
  }

  std::vector<Step> steps(int bands) {
    const bool tree = member_.decay == Decay::per_key;
    const std::int64_t slots = operand_slots(problem_, tree_.leaves) + problem_.initial_state;
    if (tree) launch("gla_sum_gates", at_.row_threads);
    if (!tree && member_.decay != Decay::none) scan_gates();
    if (slots > 0) launch("gla_form_operands", at_.row_threads, slots);
    if (!in_place_) launch("gla_copy_values", at_.value_threads);
    if (tree) {
      list_.push_back(Zero{"scores"});
      launch("gla_score_leaves", at_.score_threads, 1, at_.score_shared_bytes);
      for (int level = 0; level < levels_; ++level) score(level);
    } else {
      for (const CublasBand& band : cublas_bands(tree_, bands)) score_band(band);
    }
    for (const CublasBand& band : cublas_bands(tree_, bands)) multiply_values(band);
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
    return {"operands",
            dtype_,
            (slot * batch_ * tree_.padded + token) * at_.key_ld,
            at_.key_ld,
            stride * at_.key_ld,
            false};
  }

  MatrixOperand values() const {
    if (in_place_) return {"v", dtype_, 0, at_.value_dim, tree_.seq * at_.value_dim, false};
    return {"values", dtype_, 0, at_.value_ld, tree_.seq * at_.value_ld, false};
  }

  MatrixOperand outputs(std::int64_t row) const {
    return {"outputs",    DType::float32,           row * at_.value_ld,
            at_.value_ld, tree_.seq * at_.value_ld, false};
  }

  /// Scores of right halves with left halves of L tokens, for all pairs of all sequences.
  void score(int level) {
    const std::int64_t half = tree_.leaf << level, pair = 2 * half;
    MatrixProduct product = extents(half, half, at_.key_dim, batch_ * (tree_.padded / pair));
    product.alpha = scale();
    product.a = operand(level, half, pair);
    product.b = operand(level, 0, pair);
    product.b.transposed = true;
    product.c = {"scores", dtype_, half * tree_.padded, tree_.padded, pair * (tree_.padded + 1),
                 false};
    list_.push_back(product);
  }

  void scan_gates() {
    list_.push_back(KernelLaunch{"gla_scan_gates",
                                 {static_cast<unsigned>(batch_), 1, 1},
                                 {CublasLayout::scan_threads, 1, 1},
                                 0});
  }

  /// Without a tree: forms the scores of a band of rows with all columns up to its last one, then
  /// applies their decays. A band consists of whole leaves, so that everything that is read later
  /// has been written.
  void score_band(const CublasBand& band) {
    const std::int64_t first = band.first, last = band.leaves * tree_.leaf;
    MatrixProduct product = extents(last - first, last, at_.key_dim, batch_);
    product.alpha = scale();
    product.a = operand(0, first, tree_.padded);
    product.b = operand(1, 0, tree_.padded);
    product.b.transposed = true;
    product.c = {"scores", dtype_, first * tree_.padded, tree_.padded, tree_.score_stride, false};
    list_.push_back(product);
    list_.push_back(KernelLaunch{
        "gla_decay_scores",
        {static_cast<unsigned>(batch_), static_cast<unsigned>(band.leaves - first / tree_.leaf),
         static_cast<unsigned>(band.leaves)},
        {CublasLayout::decay_threads, 1, 1},
        0});
  }

  /// Columns of values and outputs. The normalizer's column of ones stands after v.
  std::int64_t columns() const { return at_.value_dim + at_.normalized; }

  /// O = P V for a band of rows, over the columns up to the band's last row.
  void multiply_values(const CublasBand& band) {
    MatrixProduct product = extents(band.last - band.first, columns(), band.last, batch_);
    product.a = {"scores",           dtype_, band.first * tree_.padded, tree_.padded,
                 tree_.score_stride, false};
    product.b = values();
    product.c = outputs(band.first);
    add_in_blocks(product);
  }

  /// Issues a product over tokens. In float32 it is added up over blocks of tokens. cuBLAS keeps
  /// one running sum, whose rounding error shows where thousands of terms have the same sign.
  void add_in_blocks(MatrixProduct product) {
    const std::int64_t tokens = product.k;
    const std::int64_t block = product.arithmetic == Arithmetic::float32 ? block_tokens : tokens;
    for (std::int64_t first = 0; first < tokens; first += block) {
      product.k = std::min(block, tokens - first);
      list_.push_back(product);
      product.a.offset += product.k * (product.a.transposed ? product.a.ld : 1);
      product.b.offset += product.k * (product.b.transposed ? 1 : product.b.ld);
      product.beta = 1;
    }
  }

  /// A state [K,V], or its transpose where it is stored value-first.
  MatrixOperand state(const char* name) const {
    return {name,
            DType::float32,
            0,
            value_first_ ? at_.key_dim : at_.value_dim,
            std::int64_t{at_.key_dim} * at_.value_dim,
            value_first_};
  }

  /// O += scale (q e^prefix) S0. Operands are float32, multiplied in tf32 unless float32 is
  /// declared.
  void add_initial() {
    MatrixProduct product = extents(tree_.seq, at_.value_dim, at_.key_dim, batch_);
    product.alpha = scale();
    product.beta = 1;
    product.a = {"from_start", DType::float32, 0, at_.key_ld, tree_.seq * at_.key_ld, false};
    product.b = state("initial_state");
    product.c = outputs(0);
    product.arithmetic =
        arithmetic_ == Arithmetic::float32 ? Arithmetic::float32 : Arithmetic::tf32;
    list_.push_back(product);
    if (at_.normalized == 0) return;
    product.n = 1;
    product.b = normalizer("initial_normalizer");
    product.c.offset = at_.value_dim;
    list_.push_back(product);
  }

  MatrixOperand normalizer(const char* name) const {
    return {name, DType::float32, 0, 1, at_.key_dim, false};
  }

  /// S = (k e^suffix)^T V, plus what is left of the initial state. A value-first state is the
  /// transpose.
  void form_final() {
    if (problem_.initial_state) launch("gla_carry_state", at_.value_threads);
    MatrixProduct product = extents(at_.key_dim, at_.value_dim, tree_.seq, batch_);
    product.beta = problem_.initial_state ? 1 : 0;
    product.a = operand(final_slot(), 0, tree_.padded);
    product.b = values();
    product.c = state("final_state");
    product.c.transposed = false;
    if (value_first_) {
      std::swap(product.m, product.n);
      std::swap(product.a, product.b);
    }
    product.a.transposed = true;
    add_in_blocks(product);
    if (at_.normalized != 0)
      list_.push_back(KernelLaunch{
          "gla_sum_keys",
          {static_cast<unsigned>(batch_), static_cast<unsigned>(ceil_div(at_.key_dim, 32)), 1},
          {CublasLayout::scan_threads, 1, 1},
          0});
  }

  /// The slot of the operand that holds k with its decay to the end. Without decays it is plain k.
  int final_slot() const {
    if (member_.decay == Decay::per_key) return levels_;
    return member_.decay == Decay::none ? 1 : 2;
  }

  const Problem& problem_;
  CublasTree tree_;
  CublasLayout at_;
  std::int64_t batch_;
  const Member& member_;
  int levels_;
  bool value_first_, in_place_;
  DType dtype_;
  Arithmetic arithmetic_;
  std::vector<Step> list_;
};

}  // namespace

CublasTree cublas_tree(const Problem& problem, const Tile& tile) {
  std::int64_t leaves = 1;
  while (ceil_div(problem.shape.seq, leaves) > choice(tile, "leaf")) leaves *= 2;
  return {problem.shape.seq, leaves};
}

CublasLayout cublas_layout(const Problem& problem, const Tile& tile) {
  return {static_cast<int>(problem.shape.key_dim),
          static_cast<int>(problem.shape.value_dim),
          static_cast<int>(size_of(problem.dtype)),
          gate_bytes_each(problem),
          choice(tile, "leaf"),
          flag(problem, "normalize"),
          member_of(problem).before_update};
}

std::vector<CublasBand> cublas_bands(const CublasTree& tree, int bands) {
  const std::int64_t rows = ceil_div(ceil_div(tree.seq, bands), tree.leaf) * tree.leaf;
  std::vector<CublasBand> list;
  for (std::int64_t first = 0; first < tree.seq; first += rows) {
    const std::int64_t last = std::min(first + rows, static_cast<std::int64_t>(tree.seq));
    list.push_back({first, last, ceil_div(last, tree.leaf)});
  }
  return list;
}

DType workspace_dtype(const Problem& problem, const Tile& tile) {
  const bool wide = problem.dtype == DType::bfloat16 && cublas_tree(problem, tile).leaves == 1;
  return wide ? DType::float32 : problem.dtype;
}

bool values_in_place(const Problem& problem, const Tile& tile) {
  return workspace_dtype(problem, tile) == problem.dtype && problem.layout == Layout::head_first &&
         problem.shape.value_dim % 8 == 0 && !flag(problem, "normalize");
}

int operand_slots(const Problem& problem, std::int64_t leaf_count) {
  const Decay decay = member_of(problem).decay;
  if (decay == Decay::per_key) return levels(leaf_count) + (problem.final_state ? 1 : 0);
  return 2 + (decay != Decay::none && problem.final_state ? 1 : 0);
}

Arithmetic cublas_arithmetic(const Problem& problem, const Tile& tile) {
  return product_arithmetic(problem, choice(tile, "tf32") != 0 ? 1 : 3);
}

std::vector<Step> cublas_steps(const Problem& problem, const Tile& tile) {
  return StepList(problem, tile).steps(choice(tile, "bands"));
}

}  // namespace gla_bench::linear_recurrence
