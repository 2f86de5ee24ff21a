#pragma once
// What the layer's variants share: parameters, workspace, products through cuBLAS and byte counts.

#include <optional>
#include <string>
#include <vector>

#include "core/variant.hpp"
#include "kernels/gla_layer/params.h"

namespace gla_bench::gla_layer {

/// The width of the narrow tensor between W_1 and W_2.
inline constexpr std::int64_t rank = 16;

struct Extents {
  std::int64_t rows;   ///< batch * seq
  std::int64_t model;  ///< d
  std::int64_t heads, key_dim, value_dim;
  std::int64_t keys;    ///< heads * key_dim
  std::int64_t values;  ///< heads * value_dim
};

Extents extents(const Problem& problem);

/// How a variant divides the gate and the norm into kernels.
enum class Form {
  composed,  ///< one kernel for each function, with float32 tensors between them
  fused      ///< one kernel for the gate, one for the norm and output gate
};

/// The layer's workspace regions: q, k, v, r, low, g, o and gated. The composed form adds
/// gate_sums, swish and normed.
std::vector<Region> regions(const Problem& problem, Form form);

/// The parameters of the layer's own kernels.
GlaLayerParams params(const Problem& problem, const Address& address);

/// dim::key_dim, dim::value_dim, and every tile axis that does not belong to gla as tile::<axis>.
std::vector<Constant> constants(const Problem& problem, const Tile& tile);

/// x W for q, k, v, r and the gate's W_1; all in the stage "projections".
std::vector<Step> projections(const Problem& problem, Arithmetic arithmetic);

/// low W_2 into gate_sums in float32; in the stage "gate".
Step gate_product(const Problem& problem, Arithmetic arithmetic);

/// gated W_O into y; in the stage "output".
Step output_product(const Problem& problem, Arithmetic arithmetic);

/// Bytes of `columns` columns of all rows, in the problem's dtype.
double row_bytes(const Problem& problem, std::int64_t columns);

/// The same count in float32.
double float_bytes(const Problem& problem, std::int64_t columns);

/// Bytes of the five projections and of the last product. The variants give the other stages.
Traffic projection_traffic(const Problem& problem);
Traffic output_traffic(const Problem& problem);

/// All stages of a form: "projections", "gate", "gla", "norm_gate" and "output". The traffic of
/// "gla" is what gla's variant states.
std::vector<StageTraffic> stages(const Problem& problem, Form form, const Traffic& gla);

/// Operations of everything outside gla, with two for each multiplication of a product.
double flops_around(const Problem& problem);

/// Refusals that both backends share: direction, layout and sizes.
std::optional<std::string> refuse_problem(const Problem& problem,
                                          Direction direction = Direction::forward);

/// All variants of this family, CUDA and host.
std::vector<Variant> variants();

}  // namespace gla_bench::gla_layer
