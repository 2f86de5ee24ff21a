#include "harness/config/draws/pair_cover.hpp"

#include <algorithm>
#include <optional>

#include "harness/config/draws/draws.hpp"

namespace gla_bench {
namespace {

constexpr int free_samples = 300;    // rows that are drawn to learn which pairs exist
constexpr int tries_of_pair = 1000;  // rows with one pair, before it counts as refused
constexpr int tries_of_all = 4000;   // if none of them exists
constexpr int candidates_of_row = 30;

/// What is known of each pair of levels. Levels of all factors are numbered in one row.
class Pairs {
 public:
  enum class State : std::uint8_t { unknown, open, covered, refused };

  explicit Pairs(const std::vector<Factor>& factors) {
    for (const Factor& factor : factors) {
      first_.push_back(levels_);
      levels_ += factor.levels.size();
    }
    state_.assign(levels_ * levels_, State::unknown);
    refused_.assign(levels_, no_levels());
  }

  /// A bit for each level of all factors.
  using Mask = std::vector<std::uint64_t>;
  Mask no_levels() const { return Mask((levels_ + 63) / 64); }
  /// Adds the levels that are refused beside this one.
  void add_refused(int factor, int level, Mask& mask) const {
    const Mask& refused = refused_[at(factor, level)];
    for (std::size_t i = 0; i < mask.size(); ++i) mask[i] |= refused[i];
  }
  bool has(const Mask& mask, int factor, int level) const {
    const std::size_t bit = at(factor, level);
    return (mask[bit / 64] >> (bit % 64) & 1) != 0;
  }

  State of(int factor, int level, int other_factor, int other_level) const {
    return of_level(factor, level)[at(other_factor, other_level)];
  }
  /// The states beside one level, by the number that at() gives the other one.
  const State* of_level(int factor, int level) const {
    return state_.data() + at(factor, level) * levels_;
  }
  void set(int factor, int level, int other_factor, int other_level, State state) {
    const std::size_t one = at(factor, level), other = at(other_factor, other_level);
    state_[one * levels_ + other] = state_[other * levels_ + one] = state;
    mark(one, other, state == State::refused);
    mark(other, one, state == State::refused);
  }

  std::size_t at(int factor, int level) const {
    return first_[static_cast<std::size_t>(factor)] + static_cast<std::size_t>(level);
  }

 private:
  void mark(std::size_t level, std::size_t other, bool refused) {
    const std::uint64_t bit = std::uint64_t{1} << (other % 64);
    std::uint64_t& word = refused_[level][other / 64];
    word = refused ? word | bit : word & ~bit;
  }

  std::vector<std::size_t> first_;
  std::size_t levels_ = 0;
  std::vector<State> state_;
  std::vector<Mask> refused_;  // of each level
};

using State = Pairs::State;
constexpr int unset = -1;

class PairCovering {
 public:
  PairCovering(const CoverTask& task, std::uint64_t seed)
      : task_(task),
        count_(static_cast<int>(task.factors.size())),
        prefix_(task.beginnings.empty() ? 0 : static_cast<int>(task.beginnings.front().size())),
        pairs_(task.factors),
        draws_(seed, "pairs") {}

  PairCover run() {
    PairCover result;
    learn();
    std::vector<LevelPair> open = list_of(State::open);
    while (!open.empty() && (task_.most_rows == 0 || rows() < task_.most_rows)) {
      take(best_row(open));
      std::erase_if(open, [&](const LevelPair& pair) { return state(pair) != State::open; });
    }
    result.rows = std::move(rows_);
    result.refused = list_of(State::refused);
    result.missed = list_of(State::open);
    const auto unreached = list_of(State::unknown);
    result.missed.insert(result.missed.end(), unreached.begin(), unreached.end());
    result.pairs = 0;
    each_pair([&](const LevelPair&) { ++result.pairs; });
    return result;
  }

 private:
  int rows() const { return static_cast<int>(rows_.size()); }
  int levels(int factor) const {
    return static_cast<int>(task_.factors[static_cast<std::size_t>(factor)].levels.size());
  }
  State state(const LevelPair& pair) const {
    return pairs_.of(pair.factor, pair.level, pair.other_factor, pair.other_level);
  }
  void set_state(const LevelPair& pair, State state) {
    pairs_.set(pair.factor, pair.level, pair.other_factor, pair.other_level, state);
  }

  template <class Act>
  void each_pair(Act act) const {
    for (int a = 0; a < count_; ++a)
      for (int b = a + 1; b < count_; ++b)
        for (int i = 0; i < levels(a); ++i)
          for (int j = 0; j < levels(b); ++j) act(LevelPair{a, i, b, j});
  }
  std::vector<LevelPair> list_of(State wanted) const {
    std::vector<LevelPair> list;
    each_pair([&](const LevelPair& pair) {
      if (state(pair) == wanted) list.push_back(pair);
    });
    return list;
  }

  /// Calls act(pair) for the pairs of a whole row.
  template <class Act>
  void each_pair_of(const Levels& row, Act act) const {
    for (int a = 0; a < count_; ++a)
      for (int b = a + 1; b < count_; ++b) act(LevelPair{a, row[at(a)], b, row[at(b)]});
  }
  static std::size_t at(int factor) { return static_cast<std::size_t>(factor); }

  Levels row_with(const LevelPair& pair) const {
    Levels row(at(count_), unset);
    row[at(pair.factor)] = pair.level;
    row[at(pair.other_factor)] = pair.other_level;
    return row;
  }

  /// How many open pairs a level would add to a row, or -1 where it is refused beside another.
  int gain(const Levels& row, int factor, int level) const {
    int open = 0;
    const State* beside = pairs_.of_level(factor, level);
    for (int other = 0; other < count_; ++other) {
      if (other == factor || row[at(other)] == unset) continue;
      const State state = beside[pairs_.at(other, row[at(other)])];
      if (state == State::refused) return -1;
      open += state == State::open ? 1 : 0;
    }
    return open;
  }

  /// The beginnings that a row may still have.
  std::vector<const Levels*> beginnings_of(const Levels& row) const {
    std::vector<const Levels*> list;
    for (const Levels& beginning : task_.beginnings) {
      const auto fits = [&](int factor) {
        return row[at(factor)] == unset || row[at(factor)] == beginning[at(factor)];
      };
      bool all = true;
      for (int factor = 0; all && factor < prefix_; ++factor) all = fits(factor);
      if (all) list.push_back(&beginning);
    }
    return list;
  }

  // --- learning which pairs exist

  /// A row with what is set, and else with the plain level as often as with any. `beginnings` are
  /// those of this row.
  std::optional<Levels> random_row(Levels row, const std::vector<const Levels*>& beginnings) {
    if (prefix_ > 0) {
      if (beginnings.empty()) return std::nullopt;
      std::copy_n(draws_.of(beginnings)->begin(), prefix_, row.begin());
    }
    Pairs::Mask refused = pairs_.no_levels();
    for (int factor = 0; factor < count_; ++factor)
      if (row[at(factor)] != unset) pairs_.add_refused(factor, row[at(factor)], refused);
    std::vector<int> allowed;
    for (const int factor : order()) {
      if (row[at(factor)] != unset) continue;
      int chosen = 0;
      if (!draws_.one_in(2) || pairs_.has(refused, factor, 0)) {
        allowed.clear();
        for (int level = 0; level < levels(factor); ++level)
          if (!pairs_.has(refused, factor, level)) allowed.push_back(level);
        if (allowed.empty()) return std::nullopt;
        chosen = draws_.of(allowed);
      }
      row[at(factor)] = chosen;
      pairs_.add_refused(factor, chosen, refused);
    }
    return row;
  }

  std::vector<int> order() {
    std::vector<int> list(at(count_));
    for (int factor = 0; factor < count_; ++factor) list[at(factor)] = factor;
    draws_.shuffle(list);
    return list;
  }

  bool try_row(const Levels& fixed, const std::vector<const Levels*>& beginnings) {
    const auto row = random_row(fixed, beginnings);
    ++tries_;
    if (!row || !task_.exists(*row)) return false;
    ++found_;
    each_pair_of(*row, [&](const LevelPair& pair) { set_state(pair, State::open); });
    return true;
  }

  void learn() {
    const Levels nothing(at(count_), unset);
    const auto all = beginnings_of(nothing);
    for (int i = 0; i < free_samples; ++i) try_row(nothing, all);
    each_pair([&](const LevelPair& pair) {
      if (state(pair) != State::unknown) return;
      const Levels fixed = row_with(pair);
      const auto beginnings = beginnings_of(fixed);
      if (prefix_ > 0 && beginnings.empty()) return;  // nobody can know
      // Where nothing at all exists, some thousand rows are enough to say so.
      for (int i = 0; i < tries_of_pair && (found_ > 0 || tries_ < tries_of_all); ++i)
        if (try_row(fixed, beginnings)) return;
      set_state(pair, State::refused);
    });
  }

  // --- choosing rows

  /// The row with the pair that covers most besides, level by level.
  std::optional<Levels> greedy_row(const LevelPair& pair) {
    Levels row = row_with(pair);
    if (prefix_ > 0 && !take_beginning(row)) return std::nullopt;
    for (const int factor : order()) {
      if (row[at(factor)] != unset) continue;
      int best = -1;
      std::vector<int> equals;
      for (int level = 0; level < levels(factor); ++level) {
        const int open = gain(row, factor, level);
        if (open < 0 || open < best) continue;
        if (open > best) equals.clear();
        best = open;
        equals.push_back(level);
      }
      if (equals.empty()) return std::nullopt;
      row[at(factor)] = draws_.of(equals);
    }
    return row;
  }

  bool take_beginning(Levels& row) {
    int best = -1;
    std::vector<const Levels*> equals;
    for (const Levels* beginning : beginnings_of(row)) {
      int open = 0;
      for (int factor = 0; factor < prefix_ && open >= 0; ++factor) {
        const int more = gain(row, factor, (*beginning)[at(factor)]);
        open = more < 0 ? -1 : open + more;
      }
      if (open < 0 || open < best) continue;
      if (open > best) equals.clear();
      best = open;
      equals.push_back(beginning);
    }
    if (equals.empty()) return false;
    std::copy_n(draws_.of(equals)->begin(), prefix_, row.begin());
    return true;
  }

  int open_pairs(const Levels& row) const {
    int open = 0;
    each_pair_of(row, [&](const LevelPair& pair) { open += state(pair) == State::open ? 1 : 0; });
    return open;
  }

  /// A row that exists and has at least one of the open pairs.
  Levels best_row(const std::vector<LevelPair>& open) {
    Levels best;
    int most = 0;
    for (int i = 0; i < candidates_of_row; ++i) {
      const auto row = greedy_row(draws_.of(open));
      if (!row) continue;
      if (const int gained = open_pairs(*row); gained > most && task_.exists(*row)) {
        most = gained;
        best = *row;
      }
    }
    // Every open pair has been seen in a row, so that one can be drawn sooner or later.
    while (best.empty()) {
      const Levels fixed = row_with(draws_.of(open));
      const auto row = random_row(fixed, beginnings_of(fixed));
      if (row && task_.exists(*row)) best = *row;
    }
    return best;
  }

  void take(Levels row) {
    each_pair_of(row, [&](const LevelPair& pair) { set_state(pair, State::covered); });
    rows_.push_back(std::move(row));
  }

  const CoverTask& task_;
  int count_, prefix_;
  Pairs pairs_;
  Draws draws_;
  std::vector<Levels> rows_;
  int tries_ = 0, found_ = 0;
};

}  // namespace

PairCover cover_pairs(const CoverTask& task, std::uint64_t seed) {
  return PairCovering(task, seed).run();
}

}  // namespace gla_bench
