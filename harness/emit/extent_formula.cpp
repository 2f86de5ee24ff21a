#include "harness/emit/extent_formula.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace gla_bench {
namespace {

constexpr std::int64_t most_read_divisor = 256;  // lines grow by 1 for at least twice as long
constexpr std::size_t most_summands = 40;        // products of which pairs are tried
/// Divisors whose steps may lie too far apart for a line to show two of them.
constexpr std::array<std::int64_t, 7> coarse_divisors{512, 1024, 2048, 4096, 8192, 16384, 32768};

std::int64_t value_of(const Quotient& quotient, std::span<const std::int64_t> extents) {
  std::int64_t product = quotient.times;
  for (const std::size_t extent : quotient.extents) product *= extents[extent];
  return (product + quotient.plus) / quotient.by;
}

std::int64_t value_of(std::span<const Quotient> factors, std::span<const std::int64_t> extents) {
  std::int64_t product = 1;
  for (const Quotient& factor : factors) product *= value_of(factor, extents);
  return product;
}

/// What one fit works on.
struct Data {
  const ExtentPoints& at;
  std::span<const std::int64_t> values;

  bool holds(const ExtentFormula& formula) const {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (gla_bench::value_of(formula, at.points[i]) != values[i]) return false;
    return true;
  }
};

ExtentFormula sum_of(std::int64_t constant, std::int64_t coefficient,
                     std::vector<Quotient> factors) {
  ExtentFormula formula;
  if (coefficient != 0) formula.push_back({coefficient, std::move(factors)});
  if (constant != 0) formula.push_back({constant, {}});
  return formula;
}

/// constant + coefficient * product of the factors, from the first two points that differ in it.
std::optional<ExtentFormula> affine(const Data& data, const std::vector<Quotient>& factors) {
  const std::int64_t first = value_of(factors, data.at.points.front());
  for (std::size_t i = 1; i < data.values.size(); ++i) {
    const std::int64_t run = value_of(factors, data.at.points[i]) - first;
    if (run == 0) continue;
    const std::int64_t rise = data.values[i] - data.values.front();
    if (rise % run != 0) return std::nullopt;
    ExtentFormula formula = sum_of(data.values.front() - rise / run * first, rise / run, factors);
    if (data.holds(formula)) return formula;
    return std::nullopt;
  }
  return std::nullopt;
}

/// The quotient (extent + plus) / by whose steps are those of the values along the line.
std::optional<Quotient> steps_of(const Data& data, std::size_t extent) {
  const std::vector<std::size_t>& line = data.at.lines[extent];
  std::vector<std::int64_t> steps;  // the extents at which the value is another one
  for (std::size_t i = 1; i < line.size(); ++i)
    if (data.values[line[i]] != data.values[line[i - 1]])
      steps.push_back(data.at.points[line[i]][extent]);
  if (steps.size() < 2) return std::nullopt;
  const std::int64_t by = steps[1] - steps[0];
  if (by < 2 || by > most_read_divisor) return std::nullopt;
  return Quotient{{extent}, 1, (by - steps[0] % by) % by, by};
}

/// Whether the value changes along the extent's line in the same steps as the quotient.
bool follows(const Data& data, std::size_t extent, const Quotient& quotient) {
  const std::vector<std::size_t>& line = data.at.lines[extent];
  for (std::size_t i = 1; i < line.size(); ++i) {
    const bool steps = value_of(quotient, data.at.points[line[i]]) !=
                       value_of(quotient, data.at.points[line[i - 1]]);
    if (steps != (data.values[line[i]] != data.values[line[i - 1]])) return false;
  }
  return true;
}

/// What an extent may stand in a product as: not at all, itself, or a quotient of it.
std::vector<std::vector<Quotient>> choices_of(const Data& data, std::size_t extent) {
  std::vector<std::vector<Quotient>> choices{{}};
  const std::vector<std::size_t>& line = data.at.lines[extent];
  if (std::all_of(line.begin(), line.end(), [&](std::size_t point) {
        return data.values[point] == data.values[line.front()];
      }))
    return choices;
  choices.push_back({Quotient{{extent}}});
  const auto add = [&](const Quotient& quotient) {
    if (follows(data, extent, quotient)) choices.push_back({quotient});
  };
  if (const auto quotient = steps_of(data, extent)) add(*quotient);
  for (const std::int64_t by : coarse_divisors)
    for (const std::int64_t plus : {by - 1, std::int64_t{0}}) add({{extent}, 1, plus, by});
  // Several tokens of one extent, as the heads of a group in a block of rows.
  for (std::int64_t times = 2; times <= 16; ++times)
    for (const std::int64_t by : {16, 32, 64, 128})
      if (by % times != 0) add({{extent}, times, by - 1, by});
  return choices;
}

std::vector<std::vector<Quotient>> products_of(const Data& data) {
  std::vector<std::vector<Quotient>> products{{}};
  for (std::size_t extent = 0; extent < data.at.lines.size(); ++extent) {
    std::vector<std::vector<Quotient>> longer;
    for (const std::vector<Quotient>& choice : choices_of(data, extent))
      for (std::vector<Quotient> product : products) {
        product.insert(product.end(), choice.begin(), choice.end());
        longer.push_back(std::move(product));
      }
    products = std::move(longer);
  }
  std::stable_sort(products.begin(), products.end(),
                   [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return products;
}

/// Rounded products of several extents, with the divisors that single extents show.
std::vector<Quotient> rounded_products(const Data& data,
                                       const std::vector<std::vector<Quotient>>& products) {
  std::vector<Quotient> shown;
  for (const std::vector<Quotient>& product : products)
    if (product.size() == 1 && product.front().by > 1) shown.push_back(product.front());
  std::vector<Quotient> list;
  const std::size_t extents = data.at.lines.size();
  for (std::size_t set = 1; set < (std::size_t{1} << extents); ++set)
    for (Quotient quotient : shown) {
      quotient.extents.clear();
      for (std::size_t i = 0; i < extents; ++i)
        if (set >> i & 1) quotient.extents.push_back(i);
      if (quotient.extents.size() > 1) list.push_back(quotient);
    }
  return list;
}

/// The two coefficients by which the products add up to the values, from the first points that
/// decide them.
std::optional<ExtentFormula> two_terms(const Data& data, const std::vector<Quotient>& one,
                                       const std::vector<Quotient>& other) {
  const std::int64_t a = value_of(one, data.at.points.front());
  const std::int64_t b = value_of(other, data.at.points.front());
  const std::int64_t u = data.values.front();
  for (std::size_t i = 1; i < data.values.size(); ++i) {
    const std::int64_t c = value_of(one, data.at.points[i]);
    const std::int64_t d = value_of(other, data.at.points[i]);
    const std::int64_t determinant = a * d - b * c;
    if (determinant == 0) continue;
    const std::int64_t x = u * d - b * data.values[i], y = a * data.values[i] - u * c;
    if (x % determinant != 0 || y % determinant != 0) return std::nullopt;
    ExtentFormula formula{{x / determinant, one}, {y / determinant, other}};
    if (data.holds(formula)) return formula;
    return std::nullopt;
  }
  return std::nullopt;
}

/// The smaller of one product and the largest value. The product is of the points whose values are
/// smaller than that.
std::optional<ExtentFormula> capped(const Data& data) {
  const std::int64_t most = *std::max_element(data.values.begin(), data.values.end());
  constexpr std::size_t absent = std::numeric_limits<std::size_t>::max();
  ExtentPoints below;
  std::vector<std::int64_t> values;
  std::vector<std::size_t> places(data.values.size(), absent);
  for (std::size_t i = 0; i < data.values.size(); ++i) {
    if (data.values[i] == most) continue;
    places[i] = values.size();
    below.points.push_back(data.at.points[i]);
    values.push_back(data.values[i]);
  }
  if (values.empty() || places.front() == absent) return std::nullopt;
  for (const std::vector<std::size_t>& line : data.at.lines) {
    below.lines.emplace_back();
    for (const std::size_t point : line)
      if (places[point] != absent) below.lines.back().push_back(places[point]);
  }
  const Data of_below{below, values};
  for (const std::vector<Quotient>& product : products_of(of_below)) {
    auto formula = affine(of_below, product);
    if (!formula || formula->size() != 1) continue;
    formula->front().most = most;
    if (data.holds(*formula)) return formula;
  }
  return std::nullopt;
}

std::string text_of(const Quotient& quotient, std::span<const std::string> names) {
  std::string text = quotient.times == 1 ? "" : std::to_string(quotient.times) + "LL";
  for (const std::size_t extent : quotient.extents)
    text += (text.empty() ? "" : " * ") + names[extent];
  if (quotient.by == 1 && quotient.plus == 0) return text;
  if (quotient.plus != 0) text = "(" + text + " + " + std::to_string(quotient.plus) + "LL)";
  return "(" + text + " / " + std::to_string(quotient.by) + "LL)";
}

}  // namespace

std::int64_t value_of(const ExtentFormula& formula, std::span<const std::int64_t> extents) {
  std::int64_t sum = 0;
  for (const ExtentTerm& term : formula)
    sum += std::min(term.coefficient * value_of(term.factors, extents), term.most);
  return sum;
}

std::string text_of(const ExtentFormula& formula, std::span<const std::string> names) {
  if (formula.empty()) return "0LL";
  std::string sum;
  for (const ExtentTerm& term : formula) {
    std::string product;
    for (const Quotient& factor : term.factors)
      product += (product.empty() ? "" : " * ") + text_of(factor, names);
    if (product.empty() || term.coefficient != 1)
      product += (product.empty() ? "" : " * ") + std::to_string(term.coefficient) + "LL";
    if (term.most < std::numeric_limits<std::int64_t>::max()) {
      const std::string most = std::to_string(term.most) + "LL";
      product = "(" + product + " < " + most + " ? " + product + " : " + most + ")";
    }
    sum += (sum.empty() ? "" : " + ") + product;
  }
  return sum;
}

std::optional<ExtentFormula> fit_formula(const ExtentPoints& points,
                                         std::span<const std::int64_t> values) {
  const Data data{points, values};
  if (const ExtentFormula constant = sum_of(values.front(), 0, {}); data.holds(constant))
    return constant;
  const std::vector<std::vector<Quotient>> products = products_of(data);
  for (const std::vector<Quotient>& product : products)
    if (auto formula = affine(data, product)) return formula;
  for (const Quotient& quotient : rounded_products(data, products))
    if (auto formula = affine(data, {quotient})) return formula;
  for (std::size_t i = 1; i < std::min(products.size(), most_summands); ++i)
    for (std::size_t j = 1; j < i; ++j)
      if (auto formula = two_terms(data, products[j], products[i])) return formula;
  return capped(data);
}

}  // namespace gla_bench
