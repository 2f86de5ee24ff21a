#pragma once
// The plan of cublas.cuh as data: its tree of leaves, and its launches and products in order.

#include <cstdint>
#include <vector>

#include "core/variant.hpp"
#include "kernels/linear_recurrence/quadratic/cublas_layout.h"

namespace gla_bench::linear_recurrence {

/// The tree with the smallest number of leaves, a power of two, that keeps each leaf within the
/// tile.
CublasTree cublas_tree(const Problem& problem, const Tile& tile);

CublasLayout cublas_layout(const Problem& problem, const Tile& tile);

/// Rows first..last-1 of O = P V. They read the scores' columns before `last`, which are those of
/// the first `leaves` leaves.
struct CublasBand {
  std::int64_t first, last, leaves;
};
std::vector<CublasBand> cublas_bands(const CublasTree& tree, int bands);

/// The type of operands, scores and values. It is the problem's dtype, except that bfloat16
/// sequences of one leaf use float32: there a score's rounding to bfloat16 would be a row's whole
/// error.
DType workspace_dtype(const Problem& problem, const Tile& tile);

/// Whether cuBLAS can read v where it lies. That needs matrices in one arithmetic progression,
/// aligned rows, and the dtype of the scores.
bool values_in_place(const Problem& problem, const Tile& tile);

/// Number of operands in the workspace's dtype: one per level, or q and k where there is no tree,
/// and one for k's decay to the end for the final state.
int operand_slots(const Problem& problem, std::int64_t leaf_count);

/// The arithmetic of the products, and how exact the leaves' own scores are.
Arithmetic cublas_arithmetic(const Problem& problem, const Tile& tile);

/// All steps in order. The tile's `bands` is the number of products that share the rows of O = P V.
std::vector<Step> cublas_steps(const Problem& problem, const Tile& tile);

}  // namespace gla_bench::linear_recurrence
