#include "harness/tensors/tensor_extents.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>

#include "core/extents.hpp"
#include "harness/tensors/staging.hpp"

namespace gla_bench {
namespace {

constexpr std::int64_t trial = 3;  // the trial value of an extent that is not known yet
constexpr std::int64_t largest = (std::int64_t{1} << 31) - 1;  // axes are products of two

std::vector<TensorSpec> inputs(const Operator& op, const Problem& problem) {
  std::vector<TensorSpec> list;
  for (const TensorSpec& spec : op.tensors(problem))
    if (spec.role == TensorSpec::Role::input) list.push_back(spec);
  return list;
}

const TensorSpec* by_name(const std::vector<TensorSpec>& specs, std::string_view name) {
  for (const TensorSpec& spec : specs)
    if (spec.name == name) return &spec;
  return nullptr;
}

// How each axis (in storage order) of an input grows with an extent.
std::vector<std::int64_t> slopes(const Operator& op, const Problem& problem,
                                 const TensorSpec& input, const ExtentAxis& extent) {
  Problem more = problem;
  ++(more.shape.*extent.extent);
  const std::vector<TensorSpec> grown = inputs(op, more);
  std::vector<std::int64_t> result = storage_extents(*by_name(grown, input.name), problem.layout);
  const std::vector<std::int64_t> before = storage_extents(input, problem.layout);
  for (std::size_t axis = 0; axis < result.size(); ++axis) result[axis] -= before[axis];
  return result;
}

// The operator's extents; optional ones where the problem has them.
std::vector<const ExtentAxis*> extents_of(const Operator& op, const Problem& problem) {
  std::vector<const ExtentAxis*> list;
  for (const std::string& name : op.extents) list.push_back(&extent_axis(name));
  for (const std::string& name : op.optional_extents)
    if (problem.shape.*extent_axis(name).extent > 0) list.push_back(&extent_axis(name));
  return list;
}

void check_rank(const Operator& op, const Problem& problem, const TensorSpec& input,
                const std::vector<std::int64_t>& given) {
  constexpr std::array<const char*, 6> words{"no", "one", "two", "three", "four", "five"};
  if (given.size() == input.extents.size()) return;
  throw ExtentError(input.name, std::string("expected ") + words.at(input.extents.size()) +
                                    (input.extents.size() == 1 ? " axis, " : " axes, ") +
                                    axes_text(op, problem, input.name));
}

// The extent's value, where one axis of a given tensor depends on it and on no other unknown.
std::optional<std::int64_t> solve_one(const Operator& op, const Problem& problem,
                                      const ExtentAxis& extent,
                                      const std::vector<const ExtentAxis*>& unknown,
                                      const GivenExtents& given) {
  for (const TensorSpec& input : inputs(op, problem)) {
    const std::vector<std::int64_t>* values = given(input.name);
    if (values == nullptr) continue;
    check_rank(op, problem, input, *values);
    const std::vector<std::int64_t> slope = slopes(op, problem, input, extent);
    for (std::size_t axis = 0; axis < slope.size(); ++axis) {
      const bool shared = std::any_of(unknown.begin(), unknown.end(), [&](const ExtentAxis* other) {
        return other != &extent && slopes(op, problem, input, *other)[axis] != 0;
      });
      if (slope[axis] == 0 || shared) continue;
      const std::int64_t beyond = (*values)[axis] - storage_extents(input, problem.layout)[axis];
      const std::int64_t value = problem.shape.*extent.extent + beyond / slope[axis];
      if (value > largest)
        throw ExtentError(input.name, "expected " + axes_text(op, problem, input.name) +
                                          " with extents of at most 2^31 - 1");
      if (beyond % slope[axis] != 0 || value < 1)
        throw ExtentError(input.name, "expected " + axes_text(op, problem, input.name) +
                                          " with whole extents of at least 1");
      return value;
    }
  }
  return std::nullopt;
}

// Takes the optional extents that the given tensors determine.
void take_optional(const Operator& op, Problem& problem, const GivenExtents& given) {
  for (const std::string& name : op.optional_extents) {
    Problem with = problem;
    with.shape.*extent_axis(name).extent = trial;
    const std::vector<TensorSpec> before = inputs(op, problem);
    bool told = true;
    for (const TensorSpec& input : inputs(op, with))
      if (by_name(before, input.name) == nullptr) told = given(input.name) != nullptr;
    if (told) problem = with;
  }
}

// Drops optional extents whose value is what holds without them.
void drop_optional(const Operator& op, Problem& problem) {
  for (const std::string& name : op.optional_extents) {
    Problem without = problem;
    without.shape.*extent_axis(name).extent = 0;
    const std::vector<TensorSpec> a = op.tensors(problem), b = op.tensors(without);
    const bool same = std::equal(a.begin(), a.end(), b.begin(), b.end(),
                                 [](const TensorSpec& x, const TensorSpec& y) {
                                   return x.name == y.name && x.extents == y.extents;
                                 });
    if (same) problem = without;
  }
}

}  // namespace

void give_extent(Shape& shape, std::string_view extent) {
  shape.*extent_axis(extent).extent = 1;
}

std::string axes_text(const Operator& op, const Problem& problem, std::string_view input) {
  const std::vector<TensorSpec> specs = inputs(op, problem);
  const TensorSpec& spec = *by_name(specs, input);
  const std::vector<std::int64_t> sizes = storage_extents(spec, problem.layout);
  std::string text = "[";
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    std::string letters;
    std::int64_t product = 1;
    for (const ExtentAxis* extent : extents_of(op, problem)) {
      if (slopes(op, problem, spec, *extent)[axis] == 0) continue;
      letters.append(letters.empty() ? "" : "*").append(extent->symbol);
      product *= problem.shape.*extent->extent;
    }
    if (letters.empty())
      letters = std::to_string(sizes[axis]);
    else if (sizes[axis] > product)
      letters += " + " + std::to_string(sizes[axis] - product);
    text.append(axis == 0 ? "" : ", ").append(letters);
  }
  return text + "]";
}

std::string dtype_input(const Operator& op, Problem problem) {
  problem.dtype = DType::float32;
  const std::vector<TensorSpec> as_float32 = op.tensors(problem);
  problem.dtype = DType::bfloat16;
  const std::vector<TensorSpec> as_bfloat16 = op.tensors(problem);
  for (std::size_t i = 0; i < as_float32.size(); ++i)
    if (as_float32[i].role == TensorSpec::Role::input &&
        as_float32[i].dtype != as_bfloat16[i].dtype)
      return as_float32[i].name;
  throw InputError("no input of " + op.name + " has the problem's dtype");
}

Shape solve_extents(const Operator& op, Problem problem, const GivenExtents& given) {
  problem.shape = Shape{};
  for (const std::string& name : op.extents) problem.shape.*extent_axis(name).extent = trial;
  take_optional(op, problem, given);
  std::vector<const ExtentAxis*> unknown = extents_of(op, problem);
  for (bool found = true; found && !unknown.empty();) {
    found = false;
    for (const ExtentAxis* extent : std::vector(unknown)) {
      const auto value = solve_one(op, problem, *extent, unknown, given);
      if (!value) continue;
      problem.shape.*extent->extent = *value;
      std::erase(unknown, extent);
      found = true;
    }
  }
  if (!unknown.empty()) {
    // The operator may know why no tensors can tell.
    for (const ExtentAxis* extent : unknown) problem.shape.*extent->extent = 1;
    if (const auto reason = op.refuse ? op.refuse(problem) : std::nullopt)
      throw ExtentError("", *reason);
    throw ExtentError(
        "", "its tensors do not tell " + std::string(unknown.front()->name) + " of " + op.name);
  }
  drop_optional(op, problem);
  return problem.shape;
}

}  // namespace gla_bench
