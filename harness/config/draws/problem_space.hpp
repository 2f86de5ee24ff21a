#pragma once
// What the problems of a drawn sweep differ in, as factors with levels, and how a problem is made
// of one level of each. Levels of sizes are classes, such as a length next to a multiple of a
// chunk; the size itself is drawn.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/operator.hpp"
#include "harness/config/config.hpp"
#include "harness/config/draws/draws.hpp"
#include "harness/config/draws/pair_cover.hpp"
#include "harness/config/draws/size_classes.hpp"

namespace gla_bench {

/// The most operations (Work::flops) of a drawn problem of the forward direction. Its float64
/// reference then takes some hundredths of a second on a few cores.
constexpr double most_drawn_flops = 240e6;
/// The same of a backward, which forms two and a half times as many products.
constexpr double most_drawn_backward_flops = 2.5 * most_drawn_flops;
/// The same of training, whose backward need not form the states once more.
constexpr double most_drawn_training_flops = 3 * most_drawn_flops;
/// The most bytes that a drawn problem reads and writes at least (Work::floor_bytes). States count
/// once for each ragged sequence, however few tokens there are: of 44 sequences with one token in
/// all, states of 264 x 264 came to a gigabyte, and ten such problems to two fifths of all bytes of
/// configs/ci.json.
constexpr double most_drawn_bytes = 64e6;

/// The sizes of an extent that problems are drawn with.
struct DrawnSizes {
  std::int64_t least, most;
};
DrawnSizes drawn_sizes(const Operator& op, std::string_view extent);

class ProblemSpace {
 public:
  /// Keeps references to both.
  ProblemSpace(const Sweep& sweep, const Operator& op);
  ProblemSpace(const ProblemSpace&) = delete;
  ProblemSpace& operator=(const ProblemSpace&) = delete;

  /// Those that kernels are compiled for come first.
  const std::vector<Factor>& factors() const { return factors_; }
  int compiled() const { return compiled_; }

  /// Draws levels of the factors from `first` up to before `last`. bfloat16, an option's default
  /// and short sequences are more likely than others.
  Levels draw_levels(int first, int last, Draws& draws) const;

  /// A problem with what kernels are compiled for, its other sizes being the least that there are.
  /// Nothing where there is no such problem. Without draws its dims are the first of their classes.
  std::optional<Problem> kernel(const Levels& levels, Draws* draws) const;

  enum class Fit { no_such_problem, too_much_work, fits };
  /// Whether a problem of these kernels has the levels, and is not too much work.
  Fit fit(const Problem& kernel, const Levels& levels) const;
  bool exists(const Problem& kernel, const Levels& levels) const {
    return fit(kernel, levels) == Fit::fits;
  }

  /// Draws that problem. It must exist.
  Problem problem(const Problem& kernel, const Levels& levels, Draws& draws) const;

 private:
  using Apply = std::function<void(Problem&, int level, Draws*)>;

  template <class Value>
  static const Value& item(const std::vector<Value>& list, int level) {
    return list[static_cast<std::size_t>(level)];
  }

  void add(std::string name, std::vector<std::string> levels, Apply apply);
  void add_dim(const char* extent, const std::vector<SizeClass>& classes,
               const std::vector<std::int64_t>& given);
  void add_options(bool compiled);
  void add_states();
  void add_sizes();
  void add_lengths();
  bool has(std::string_view extent) const;
  bool has_states() const;
  /// Ragged sequences of a problem whose number is not drawn: of attention three, since two may be
  /// without queries and without keys.
  std::int64_t least_sequences() const;
  bool never(const std::string& option, const std::string& value) const;
  bool is_too_much(const Problem& problem) const;
  bool dims_suit(Problem problem) const;
  /// Sets the lengths. False where the levels contradict each other.
  bool set_lengths(Problem& problem, const Levels& levels, Draws* draws) const;
  std::int64_t least_heads(const Problem& problem) const;
  bool is_well_posed(const Problem& problem) const;
  bool has_bits_for_attention(const Problem& problem) const;
  /// Raises the batch, or the heads, to the least number of rows. False where both are to be 1.
  bool set_rows(Problem& problem) const;
  /// Without draws the sizes are the least of their classes. Nothing where the operator has no such
  /// problem.
  std::optional<Problem> with(const Problem& kernel, const Levels& levels, Draws* draws) const;

  void set_chances();

  const Sweep& sweep_;
  const Operator& op_;
  std::vector<std::string> extents_;  ///< all of the operator's
  Problem plain_;
  bool has_states_ = false;
  int compiled_ = 0, lengths_ = -1, keys_ = -1;  ///< lengths_, keys_: numbers of these factors
  int options_ = 0;  ///< of the first option that kernels are not compiled for; it draws nothing
  std::vector<Factor> factors_;
  std::vector<Apply> apply_;
  std::vector<std::vector<int>> chances_;  ///< of each factor's levels, to be drawn
  std::vector<LengthClass> allowed_lengths_;
};

}  // namespace gla_bench
