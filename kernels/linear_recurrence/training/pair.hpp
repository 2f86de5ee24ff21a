#pragma once
// A step of training as one variant: the launches of a forward, then those of a backward. Neither
// is copied: the pair takes the recipes of both as they are.

#include <string_view>

#include "core/variant.hpp"
#include "kernels/linear_recurrence/family.hpp"

namespace gla_bench::linear_recurrence {

/// Both halves are CUDA variants of one member, the one forward, the other backward.
///
/// A workspace region that both have is one region: the forward leaves there what the backward
/// takes, and it is marked as kept. An axis of the tile that both have is one axis, with the values
/// that both have, such as the distance of the states. All other regions and axes have names that
/// the other half lacks.
struct TrainingPair {
  std::string_view name, summary;
  Variant forward, backward;
};

/// The backward's source is the recipe's own; the forward's is an import, with parameters and
/// tensor maps of its own. The forward is the stage "forward", the backward the stage "backward".
Variant training_pair(TrainingPair pair);

}  // namespace gla_bench::linear_recurrence
