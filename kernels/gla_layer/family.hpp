#pragma once
// What the layer's variants share: parameters, workspace, the products through cuBLAS, byte counts.

#include <optional>
#include <string>
#include <vector>

#include "core/variant.hpp"
#include "kernels/gla_layer/params.h"

namespace gla_bench::gla_layer {

/// Columns of the low-rank product between W_1 and W_2.
inline constexpr std::int64_t rank = 16;

struct Extents {
  std::int64_t rows;   ///< batch * seq
  std::int64_t model;  ///< d
  std::int64_t heads, key_dim, value_dim;
  std::int64_t keys;    ///< heads * key_dim
  std::int64_t values;  ///< heads * value_dim
};

Extents extents(const Problem& problem);

/// How far a variant takes the gate and the norm apart.
enum class Form {
  composed,  ///< a kernel for each function, with float32 tensors between them
  fused      ///< one kernel for the gate, one for norm and output gate
};

/// The layer's regions: q, k, v, r, low, g, o, gated; composed also gate_sums, swish, normed.
std::vector<Region> regions(const Problem& problem, Form form);

/// Parameters of the layer's own kernels.
GlaLayerParams params(const Problem& problem, const Address& address);

/// dim::key_dim, dim::value_dim, every axis of the tile that is not gla's as tile::<axis>.
std::vector<Constant> constants(const Problem& problem, const Tile& tile);

/// x W for q, k, v, r and the gate's W_1; all of stage "projections".
std::vector<Step> projections(const Problem& problem, Arithmetic arithmetic);

/// low W_2 into gate_sums, float32; of stage "gate".
Step gate_product(const Problem& problem, Arithmetic arithmetic);

/// gated W_O into y; stage "output".
Step output_product(const Problem& problem, Arithmetic arithmetic);

/// Bytes of `columns` of all rows in the problem's dtype.
double row_bytes(const Problem& problem, std::int64_t columns);

/// The same in float32.
double float_bytes(const Problem& problem, std::int64_t columns);

/// Bytes of the five products and of the last one; the other stages are the variants' own.
Traffic projection_traffic(const Problem& problem);
Traffic output_traffic(const Problem& problem);

/// All stages of a form, gla's traffic being what its variant says. "projections", "gate", "gla",
/// "norm_gate", "output".
std::vector<StageTraffic> stages(const Problem& problem, Form form, const Traffic& gla);

/// Operations of everything outside gla: two for each multiplication of a product.
double flops_around(const Problem& problem);

/// Reasons that both backends share: direction, layout, sizes.
std::optional<std::string> refuse_problem(const Problem& problem);

/// The variants of this family, CUDA and host.
std::vector<Variant> variants();

}  // namespace gla_bench::gla_layer
