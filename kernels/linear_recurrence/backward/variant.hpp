#pragma once
// What the descriptions of the CUDA backward variants have in common: the kernels of sums.cuh,
// their workspace, and refusals.

#include "kernels/linear_recurrence/backward/gradients.hpp"
#include "kernels/linear_recurrence/chunk/slots.hpp"
#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/refusal.hpp"

namespace gla_bench::linear_recurrence {

/// How blocks share the sums of a problem.
struct GradientSums {
  std::int64_t slices = 1;  ///< blocks that share the rows of a state
  /// Sequences and heads, or slots for chunks of task_tokens tokens, that have sums of their own.
  std::int64_t tasks = 0;
  int task_tokens = 0;
};

/// A variant's own workspace regions, followed by those of the sums.
std::vector<Region> gradient_regions(const Problem& problem, std::vector<Region> own,
                                     const GradientSums& sums);

/// The recipe's constants besides those of the family: where regions lie, and how blocks share the
/// sums.
std::vector<Constant> gradient_constants(const std::vector<Region>& regions,
                                         const GradientSums& sums);

/// The launch of `blocks` blocks.
KernelLaunch gradient_launch(std::string_view entry, double blocks, int threads, int shared = 0);

/// The launches that form the gradients of outputs, where there is a normalizer, from the slices'
/// parts of the outputs, and those that add up what all blocks have stored.
std::vector<Step> output_gradient_steps(const Problem& problem);
std::vector<Step> gradient_sum_steps(const Problem& problem, const GradientSums& sums);

/// What these launches move, with what is written for them.
Traffic gradient_sum_traffic(const Problem& problem, const GradientSums& sums);

/// A reason that holds for every CUDA backward, or nothing: the direction, sizes, the architecture,
/// blocks of the sums and the workspace.
std::optional<std::string> refuse_gradients(const Problem& problem,
                                            const std::vector<Region>& regions,
                                            const GradientSums& sums, const Limits& limits);

/// Whether a variant forms the states before all chunks itself, or takes those that the forward of
/// training leaves in the same slots.
enum class States { formed, given };

/// A function of a problem and a tile, from one that also takes where the states come from.
template <class Function>
auto with_states(Function function, States states) {
  return [function, states](const auto&... of) { return function(of..., states); };
}

/// The variant of one member that the form describes.
Variant cuda_backward_variant(const Member& member, const CudaForm& form);

}  // namespace gla_bench::linear_recurrence
