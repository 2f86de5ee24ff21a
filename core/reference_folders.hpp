#pragma once
// Where the definition of an operator stands.

#include <span>
#include <string_view>

namespace gla_bench {

/// The folders of reference/ whose files define the operator, its own first: the layer's gated
/// recurrence is in another. What reference/ has outside of such folders is common to all
/// operators. Empty for an unknown name. The list is in reference/operators.cpp.
std::span<const std::string_view> reference_folders(std::string_view op);

}  // namespace gla_bench
