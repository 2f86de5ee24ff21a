#include "harness/config/draws/problem_space.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "core/extents.hpp"

namespace gla_bench {
namespace {

constexpr int kernel_attempts = 40;  // to draw dims that have problems of every kind
constexpr int size_attempts = 4;     // to draw sizes that are not too much work

std::string text_of_scale(std::optional<double> scale) {
  if (!scale) return "default";
  std::ostringstream text;
  text << *scale;
  return text.str();
}

/// Dims of the layer that are drawn: its norm divides by the size of a head.
constexpr std::int64_t least_layer_dim = 32;

template <class List>
std::vector<std::string> names_of(const List& list) {
  std::vector<std::string> names;
  for (const auto& item : list) names.emplace_back(name(item));
  return names;
}

std::vector<std::string> texts_of(const auto& values) {
  std::vector<std::string> texts;
  for (const auto& value : values) texts.push_back(std::to_string(value));
  return texts;
}

/// The first level should be the one that goes together with all others: a state that is there.
std::vector<bool> true_first(std::vector<bool> flags) {
  std::sort(flags.rbegin(), flags.rend());
  return flags;
}

std::vector<std::string> texts_of_flags(const std::vector<bool>& flags) {
  std::vector<std::string> texts;
  for (const bool flag : flags) texts.emplace_back(flag ? "true" : "false");
  return texts;
}

bool has_extent(const Operator& op, std::string_view extent) {
  const std::vector<std::string> extents = all_extents(op);
  return std::find(extents.begin(), extents.end(), extent) != extents.end();
}

}  // namespace

DrawnSizes drawn_sizes(const Operator& op, std::string_view extent) {
  const std::int64_t most = extent_axis(extent).most;
  // Kernels of attention take dims up to 256. With a single one, shifted keys are all alike, and
  // gradients of queries are differences of equal numbers.
  if (has_extent(op, "key_seq")) return {2, std::min<std::int64_t>(most, 256)};
  // The layer divides by the size of a head's columns, and few columns may all be small: where
  // the outputs of a head are mostly one direction times a number, those of some tokens are near
  // zero, and the norm makes them, with their errors, as large as all others. Of one head with 8
  // columns a chunk came to 225 % of its bound on an H200, with 17 to 93 %. So may sums over few
  // keys be small, of which strong gates leave fewer.
  if (has_extent(op, "model_dim")) return {least_layer_dim, most};
  // Outputs with a single column may pass through zero and stay near it for a whole chunk, where
  // features are positive or nothing is forgotten. Their error is then that of larger numbers.
  return {extent == "value_dim" ? 2 : 1, most};
}

ProblemSpace::ProblemSpace(const Sweep& sweep, const Operator& op)
    : sweep_(sweep), op_(op), extents_(all_extents(op)) {
  plain_.op = op.name;
  plain_.direction = sweep.direction;
  plain_.gate = sweep.gates.front();
  for (const std::string& extent : op.extents) plain_.shape.*extent_axis(extent).extent = 1;
  // The layer has no gradients with fewer columns than its norm takes away.
  if (has("model_dim")) plain_.shape.value_dim = least_layer_dim;
  plain_.initial_state = has_states_ = has_states();
  add("dtype", names_of(sweep.dtypes),
      [this](Problem& problem, int level, Draws*) { problem.dtype = item(sweep_.dtypes, level); });
  add_dim("key_dim", dim_classes(), sweep.random->key_dims);
  add_dim("value_dim", dim_classes(), sweep.random->value_dims);
  add_dim("model_dim", model_classes(), {});
  add_dim("columns", column_classes(), {});
  if (has("sequences"))
    add("ragged", {"no", "yes"}, [least = least_sequences()](Problem& problem, int level, Draws*) {
      problem.shape.sequences = level == 0 ? 0 : least;
    });
  if (has("key_heads"))
    add("heads of a group", texts_of(head_groups), [](Problem& problem, int level, Draws*) {
      const std::int64_t group = head_groups[static_cast<std::size_t>(level)];
      problem.shape.heads = group;
      problem.shape.key_heads = group > 1 ? 1 : 0;
    });
  add_options(true);
  compiled_ = static_cast<int>(factors_.size());
  add_states();
  add_sizes();
  add_lengths();
  options_ = static_cast<int>(factors_.size());
  add_options(false);
  set_chances();
}

bool ProblemSpace::has_states() const {
  Problem with = plain_, without = plain_;
  with.initial_state = true;
  without.final_state = false;
  return op_.tensors(with).size() > op_.tensors(without).size();
}

bool ProblemSpace::has(std::string_view extent) const {
  return std::find(extents_.begin(), extents_.end(), extent) != extents_.end();
}

std::int64_t ProblemSpace::least_sequences() const {
  return has("key_seq") ? few_sequences[1] : few_sequences.front();
}

void ProblemSpace::add(std::string name, std::vector<std::string> levels, Apply apply) {
  factors_.push_back({std::move(name), std::move(levels)});
  apply_.push_back(std::move(apply));
}

void ProblemSpace::add_dim(const char* extent, const std::vector<SizeClass>& classes,
                           const std::vector<std::int64_t>& given) {
  if (!has(extent)) return;
  std::vector<SizeClass> list = classes;
  std::vector<std::string> names = texts_of(given);
  if (!given.empty()) list.clear();
  for (const std::int64_t size : given) list.push_back({"", {size}});
  for (SizeClass& one : list) {
    if (given.empty()) names.emplace_back(one.name);
    std::erase_if(one.sizes, [drawn = drawn_sizes(op_, extent)](std::int64_t size) {
      return size < drawn.least || size > drawn.most;
    });
  }
  add(extent, std::move(names),
      [list, size = extent_axis(extent).extent](Problem& problem, int level, Draws* draws) {
        const auto& sizes = item(list, level).sizes;
        problem.shape.*size = draws != nullptr ? draws->of(sizes) : sizes.front();
      });
}

/// Whether the value does not exist in this direction, whatever the dtype and the layout, ragged or
/// not.
bool ProblemSpace::never(const std::string& option, const std::string& value) const {
  if (!op_.refuse) return false;
  Problem problem = plain_;
  problem.options[option] = value;
  for (const DType dtype : sweep_.dtypes)
    for (const Layout layout : sweep_.layouts)
      for (const std::int64_t sequences : {std::int64_t{0}, least_sequences()}) {
        if (sequences > 0 && !has("sequences")) continue;
        problem.dtype = dtype;
        problem.layout = layout;
        problem.shape.sequences = sequences;
        // Some options of ragged batches are of keys that have sequences of their own.
        problem.shape.key_seq = sequences > 0 && has("key_seq") && option != "packed" ? 1 : 0;
        if (!op_.refuse(problem)) return false;
      }
  return true;
}

void ProblemSpace::add_options(bool compiled) {
  for (const OptionAxis& axis : op_.options) {
    const auto asked = sweep_.options.find(axis.name);
    if (axis.compiled != compiled || asked == sweep_.options.end()) continue;
    std::vector<std::string> values = asked->second;
    const std::string& usual = axis.values.front();
    std::erase_if(values, [&](const std::string& value) {
      return value != usual && never(axis.name, value);
    });
    if (values.empty()) values = {usual};
    add(axis.name, values, [values, name = axis.name, usual](Problem& problem, int level, Draws*) {
      if (item(values, level) != usual) problem.options[name] = item(values, level);
    });
  }
}

void ProblemSpace::add_states() {
  std::vector<Layout> layouts = sweep_.layouts;
  std::erase_if(layouts, [&](Layout layout) {
    Problem problem = plain_;
    problem.layout = layout;
    return op_.refuse && op_.refuse(problem);
  });
  add("layout", names_of(layouts),
      [layouts](Problem& problem, int level, Draws*) { problem.layout = item(layouts, level); });
  std::vector<std::string> scales;
  for (const auto& scale : sweep_.scales) scales.push_back(text_of_scale(scale));
  add("scale", scales,
      [this](Problem& problem, int level, Draws*) { problem.scale = item(sweep_.scales, level); });
  std::vector<std::string> gates = sweep_.gates;
  // Where the layer forgets nothing, the gradients of its gate's weights are those of a state that
  // all tokens before have written to, times a slope that is near zero: the plain computation, too,
  // has up to 16 % more than the cap.
  if (has("model_dim") && has_gradients(sweep_.direction) && gates.size() > 1)
    std::erase(gates, "none");
  add("regime", gates,
      [gates](Problem& problem, int level, Draws*) { problem.gate = item(gates, level); });
  if (!has_states_) return;
  const auto add_state = [&](const char* name, const std::vector<bool>& asked,
                             bool Problem::*flag) {
    const std::vector<bool> flags = true_first(asked);
    add(name, texts_of_flags(flags), [flags, flag](Problem& problem, int level, Draws*) {
      problem.*flag = flags[static_cast<std::size_t>(level)];
    });
  };
  add_state("initial_state", sweep_.initial_state, &Problem::initial_state);
  add_state("final_state", sweep_.final_state, &Problem::final_state);
}

std::optional<Problem> ProblemSpace::kernel(const Levels& levels, Draws* draws) const {
  Problem problem;
  for (int i = 0; i < kernel_attempts; ++i) {
    problem = plain_;
    for (int factor = 0; factor < compiled_; ++factor)
      item(apply_, factor)(problem, item(levels, factor), draws);
    if (draws == nullptr || dims_suit(problem)) break;
  }
  if (op_.refuse && op_.refuse(problem)) return std::nullopt;
  return problem;
}

// Called millions of times for a config with drawn sweeps, mostly for problems that do not exist.
// What costs least and refuses most comes first.
std::optional<Problem> ProblemSpace::with(const Problem& kernel, const Levels& levels,
                                          Draws* draws) const {
  Problem problem = kernel;
  const auto apply = [&](int first, int last) {
    for (int factor = first; factor < last; ++factor)
      item(apply_, factor)(problem, item(levels, factor), draws);
  };
  apply(compiled_, options_);
  if (!set_lengths(problem, levels, draws) || problem.shape.sequences < 0) return std::nullopt;
  apply(options_, static_cast<int>(factors_.size()));
  if (!set_rows(problem) || (op_.refuse && op_.refuse(problem))) return std::nullopt;
  if (!is_well_posed(problem)) return std::nullopt;
  return problem;
}

ProblemSpace::Fit ProblemSpace::fit(const Problem& kernel, const Levels& levels) const {
  const auto least = with(kernel, levels, nullptr);
  if (!least) return Fit::no_such_problem;
  return is_too_much(*least) ? Fit::too_much_work : Fit::fits;
}

Problem ProblemSpace::problem(const Problem& kernel, const Levels& levels, Draws& draws) const {
  std::optional<Problem> drawn;
  for (int i = 0; i < size_attempts && !drawn; ++i) {
    drawn = with(kernel, levels, &draws);
    if (drawn && is_too_much(*drawn)) drawn.reset();
  }
  if (!drawn) drawn = with(kernel, levels, nullptr);
  const Problem with_usual_seed = *drawn;
  // The seed draws the lengths of ragged sequences, and with them how much work attention has.
  for (int i = 0; i < size_attempts; ++i) {
    drawn->seed = static_cast<std::uint64_t>(draws.between(1, 1'000'000'000));
    if (!is_too_much(*drawn)) return std::move(*drawn);
  }
  if (has("key_seq") && drawn->shape.sequences > 0) return with_usual_seed;
  return std::move(*drawn);
}

void ProblemSpace::set_chances() {
  for (int factor = 0; factor < static_cast<int>(factors_.size()); ++factor) {
    const Factor& of = item(factors_, factor);
    std::vector<int> chances(of.levels.size(), 1);
    if (of.name == "dtype")
      for (std::size_t level = 0; level < chances.size(); ++level)
        if (of.levels[level] == name(DType::bfloat16)) chances[level] = 2;
    if (factor == lengths_)
      for (std::size_t level = 0; level < chances.size(); ++level)
        chances[level] = allowed_lengths_[level].chances;
    if (sweep_.options.contains(of.name)) chances.front() += static_cast<int>(chances.size());
    chances_.push_back(std::move(chances));
  }
}

Levels ProblemSpace::draw_levels(int first, int last, Draws& draws) const {
  Levels levels;
  for (int factor = first; factor < last; ++factor) {
    const std::vector<int>& chances = item(chances_, factor);
    std::int64_t ticket = draws.between(1, std::accumulate(chances.begin(), chances.end(), 0));
    int level = 0;
    while (ticket > item(chances, level)) ticket -= item(chances, level++);
    levels.push_back(level);
  }
  return levels;
}

}  // namespace gla_bench
