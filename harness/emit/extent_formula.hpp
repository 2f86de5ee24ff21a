#pragma once
// Whole numbers as formulas of a problem's run-time extents, such as batch * heads * ((seq + 63) /
// 64). A recipe is a function of one problem; with formulas its launches can be written down for
// all problems that differ in these extents. Pure functions of numbers.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gla_bench {

/// (times * the product of these extents + plus) / by, rounded down. An extent is its place in a
/// list of extents.
struct Quotient {
  std::vector<std::size_t> extents;
  std::int64_t times = 1, plus = 0, by = 1;
  auto operator<=>(const Quotient&) const = default;
};

/// coefficient * the product of the factors, but at most `most`. Without factors it is a constant.
struct ExtentTerm {
  std::int64_t coefficient = 0;
  std::vector<Quotient> factors;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  auto operator<=>(const ExtentTerm&) const = default;
};

/// The sum of its terms; 0 without any.
using ExtentFormula = std::vector<ExtentTerm>;

using Extents = std::vector<std::int64_t>;

std::int64_t value_of(const ExtentFormula& formula, std::span<const std::int64_t> extents);

/// The formula in C, with 64-bit constants: "batch * heads * ((seq + 63LL) / 64LL)".
std::string text_of(const ExtentFormula& formula, std::span<const std::string> names);

/// The points at which a quantity is known. `lines[i]` are the places of points that differ in
/// extent i alone. It grows from one to the next: by 1 at first, then by more.
struct ExtentPoints {
  std::vector<Extents> points;
  std::vector<std::vector<std::size_t>> lines;
};

/// The simplest formula that gives every value (one for each point), among a constant plus one
/// product, a constant plus one rounded product, a sum of two products, and the smaller of a
/// constant and one product, as the blocks are of a launch that has no more than fit on a device.
/// The factors of products are extents and their quotients, whose divisors are read off the lines.
/// Nothing where no such formula gives all values. It is exact at the points alone: choose them
/// well.
std::optional<ExtentFormula> fit_formula(const ExtentPoints& points,
                                         std::span<const std::int64_t> values);

}  // namespace gla_bench
