#pragma once
// Finds an operator's extents from the shapes of its tensors, for any operator. Calling
// Operator::tensors() with trial extents shows which axis of which tensor depends on which extent.

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/operator.hpp"

namespace gla_bench {

/// The extents cannot be determined. `input` is the tensor at fault, empty where no single tensor
/// is. what() says what was expected of it.
struct ExtentError : InputError {
  ExtentError(std::string name, const std::string& text)
      : InputError(text), input(std::move(name)) {}
  std::string input;
};

/// Gives a tensor's extents in storage order by the operator's name for it, or null where the
/// tensor is not given.
using GivenExtents = std::function<const std::vector<std::int64_t>*(std::string_view name)>;

/// Sets an optional extent to 1 in a shape, by its name in Shape. @throws std::out_of_range
void give_extent(Shape& shape, std::string_view extent);

/// What an input's axes depend on, in storage order: "[B, T, H, K]", "[N + 1]", "[d, H*K]".
/// `problem` says everything but the extents. Optional extents count where they are not 0.
std::string axes_text(const Operator& op, const Problem& problem, std::string_view input);

/// The first input that has the problem's dtype, from which the dtype of given tensors is taken.
/// @throws InputError where the operator has none
std::string dtype_input(const Operator& op, Problem problem);

/// The extents that follow from the given inputs. `problem` says everything else. An optional
/// extent that comes with a tensor of its own (sequences with cu_seqlens) is taken where that
/// tensor is given. Any other optional extent is taken where it differs from its default.
/// @throws ExtentError for a tensor of another rank, for an extent that is not a whole number of at
/// least 1, and for extents that the tensors do not determine
Shape solve_extents(const Operator& op, Problem problem, const GivenExtents& given);

}  // namespace gla_bench
