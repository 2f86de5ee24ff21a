#pragma once
// Runs one variant on tensors from a file and writes its outputs to another: `gla-bench exec`.

#include <string>

#include "core/operator.hpp"
#include "core/variant.hpp"
#include "harness/backends/backend.hpp"

namespace gla_bench {

struct ExecRequest {
  Problem wanted;      ///< op, layout, scale, final_state, tensors, tensor_names (tensor_file.hpp)
  Tile tile;           ///< the tile values asked for; any axis may be left out
  std::string output;  ///< path of the .safetensors file to write
};

/// The first tile of the variant's space that has the values asked for and that the variant
/// accepts.
/// @throws InputError for an axis or value that the space lacks; where every such tile is refused,
/// it names the reason
Tile choose_tile(const Variant& variant, const Problem& problem, const Tile& asked,
                 const Limits& limits);

/// Runs the variant once on the file's inputs and writes its outputs under their own names, in the
/// file's layout and with the operator's dtypes. The output's metadata name operator, direction,
/// variant, backend, tile, layout, scale and source_hash. Returns what ran.
/// @throws InputError for malformed input, a refusal, a place that cannot run or a path that
/// cannot be written; BuildError; RunError, also for damaged guard zones and NaN in an output
Candidate exec(Backend& backend, const Operator& op, const Variant& variant,
               const ExecRequest& request);

}  // namespace gla_bench
