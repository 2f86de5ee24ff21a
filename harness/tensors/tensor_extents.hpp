#pragma once
// An operator's extents from the shapes of its tensors, for any operator: what Operator::tensors()
// makes of trial extents shows which axis of which tensor is made of which extent.

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/operator.hpp"

namespace gla_bench {

/// Extents that do not come out. `input` is the tensor at fault, empty where it is no single one;
/// what() says what was expected of it.
struct ExtentError : InputError {
  ExtentError(std::string name, const std::string& text)
      : InputError(text), input(std::move(name)) {}
  std::string input;
};

/// A tensor's extents in storage order by the operator's name for it, or null where it is not
/// given.
using GivenExtents = std::function<const std::vector<std::int64_t>*(std::string_view name)>;

/// Sets an optional extent to 1 in a shape, by its name in Shape. @throws std::out_of_range
void give_extent(Shape& shape, std::string_view extent);

/// What an input's axes are made of, in storage order: "[B, T, H, K]", "[N + 1]", "[d, H*K]".
/// `problem` says everything but the extents; optional ones count where they are not 0.
std::string axes_text(const Operator& op, const Problem& problem, std::string_view input);

/// The extents that the inputs given add up to; `problem` says everything else. An optional extent
/// that comes with a tensor of its own (sequences with cu_seqlens) is taken where that tensor is
/// given, any other one where it differs from what it stands for.
/// @throws ExtentError for a tensor of another rank, for an extent that does not come out whole and
/// at least 1, and for extents that the tensors do not tell
Shape solve_extents(const Operator& op, Problem problem, const GivenExtents& given);

}  // namespace gla_bench
