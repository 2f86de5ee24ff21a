#include "harness/emit/run_time.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <random>

#include "core/error.hpp"
#include "core/extents.hpp"

namespace gla_bench {
namespace {

constexpr std::int64_t usual_most_blocks = std::int64_t{1} << 20;
constexpr std::int64_t usual_most_tokens = std::int64_t{1} << 28;
constexpr std::int64_t most_of_extent = std::int64_t{1} << 24;
constexpr std::int64_t line_points = 2 * 256 + 3;  // two steps of every divisor that lines show
constexpr int random_points = 300, held_out_points = 400;

std::int64_t blocks_of(const Shape& shape) {
  return shape.columns > 0 ? shape.batch : shape.batch * shape.heads;
}
std::int64_t tokens_of(const Shape& shape) {
  return blocks_of(shape) *
         (shape.columns > 0 ? shape.columns : std::max(shape.seq, shape.keys_seq()));
}

/// Asks a candidate's variant for calls at other extents.
class Asked {
 public:
  Asked(const Operator& op, const Candidate& candidate, const Limits& limits)
      : op_(op), candidate_(candidate), limits_(limits) {
    extents_ = run_time_extents(op, candidate.problem);
    most_blocks_ = std::max(usual_most_blocks, 2 * blocks_of(candidate.problem.shape));
    most_tokens_ = std::max(usual_most_tokens, 2 * tokens_of(candidate.problem.shape));
    if (const auto reason = refusal(candidate.problem))
      throw InputError(describe(candidate) + ": refused: " + *reason);
    own_ = call_of(op, candidate);
    form_ = form_of(own_);
  }

  const std::vector<RunTimeExtent>& extents() const { return extents_; }
  const Call<std::int64_t>& own() const { return own_; }
  std::int64_t most_blocks() const { return most_blocks_; }
  std::int64_t most_tokens() const { return most_tokens_; }

  Extents own_values() const {
    Extents values;
    for (const RunTimeExtent& extent : extents_) values.push_back(extent.own);
    return values;
  }

  bool few_enough(std::span<const std::int64_t> values) const {
    const Shape shape = with_extents(candidate_.problem, extents_, values).shape;
    return blocks_of(shape) <= most_blocks_ && tokens_of(shape) <= most_tokens_;
  }

  /// The numbers of the call at these extents; nothing where it is another call or refused.
  std::optional<std::vector<std::int64_t>> numbers(std::span<const std::int64_t> values) const {
    Candidate candidate = candidate_;
    candidate.problem = with_extents(candidate.problem, extents_, values);
    if (refusal(candidate.problem)) return std::nullopt;
    const Call<std::int64_t> call = call_of(op_, candidate);
    if (form_of(call) != form_) return std::nullopt;
    std::vector<std::int64_t> list;
    for_each_number(call, [&](std::int64_t number) { list.push_back(number); });
    return list;
  }

 private:
  std::optional<std::string> refusal(const Problem& problem) const {
    if (op_.refuse)
      if (auto reason = op_.refuse(problem)) return reason;
    return candidate_.variant->reject(problem, candidate_.tile, limits_);
  }

  const Operator& op_;
  Candidate candidate_;
  Limits limits_;
  std::vector<RunTimeExtent> extents_;
  std::int64_t most_blocks_ = 0, most_tokens_ = 0;
  Call<std::int64_t> own_;
  std::string form_;
};

/// Points of the ranges: uniform in the logarithm, so that small extents are as frequent as large
/// ones, and every second one beside a power of two.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  std::int64_t extent(const RunTimeExtent& range) {
    const double low = std::log(static_cast<double>(range.least));
    const double high = std::log(static_cast<double>(range.most));
    auto value = static_cast<std::int64_t>(std::exp(low + (high - low) * uniform()));
    if (uniform() < 0.5) {
      std::int64_t power = 1;
      while (power < value) power *= 2;
      value = power + static_cast<std::int64_t>(3 * uniform()) - 1;
    }
    return std::clamp(value, range.least, range.most);
  }

  Extents point(const Asked& asked, const std::vector<RunTimeExtent>& ranges) {
    for (int trial = 0; trial < 200; ++trial) {
      Extents values;
      for (const RunTimeExtent& range : ranges) values.push_back(extent(range));
      if (asked.few_enough(values)) return values;
    }
    return asked.own_values();
  }

 private:
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  std::mt19937_64 random_;
};

bool takes_at(const Asked& asked, Extents values, std::size_t place, std::int64_t extent) {
  values[place] = extent;
  return asked.few_enough(values) && asked.numbers(values).has_value();
}

/// The farthest extent from the candidate's own towards `end` up to which calls stay the same, if
/// they do so up to some extent and not beyond.
std::int64_t reach(const Asked& asked, std::size_t place, std::int64_t end) {
  const Extents own = asked.own_values();
  if (takes_at(asked, own, place, end)) return end;
  std::int64_t good = own[place], bad = end;
  while (std::abs(good - bad) > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (takes_at(asked, own, place, middle) ? good : bad) = middle;
  }
  return good;
}

/// Shrinks the range of one extent, the others at the candidate's own, until nothing between its
/// ends makes another call.
void shrink_alone(const Asked& asked, std::size_t place, RunTimeExtent& range, Draw& draw) {
  const Extents own = asked.own_values();
  std::vector<std::int64_t> tries;
  for (std::int64_t i = 0; i < 40; ++i) {
    tries.insert(tries.end(), {range.least + i, range.own - i, range.own + i});
    tries.push_back(draw.extent(range));
  }
  for (const std::int64_t extent : tries) {
    if (extent < range.least || extent > range.most) continue;
    if (takes_at(asked, own, place, extent)) continue;
    if (extent < range.own)
      range.least = extent + 1;
    else
      range.most = extent - 1;
  }
}

/// Takes a point out of the ranges. The range of one extent ends half way (in the logarithm) from
/// the point to the candidate's own: of the extent that is farthest away from that, if it is enough
/// to set it right.
void exclude(const Asked& asked, std::vector<RunTimeExtent>& ranges, const Extents& point) {
  const auto distance = [&](std::size_t place) {
    return std::abs(std::log(static_cast<double>(point[place])) -
                    std::log(static_cast<double>(ranges[place].own)));
  };
  std::optional<std::size_t> farthest;
  bool enough = false;
  for (std::size_t place = 0; place < ranges.size(); ++place) {
    if (point[place] == ranges[place].own) continue;
    const bool rights = takes_at(asked, point, place, ranges[place].own);
    const bool better = !farthest || (rights && !enough) ||
                        (rights == enough && distance(place) > distance(*farthest));
    if (better) farthest = place;
    enough = enough || rights;
  }
  RunTimeExtent& range = ranges[farthest.value()];
  const std::int64_t there = point[*farthest];
  const auto middle = static_cast<std::int64_t>(
      std::sqrt(static_cast<double>(there) * static_cast<double>(range.own)));
  if (there < range.own)
    range.least = std::clamp(middle, there + 1, range.own);
  else
    range.most = std::clamp(middle, range.own, there - 1);
}

std::vector<Extents> corners(const std::vector<RunTimeExtent>& ranges) {
  std::vector<Extents> list;
  for (std::size_t set = 0; set < (std::size_t{1} << ranges.size()); ++set) {
    Extents corner;
    for (std::size_t i = 0; i < ranges.size(); ++i)
      corner.push_back(set >> i & 1 ? ranges[i].most : ranges[i].least);
    list.push_back(std::move(corner));
  }
  return list;
}

/// Shrinks the ranges until the calls at all corners and many points between stay the same.
void shrink_together(const Asked& asked, std::vector<RunTimeExtent>& ranges) {
  for (bool changed = true; changed;) {
    changed = false;
    Draw draw(2);
    std::vector<Extents> points = corners(ranges);
    for (int i = 0; i < random_points; ++i) points.push_back(draw.point(asked, ranges));
    for (const Extents& point : points) {
      const bool inside = std::equal(point.begin(), point.end(), ranges.begin(), ranges.end(),
                                     [](std::int64_t value, const RunTimeExtent& range) {
                                       return value >= range.least && value <= range.most;
                                     });
      if (!inside || !asked.few_enough(point) || asked.numbers(point)) continue;
      exclude(asked, ranges, point);
      changed = true;
    }
  }
}

/// A point within the ranges at which there is another call after all.
struct Stray {
  Extents point;
};

struct Sampled {
  ExtentPoints at;
  std::vector<std::vector<std::int64_t>> numbers;  ///< by place in the call, then by point

  void add(const Asked& asked, const Extents& point) {
    const auto values = asked.numbers(point);
    if (!values) throw Stray{point};
    numbers.resize(values->size());
    for (std::size_t i = 0; i < values->size(); ++i) numbers[i].push_back((*values)[i]);
    at.points.push_back(point);
  }
};

Sampled sample(const Asked& asked, const std::vector<RunTimeExtent>& ranges) {
  Sampled sampled;
  Extents least;
  for (const RunTimeExtent& range : ranges) least.push_back(range.least);
  sampled.add(asked, least);
  for (std::size_t place = 0; place < ranges.size(); ++place) {
    std::vector<std::size_t> line{0};
    Extents point = least;
    const RunTimeExtent& range = ranges[place];
    while (true) {
      // By ones up to where every divisor shows, then in strides that grow.
      std::int64_t& extent = point[place];
      extent += extent < range.least + line_points ? 1 : extent / 2;
      if (extent > range.most || !asked.few_enough(point)) break;
      line.push_back(sampled.at.points.size());
      sampled.add(asked, point);
    }
    sampled.at.lines.push_back(std::move(line));
  }
  Draw draw(3);
  for (int i = 0; i < random_points; ++i) sampled.add(asked, draw.point(asked, ranges));
  return sampled;
}

bool hold(const Asked& asked, const std::vector<RunTimeExtent>& ranges,
          const std::vector<ExtentFormula>& formulas) {
  Draw draw(4);
  for (int i = 0; i < held_out_points; ++i) {
    const Extents point = draw.point(asked, ranges);
    const auto numbers = asked.numbers(point);
    if (!numbers) throw Stray{point};
    for (std::size_t n = 0; n < formulas.size(); ++n)
      if (value_of(formulas[n], point) != (*numbers)[n]) return false;
  }
  return true;
}

/// The formulas of all numbers within the ranges; nothing where one has none. @throws Stray
std::optional<RunTimeCall> fitted(const Asked& asked, const std::vector<RunTimeExtent>& ranges) {
  const Sampled sampled = sample(asked, ranges);
  std::vector<ExtentFormula> formulas;
  for (const std::vector<std::int64_t>& values : sampled.numbers) {
    auto formula = fit_formula(sampled.at, values);
    if (!formula) return std::nullopt;
    formulas.push_back(std::move(*formula));
  }
  if (!hold(asked, ranges, formulas)) return std::nullopt;
  return RunTimeCall{ranges, asked.most_blocks(), asked.most_tokens(),
                     with_formulas(asked.own(), formulas),
                     sampled.at.points.size() + held_out_points};
}

/// The same within what is left of the ranges where calls stay the same. With every stray they
/// shrink.
std::optional<RunTimeCall> fitted_within(const Asked& asked, std::vector<RunTimeExtent> ranges) {
  shrink_together(asked, ranges);
  while (true) {
    try {
      return fitted(asked, ranges);
    } catch (const Stray& stray) {
      exclude(asked, ranges, stray.point);
    }
  }
}

/// How many values the extents have together, as a logarithm.
double width_of(const std::vector<RunTimeExtent>& ranges) {
  double width = 0;
  for (const RunTimeExtent& range : ranges)
    width += std::log2(static_cast<double>(range.most) / static_cast<double>(range.least));
  return width;
}

/// The ranges with each choice of so many extents at the candidate's own value.
std::vector<std::vector<RunTimeExtent>> without_ranges_of(const std::vector<RunTimeExtent>& ranges,
                                                          std::size_t fixed) {
  std::vector<std::vector<RunTimeExtent>> list;
  for (std::size_t set = 0; set < (std::size_t{1} << ranges.size()); ++set) {
    if (static_cast<std::size_t>(std::popcount(set)) != fixed) continue;
    list.push_back(ranges);
    for (std::size_t place = 0; place < ranges.size(); ++place)
      if (set >> place & 1) list.back()[place].least = list.back()[place].most = ranges[place].own;
  }
  return list;
}

}  // namespace

bool RunTimeExtent::counts_blocks() const {
  return extent_axis(name).role == ExtentRole::blocks;
}

bool RunTimeExtent::counts_tokens() const {
  return extent_axis(name).role == ExtentRole::amount && name != "sequences";
}

std::vector<RunTimeExtent> run_time_extents(const Operator& op, const Problem& problem) {
  std::vector<RunTimeExtent> list;
  const Shape& shape = problem.shape;
  for (const std::string& name : all_extents(op)) {
    const ExtentAxis& axis = extent_axis(name);
    if (is_dimension(axis) || !is_stated(axis, shape)) continue;
    if (name == "heads" && shape.key_heads > 0) continue;  // key_heads times the group
    RunTimeExtent extent{name, 1, 1, shape.*axis.extent};
    extent.least = extent.most = extent.own;
    if (name == "key_heads") extent.group = shape.heads / shape.key_heads;
    list.push_back(extent);
  }
  return list;
}

Problem with_extents(Problem problem, const std::vector<RunTimeExtent>& extents,
                     std::span<const std::int64_t> values) {
  for (std::size_t i = 0; i < extents.size(); ++i) {
    problem.shape.*extent_axis(extents[i].name).extent = values[i];
    if (extents[i].group > 0) problem.shape.heads = extents[i].group * values[i];
  }
  return problem;
}

RunTimeCall run_time_call(const Operator& op, const Candidate& candidate, const Limits& limits) {
  const Asked asked(op, candidate, limits);
  Draw draw(1);
  std::vector<RunTimeExtent> alone = asked.extents();
  for (std::size_t place = 0; place < alone.size(); ++place) {
    RunTimeExtent& range = alone[place];
    const std::int64_t most =
        std::max(range.own, std::min(most_of_extent, extent_axis(range.name).most));
    range.least = reach(asked, place, 1);
    range.most = reach(asked, place, most);
    shrink_alone(asked, place, range, draw);
  }
  // As few extents as possible have no range, and of as many those that leave the others most.
  for (std::size_t fixed = 0; fixed <= alone.size(); ++fixed) {
    std::optional<RunTimeCall> widest;
    for (const std::vector<RunTimeExtent>& ranges : without_ranges_of(alone, fixed))
      if (auto call = fitted_within(asked, ranges))
        if (!widest || width_of(call->extents) > width_of(widest->extents)) widest = call;
    if (widest) return *std::move(widest);
  }
  throw InputError(describe(candidate) + ": cannot be emitted: its call is not the same twice");
}

bool takes(const RunTimeCall& call, std::span<const std::int64_t> values) {
  std::int64_t blocks = 1, tokens = 1;
  for (std::size_t i = 0; i < call.extents.size(); ++i) {
    const RunTimeExtent& extent = call.extents[i];
    if (values[i] < extent.least || values[i] > extent.most) return false;
    if (extent.counts_tokens()) tokens = std::max(tokens, values[i]);
    if (extent.counts_blocks()) blocks *= values[i] * std::max<std::int64_t>(1, extent.group);
  }
  return blocks <= call.most_blocks && blocks * tokens <= call.most_tokens;
}

}  // namespace gla_bench
