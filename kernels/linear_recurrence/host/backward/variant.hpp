#pragma once
// What the descriptions of the host's backward variants have in common.

#include "kernels/linear_recurrence/host/backward/gradients.hpp"
#include "kernels/linear_recurrence/host/variant.hpp"

namespace gla_bench::linear_recurrence::host {

/// The parts in which backward variants differ.
struct BackwardForm {
  std::string name, summary;
  TileSpace space;
  std::vector<std::string> sources;  ///< below host/; what all of them include is added
  std::function<Traffic(const Problem&, const Tile&)> traffic;
  std::function<double(const Problem&, const Tile&)> flops;
  /// The variant's own regions; gradient_regions() adds the others for `tasks` tasks.
  std::function<std::vector<Region>(const Problem&, const Tile&)> workspace;
  std::function<double(const Problem&, const Tile&)> tasks;
  /// The walk back, and before it the one forwards where the form has one. It forms the outputs
  /// that are asked for and does not read their gradients in training.
  std::function<void(const HostCall&)> back, forwards = {};
  /// In training, the part of `traffic` that the walk forwards moves.
  std::function<Traffic(const Problem&, const Tile&)> forwards_traffic = {};
};

/// The backward variant of one member that the form describes.
Variant backward_variant(const Member& member, const BackwardForm& form);

/// The same form in training: the walk forwards forms the outputs, and is the stage "forward"; the
/// walk back is the stage "backward". What it then reads on its way back, and did not form there,
/// is marked as kept. At the end of the stage "forward" all outputs are written and none of their
/// gradients has been read: a caller may form them then.
Variant training_variant(const Member& member, const BackwardForm& form);

/// Whether the outputs are asked for as well as the gradients.
bool trains(const Problem& problem);

/// What comes of outputs on the way forwards, where they are formed. In training they are written
/// with the final states, and what a normalizer needs of them is kept and read again. Otherwise
/// their gradients are formed at once, of do, and kept. Nothing is formed without a normalizer.
Traffic output_traffic(const Problem& problem);

/// Of these, what training writes on the way forwards.
double outputs_left_bytes(const Problem& problem);

/// Operations of outputs that training forms, in chunks.
double output_flops(const Problem& problem, std::int64_t chunk);

/// Operations of the backward of chunks: 8KV per token and head for what they have from the state
/// and its gradient, and the lower triangles of their own tokens.
double chunk_gradient_flops(const Problem& problem, std::int64_t chunk);

}  // namespace gla_bench::linear_recurrence::host
