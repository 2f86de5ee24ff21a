#pragma once
// The part that the host sides of the backward attention variants share: the launches and workspace
// of sums.cuh.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/variant.hpp"

namespace gla_bench::softmax_attention {

/// How dS is summed for the gradient of the decay. ordered: every sum is written by a single owner.
/// added: blocks add to the sums over keys, which are zeroed first.
enum class DecaySums { ordered, added };

/// Who forms lse and D of each query, and sums the log decays along the keys where each token has
/// its own. shared: sums.cuh. own: the variant brings regions and launches for both.
enum class Preparation { shared, own };

/// The workspace regions of sums.cuh that the problem needs.
std::vector<Region> backward_regions(const Problem& problem,
                                     Preparation preparation = Preparation::shared);

/// Defines work::<name> for every region that any backward kernel names. The value is the region's
/// place in the list, or 0 for a region that is not in it.
std::vector<Constant> backward_places(const std::vector<Region>& regions);

/// The launches before the quadratic part.
std::vector<Step> steps_before(const Problem& problem, DecaySums sums,
                               Preparation preparation = Preparation::shared);

/// The launches after the quadratic part: the gradient of the decay, where there is one.
std::vector<Step> steps_after(const Problem& problem);

/// Bytes moved by the launches before and after the quadratic part.
Traffic traffic_beside(const Problem& problem, DecaySums sums,
                       Preparation preparation = Preparation::shared);

/// Says why no backward kernel serves these sizes (K or V over 256, more than 2^30 tokens, too many
/// blocks). Returns nothing if they are served.
std::optional<std::string> refuse_backward(const Problem& problem);

KernelLaunch backward_launch(std::string_view entry, double blocks, int threads, int shared = 0);

}  // namespace gla_bench::softmax_attention
