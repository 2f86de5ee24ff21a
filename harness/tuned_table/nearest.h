#pragma once
// How far a problem is from what was measured, and which entry of a table is nearest to it: the
// rules by which both the program and every exported header choose. Needs nothing but C++17.
//
// The rules are templates over what is asked, Problem, and what was measured, Entry. Both have
// `layout`, `options`, `initial_state` and `final_state`. A Problem has a shape's extents by their
// names. An Entry has those of them that a list of Extent says, by the same names, and
// `batch_heads`, `group` and `multiprocessors`.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace gla_bench_tuned {

struct TileValue {
  std::string_view axis;
  int value;
};

/// What was true of the place of measurement: `environment` says which set it belongs to.
struct Fact {
  std::size_t environment;
  std::string_view key, value;
};

template <class Entry>
struct ChoiceAmong {
  const Entry* entry = nullptr;  ///< null: nothing was measured for this direction and dtype
  bool own_bucket = false;       ///< measured for problems like this one
  double distance = 0;           ///< from the problem to the entry's bucket, in doublings

  explicit operator bool() const { return entry != nullptr; }
  std::string_view variant() const { return entry ? entry->variant : std::string_view(); }
  /// The value of a tile axis, or `otherwise` where the variant has no such axis.
  int tile(std::string_view axis, int otherwise) const {
    if (entry != nullptr)
      for (std::size_t i = 0; i < entry->tile_values; ++i)
        if (entry->tile[i].axis == axis) return entry->tile[i].value;
    return otherwise;
  }
};

namespace detail {

/// The power of two nearest to a number in ratio; 0 for what is below 1.
inline std::int64_t nearest_power_of_two(std::int64_t value) {
  if (value < 1) return 0;
  std::int64_t below = 1;
  while (below <= value / 2) below *= 2;
  const bool up = static_cast<double>(value) > 1.4142135623730951 * static_cast<double>(below);
  return up && below <= INT64_MAX / 2 ? 2 * below : below;
}

/// The nearest in ratio among the powers of two and the three numbers that part each octave evenly;
/// below 8 each number itself; 0 for what is below 1.
inline std::int64_t nearest_quarter(std::int64_t value) {
  if (value < 8) return value < 0 ? 0 : value;
  std::int64_t below = 1;
  while (below <= value / 2) below *= 2;
  const std::int64_t step = below / 4, low = value / step * step;
  if (low > INT64_MAX - step) return low;
  const double middle = static_cast<double>(low) * static_cast<double>(low + step);
  return static_cast<double>(value) * static_cast<double>(value) > middle ? low + step : low;
}

/// How often one number has to be doubled to give the other; 0 where there is no such extent.
inline double doublings(std::int64_t here, std::int64_t there) {
  if (here < 1 || there < 1) return 0;
  return std::abs(std::log2(static_cast<double>(here)) - std::log2(static_cast<double>(there)));
}

/// How differently two numbers of blocks fill a device. A block for each, or 2, or 4: how many
/// rounds of the multiprocessors that takes, and how full they are. For each of the three,
/// doublings between the rounds, or between how full they are, whichever is less, so that only a
/// step between the two counts: neither a small device nearly empty nor a large number of rounds.
/// Their sum.
inline double rounds_apart(double here, double there, double multiprocessors) {
  if (!(here > 0) || !(there > 0) || !(multiprocessors > 0)) return 0;
  double sum = 0;
  for (const double slices : {1.0, 2.0, 4.0}) {
    const double need = slices * here / multiprocessors, other = slices * there / multiprocessors;
    const double rounds = std::log2(std::ceil(need)) - std::log2(std::ceil(other));
    const double fill = std::abs(std::log2(need) - std::log2(other) - rounds);
    sum += std::abs(rounds) < fill ? std::abs(rounds) : fill;
  }
  return sum;
}

/// The first "name=value" of a list, which is taken off it.
inline std::string_view next_option(std::string_view& list) {
  const std::size_t comma = list.find(',');
  const std::string_view first = list.substr(0, comma);
  list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  return first;
}

inline bool has_option(std::string_view list, std::string_view wanted, bool by_name) {
  while (!list.empty()) {
    const std::string_view option = next_option(list);
    if (by_name ? option.substr(0, option.find('=')) == wanted.substr(0, wanted.find('='))
                : option == wanted)
      return true;
  }
  return false;
}

inline double differing_options(std::string_view here, std::string_view there) {
  double count = 0;
  for (std::string_view rest = here; !rest.empty();)
    count += has_option(there, next_option(rest), false) ? 0 : 1;
  for (std::string_view rest = there; !rest.empty();)
    count += has_option(here, next_option(rest), true) ? 0 : 1;
  return count;
}

/// How entries keep an extent of problems.
template <class Problem, class Entry>
struct Extent {
  std::int64_t Problem::*asked;
  std::int64_t Entry::*kept;
  bool rounded;         ///< to the nearest power of two; else it is kept as it is
  double per_doubling;  ///< what a doubling counts in the distance
};

/// The problem with 0 for extents that say nothing, as the functions below take it.
template <class Problem>
Problem plain(Problem p) {
  if (p.key_seq == p.seq) p.key_seq = 0;           // as many keys as queries: one extent
  if (p.columns > 0) p.key_dim = p.value_dim = 0;  // rows of a softmax have no heads
  return p;
}

/// What the entry of a problem's own bucket keeps of an extent.
template <class Problem, class Entry>
std::int64_t kept_of(const Problem& p, const Extent<Problem, Entry>& extent) {
  const std::int64_t value = p.*extent.asked;
  return extent.rounded ? nearest_power_of_two(value) : value;
}

/// How many heads of queries share one of keys.
template <class Problem>
std::int64_t group_of(const Problem& p) {
  return p.key_heads > 0 && p.heads / p.key_heads > 1 ? p.heads / p.key_heads : 1;
}

template <class Problem, class Entry, class Extents>
bool own_bucket(const Problem& p, const Entry& e, const Extents& extents) {
  for (const Extent<Problem, Entry>& extent : extents)
    if (kept_of(p, extent) != e.*extent.kept) return false;
  return p.layout == e.layout && p.initial_state == e.initial_state &&
         p.final_state == e.final_state && differing_options(p.options, e.options) == 0 &&
         group_of(p) == e.group && nearest_quarter(p.batch * p.heads) == e.batch_heads;
}

// What a doubling, or a difference, counts: how much it changes which launch is best.
inline constexpr double per_batch_heads = 2, per_round = 2, per_layout = 1, per_state = 2,
                        per_presence = 8, per_option = 16;

/// How far an extent of a problem is from that of an entry.
template <class Problem, class Entry>
double distance_along(const Extent<Problem, Entry>& extent, const Problem& p, const Entry& e) {
  std::int64_t here = p.*extent.asked, there = e.*extent.kept;
  if (extent.asked == &Problem::key_seq && (here > 0 || there > 0)) {
    if (here == 0) here = p.seq;
    if (there == 0) there = e.seq;
  }
  if ((here > 0) != (there > 0)) return per_presence;
  return extent.per_doubling * doublings(here, there);
}

/// How far a problem is from the middle of an entry's bucket, both of one direction and dtype.
template <class Problem, class Entry, class Extents>
double distance(const Problem& p, const Entry& e, const Extents& extents) {
  const std::int64_t blocks = p.batch * p.heads;
  double sum = 0;
  for (const Extent<Problem, Entry>& extent : extents) sum += distance_along(extent, p, e);
  sum += per_batch_heads * doublings(blocks, e.batch_heads);
  sum += doublings(group_of(p), e.group);
  sum += per_round * rounds_apart(static_cast<double>(blocks), static_cast<double>(e.batch_heads),
                                  e.multiprocessors);
  sum += p.layout != e.layout ? per_layout : 0;
  sum += p.initial_state != e.initial_state ? per_state : 0;
  sum += p.final_state != e.final_state ? per_state : 0;
  return sum + per_option * differing_options(p.options, e.options);
}

/// The nearest entry of its direction and dtype: mostly that of its own bucket.
template <class Problem, class Entry, class Extents>
ChoiceAmong<Entry> choose(const Problem& problem, const Entry* entries, std::size_t count,
                          const Extents& extents) {
  const Problem asked = plain(problem);
  ChoiceAmong<Entry> best;
  for (const Entry* entry = entries; entry != entries + count; ++entry) {
    if (asked.direction != entry->direction || asked.dtype != entry->dtype) continue;
    const double far = distance(asked, *entry, extents);
    const bool mine = own_bucket(asked, *entry, extents);
    if (best.entry == nullptr || far < best.distance ||
        (far == best.distance && mine && !best.own_bucket))
      best = {entry, mine, far};
  }
  return best;
}

}  // namespace detail

}  // namespace gla_bench_tuned
