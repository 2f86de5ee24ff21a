#pragma once
// The plan of cublas.cuh as data: its tree of leaves, and its launches and products in
// order.

#include <cstdint>
#include <vector>

#include "core/variant.hpp"
#include "kernels/linear_recurrence/quadratic/cublas_layout.h"

namespace gla_bench::linear_recurrence {

/// The least number of leaves, a power of two, that keeps each within the tile.
CublasTree cublas_tree(const Problem& problem, const Tile& tile);

CublasLayout cublas_layout(const Problem& problem, const Tile& tile);

/// Rows first..last-1 of O = P V, which reads the scores' columns before `last`: those of the first
/// `leaves` leaves.
struct CublasBand {
  std::int64_t first, last, leaves;
};
std::vector<CublasBand> cublas_bands(const CublasTree& tree, int bands);

/// What operands, scores and values are held as: the problem's dtype, but float32 for bfloat16
/// sequences of one leaf, where a score's rounding to bfloat16 would be a row's whole error.
DType workspace_dtype(const Problem& problem, const Tile& tile);

/// Whether cuBLAS can take v where it lies: one progression of matrices with aligned rows, of the
/// dtype of the scores.
bool values_in_place(const Problem& problem, const Tile& tile);

/// Operands in the workspace's dtype: one per level, or q and k where there is no tree, and k's
/// decay to the end for the final state.
int operand_slots(const Problem& problem, std::int64_t leaf_count);

/// What the products declare, and how exact the leaves' own scores are.
Arithmetic cublas_arithmetic(const Problem& problem, const Tile& tile);

/// All steps in order. The tile's `bands`: products that share the rows of O = P V.
std::vector<Step> cublas_steps(const Problem& problem, const Tile& tile);

}  // namespace gla_bench::linear_recurrence
