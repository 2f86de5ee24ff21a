#pragma once
// What the host sides of the backward variants of attention share: the launches and workspace of
// sums.cuh.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/variant.hpp"

namespace gla_bench::softmax_attention {

/// How dS is summed for the gradient of the decay. ordered: every sum has one owner that writes it;
/// added: the sums over keys are added up, and are zeroed before.
enum class DecaySums { ordered, added };

/// The regions of sums.cuh that the problem needs.
std::vector<Region> backward_regions(const Problem& problem);

/// work::<name> for every region that any backward kernel names: its place in the list, 0 for one
/// that is not there.
std::vector<Constant> backward_places(const std::vector<Region>& regions);

/// What comes before the quadratic part.
std::vector<Step> steps_before(const Problem& problem, DecaySums sums);

/// What comes after it: the gradient of the decay, where there is one.
std::vector<Step> steps_after(const Problem& problem);

/// Bytes of those steps.
Traffic traffic_beside(const Problem& problem, DecaySums sums);

/// Sizes that no backward kernel serves (K, V over 256, over 2^30 tokens, too many blocks), or
/// nothing.
std::optional<std::string> refuse_backward(const Problem& problem);

KernelLaunch backward_launch(std::string_view entry, double blocks, int threads, int shared = 0);

}  // namespace gla_bench::softmax_attention
