#pragma once
// How far a problem is from what was measured, and which entry of a table is nearest to it: the
// rules by which both the program and every exported header choose. Needs nothing but C++17.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace gla_bench_tuned {

/// What is to be computed. Extents that the operator lacks keep their defaults.
struct Problem {
  std::string_view direction = "forward";  ///< or "backward"
  std::string_view dtype = "bfloat16";     ///< or "float16", "float32"
  std::string_view layout = "seq_first";   ///< [B,T,H,D], or "head_first", [B,H,T,D]
  std::int64_t batch = 1;                  ///< rows, for softmax
  std::int64_t seq = 1;
  std::int64_t heads = 1;
  std::int64_t key_dim = 64;    ///< of a head
  std::int64_t value_dim = 64;  ///< of a head
  std::int64_t key_seq = 0;     ///< 0: as many as seq
  std::int64_t key_heads = 0;   ///< 0: as many as heads
  std::int64_t model_dim = 0;   ///< of a layer
  std::int64_t columns = 0;     ///< of a row, for softmax
  std::int64_t sequences = 0;   ///< ragged ones in a row of seq tokens; 0: none are ragged
  bool initial_state = false;
  bool final_state = true;
  std::string_view options = {};  ///< those off their defaults by name: "causal=false,lse=true"
};

struct TileValue {
  std::string_view axis;
  int value;
};

/// What was measured to be the best for a bucket of problems.
struct Entry {
  std::string_view direction, dtype, layout, options;
  bool initial_state, final_state;
  std::int64_t key_dim, value_dim, model_dim, group;  ///< as they are
  /// batch_heads: the nearest quarter of an octave; the others: the nearest powers of two.
  std::int64_t seq, batch_heads, key_seq, columns, sequences;
  std::string_view variant;
  const TileValue* tile;
  std::size_t tile_values;
  /// Time of the runner-up over this one's with its 95 % interval; 1 where there was no other.
  double margin, margin_low, margin_high;
  double error;               ///< the largest relative error (L2) of an output against float64
  double regret;              ///< the worst of using it on the problems that it was measured on
  std::string_view measured;  ///< when, UTC
  std::size_t environment;    ///< row of the facts that it holds for
  double multiprocessors;     ///< of the device that it holds for; 0: unknown
};

struct Choice {
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

/// What was true of the place of measurement: `environment` says which set it belongs to.
struct Fact {
  std::size_t environment;
  std::string_view key, value;
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

/// A problem's extents as the entry of its own bucket has them, and its number of keys as it is.
struct Extents {
  std::int64_t key_dim, value_dim, group, seq, batch_heads, key_seq, columns, sequences, keys;
};

inline Extents extents_of(const Problem& p) {
  Extents e{};
  const std::int64_t key_heads = p.key_heads > 0 ? p.key_heads : p.heads;
  // Rows of a softmax have no heads; the members keep their defaults there and say nothing.
  e.key_dim = p.columns > 0 ? 0 : p.key_dim;
  e.value_dim = p.columns > 0 ? 0 : p.value_dim;
  e.group = key_heads > 0 && p.heads / key_heads > 1 ? p.heads / key_heads : 1;
  e.seq = nearest_power_of_two(p.seq);
  e.batch_heads = nearest_quarter(p.batch * p.heads);
  e.keys = p.key_seq > 0 ? p.key_seq : p.seq;
  e.key_seq = e.keys == p.seq ? 0 : nearest_power_of_two(e.keys);
  e.columns = nearest_power_of_two(p.columns);
  e.sequences = nearest_power_of_two(p.sequences);
  return e;
}

inline bool own_bucket(const Problem& p, const Extents& own, const Entry& e) {
  return p.layout == e.layout && p.initial_state == e.initial_state &&
         p.final_state == e.final_state && differing_options(p.options, e.options) == 0 &&
         own.key_dim == e.key_dim && own.value_dim == e.value_dim && p.model_dim == e.model_dim &&
         own.group == e.group && own.seq == e.seq && own.batch_heads == e.batch_heads &&
         own.key_seq == e.key_seq && own.columns == e.columns && own.sequences == e.sequences;
}

// What a doubling, or a difference, counts: how much it changes which launch is best.
inline constexpr double per_batch_heads = 2, per_round = 2, per_head_dimension = 4, per_layout = 1,
                        per_state = 2, per_raggedness = 8, per_option = 16;

/// How far a problem is from the middle of an entry's bucket, both of one direction and dtype.
inline double distance(const Problem& p, const Extents& own, const Entry& e) {
  double sum = doublings(p.seq, e.seq) +
               per_batch_heads * doublings(p.batch * p.heads, e.batch_heads) +
               doublings(p.columns, e.columns) + doublings(p.model_dim, e.model_dim) +
               doublings(own.group, e.group);
  sum += per_round * rounds_apart(static_cast<double>(p.batch * p.heads),
                                  static_cast<double>(e.batch_heads), e.multiprocessors);
  // As many keys as queries on both sides: one extent, counted once.
  if (own.key_seq > 0 || e.key_seq > 0)
    sum += doublings(own.keys, e.key_seq > 0 ? e.key_seq : e.seq);
  sum += per_head_dimension *
         (doublings(own.key_dim, e.key_dim) + doublings(own.value_dim, e.value_dim));
  sum += p.layout != e.layout ? per_layout : 0;
  sum += p.initial_state != e.initial_state ? per_state : 0;
  sum += p.final_state != e.final_state ? per_state : 0;
  sum +=
      (p.sequences > 0) == (e.sequences > 0) ? doublings(p.sequences, e.sequences) : per_raggedness;
  return sum + per_option * differing_options(p.options, e.options);
}

/// The nearest entry of its direction and dtype: mostly that of its own bucket.
inline Choice choose(const Problem& problem, const Entry* entries, std::size_t count) {
  const Extents own = extents_of(problem);
  Choice best;
  for (const Entry* entry = entries; entry != entries + count; ++entry) {
    if (problem.direction != entry->direction || problem.dtype != entry->dtype) continue;
    const double far = distance(problem, own, *entry);
    const bool mine = own_bucket(problem, own, *entry);
    if (best.entry == nullptr || far < best.distance ||
        (far == best.distance && mine && !best.own_bucket))
      best = {entry, mine, far};
  }
  return best;
}

}  // namespace detail

}  // namespace gla_bench_tuned
