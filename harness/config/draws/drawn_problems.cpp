#include "harness/config/draws/drawn_problems.hpp"

#include <algorithm>
#include <optional>

#include "harness/config/draws/draws.hpp"
#include "harness/config/draws/problem_space.hpp"
#include "harness/support/hash.hpp"

namespace gla_bench {
namespace {

constexpr int level_attempts = 200;  // to draw what the operator has
constexpr int most_failures = 20;    // problems for which all of these attempts failed
constexpr int doubt_attempts = 20;   // with other levels beside a pair

/// What kernels of problems are compiled for, as levels and as a problem.
struct Kernel {
  Levels levels;
  Problem problem;
};

std::string purpose(const Sweep& sweep, const char* what, std::size_t number) {
  return sweep.op + " " + std::string(name(sweep.direction)) + " " + what + " " +
         std::to_string(number);
}

DrawnProblems draw_freely(const Sweep& sweep, const ProblemSpace& space) {
  const int compiled = space.compiled(), all = static_cast<int>(space.factors().size());
  DrawnProblems result;
  std::vector<Kernel> kernels;
  for (int i = 0; i < sweep.random->kernels; ++i) {
    Draws draws(sweep.seed, purpose(sweep, "kernel", static_cast<std::size_t>(i)));
    for (int attempt = 0; attempt < level_attempts; ++attempt) {
      const Levels levels = space.draw_levels(0, compiled, draws);
      if (auto kernel = space.kernel(levels, &draws)) {
        kernels.push_back({levels, std::move(*kernel)});
        break;
      }
    }
  }
  // Where nearly nothing exists, a few attempts say so.
  int failures = kernels.empty() ? most_failures : 0;
  for (int i = 0; failures < most_failures && i < sweep.random->problems; ++i) {
    Draws draws(sweep.seed, purpose(sweep, "problem", static_cast<std::size_t>(i)));
    bool found = false;
    for (int attempt = 0; !found && attempt < level_attempts; ++attempt) {
      const Kernel& kernel = kernels[static_cast<std::size_t>(
          draws.between(0, static_cast<std::int64_t>(kernels.size()) - 1))];
      Levels levels = kernel.levels;
      const Levels others = space.draw_levels(compiled, all, draws);
      levels.insert(levels.end(), others.begin(), others.end());
      if (!space.exists(kernel.problem, levels)) continue;
      result.problems.push_back(space.problem(kernel.problem, levels, draws));
      found = true;
    }
    failures += found ? 0 : 1;
  }
  return result;
}

std::string text_of(const std::vector<Factor>& factors, const LevelPair& pair) {
  const auto one = [&](int factor, int level) {
    const Factor& of = factors[static_cast<std::size_t>(factor)];
    return of.name + " " + of.levels[static_cast<std::size_t>(level)];
  };
  return one(pair.factor, pair.level) + ", " + one(pair.other_factor, pair.other_level);
}

/// Problems that hold all pairs of levels, made of kernels that hold all pairs of theirs.
class CoveringDraw {
 public:
  CoveringDraw(const Sweep& sweep, const ProblemSpace& space)
      : sweep_(sweep), space_(space), doubts_(sweep.seed, purpose(sweep, "doubts", 0)) {}

  DrawnProblems run() {
    const PairCover of_kernels = cover_kernels();
    DrawnProblems result;
    if (kernels_.empty()) return result;
    PairCover cover = cover_problems();
    if (sweep_.random->kernels == 0 && add_missing_kernels(cover.refused)) cover = cover_problems();
    for (const Levels& levels : cover.rows) {
      Draws draws(sweep_.seed, purpose(sweep_, "problem", result.problems.size()));
      result.problems.push_back(space_.problem(kernel_of(levels), levels, draws));
    }
    result.pairs = cover.pairs;
    result.covered = cover.covered();
    result.kernels = kernels_.size();
    // Problems miss what no kernel has. Whether it exists is known from the kernels.
    for (const LevelPair& pair : of_kernels.refused)
      result.refused.push_back(text_of(space_.factors(), pair));
    for (const LevelPair& pair : cover.refused)
      result.refused.push_back(text_of(space_.factors(), pair));
    return result;
  }

 private:
  PairCover cover_kernels() {
    CoverTask task;
    task.factors.assign(space_.factors().begin(), space_.factors().begin() + space_.compiled());
    task.exists = [&](const Levels& levels) { return space_.kernel(levels, nullptr).has_value(); };
    task.most_rows = sweep_.random->kernels;
    PairCover cover = cover_pairs(task, Draws(sweep_.seed, purpose(sweep_, "kernels", 0)).word());
    for (const Levels& levels : cover.rows) {
      Draws draws(sweep_.seed, purpose(sweep_, "kernel", kernels_.size()));
      kernels_.push_back({levels, *space_.kernel(levels, &draws)});
    }
    return cover;
  }

  PairCover cover_problems() const {
    CoverTask task;
    task.factors = space_.factors();
    for (const Kernel& kernel : kernels_) task.beginnings.push_back(kernel.levels);
    task.exists = [&](const Levels& levels) { return space_.exists(kernel_of(levels), levels); };
    task.most_rows = sweep_.random->problems;
    return cover_pairs(task, Draws(sweep_.seed, purpose(sweep_, "problems", 0)).word());
  }

  const Problem& kernel_of(const Levels& levels) const {
    return std::find_if(kernels_.begin(), kernels_.end(),
                        [&](const Kernel& kernel) {
                          return std::equal(kernel.levels.begin(), kernel.levels.end(),
                                            levels.begin());
                        })
        ->problem;
  }

  // --- Pairs that the operator has, but not with these kernels: with their dims it is too much
  // work.

  /// Levels with the pair, behind those of the kernel.
  Levels with_pair(const Levels& kernel, const LevelPair& pair) {
    Levels levels = kernel;
    const Levels others =
        space_.draw_levels(space_.compiled(), static_cast<int>(space_.factors().size()), doubts_);
    levels.insert(levels.end(), others.begin(), others.end());
    levels[static_cast<std::size_t>(pair.factor)] = pair.level;
    levels[static_cast<std::size_t>(pair.other_factor)] = pair.other_level;
    return levels;
  }

  /// Whether the pair comes out so for some other levels of a problem.
  bool comes_out(const Kernel& kernel, const LevelPair& pair, ProblemSpace::Fit wanted) {
    for (int i = 0; i < doubt_attempts; ++i)
      if (space_.fit(kernel.problem, with_pair(kernel.levels, pair)) == wanted) return true;
    return false;
  }

  bool suits(const Kernel& kernel, const LevelPair& pair) const {
    const auto has = [&](int factor, int level) {
      return factor >= space_.compiled() ||
             kernel.levels[static_cast<std::size_t>(factor)] == level;
    };
    return has(pair.factor, pair.level) && has(pair.other_factor, pair.other_level);
  }

  bool add_missing_kernels(const std::vector<LevelPair>& refused) {
    const std::size_t before = kernels_.size();
    for (const LevelPair& pair : refused) {
      const auto some_kernel = [&](ProblemSpace::Fit wanted, std::size_t first) {
        return std::any_of(kernels_.begin() + static_cast<std::ptrdiff_t>(first), kernels_.end(),
                           [&](const Kernel& kernel) {
                             return suits(kernel, pair) && comes_out(kernel, pair, wanted);
                           });
      };
      if (!some_kernel(ProblemSpace::Fit::too_much_work, 0)) continue;
      if (some_kernel(ProblemSpace::Fit::fits, before)) continue;
      for (int i = 0; i < level_attempts; ++i)
        if (add_kernel_with(pair)) break;
    }
    return kernels_.size() > before;
  }

  bool add_kernel_with(const LevelPair& pair) {
    Levels levels = space_.draw_levels(0, space_.compiled(), doubts_);
    if (pair.factor < space_.compiled()) levels[static_cast<std::size_t>(pair.factor)] = pair.level;
    const auto known = [&](const Kernel& kernel) { return kernel.levels == levels; };
    if (std::any_of(kernels_.begin(), kernels_.end(), known)) return false;
    auto problem = space_.kernel(levels, &doubts_);
    if (!problem) return false;
    Kernel kernel{std::move(levels), std::move(*problem)};
    if (!comes_out(kernel, pair, ProblemSpace::Fit::fits)) return false;
    kernels_.push_back(std::move(kernel));
    return true;
  }

  const Sweep& sweep_;
  const ProblemSpace& space_;
  Draws doubts_;
  std::vector<Kernel> kernels_;
};

}  // namespace

DrawnProblems draw_problems(const Sweep& sweep, const Operator& op) {
  const ProblemSpace space(sweep, op);
  if (sweep.random->cover == Cover::pairs) return CoveringDraw(sweep, space).run();
  return draw_freely(sweep, space);
}

std::string DrawnProblems::digest() const {
  std::uint64_t hash = hash_bytes("drawn problems");
  for (const Problem& problem : problems)
    hash = hash_bytes(describe(problem) + (problem.final_state ? " final_state;" : ";"), hash);
  return hex(hash);
}

std::string kernel_text(Problem problem) {
  const Shape& shape = problem.shape;
  const bool ragged = shape.sequences > 0;
  const std::int64_t group = shape.heads / std::max<std::int64_t>(1, shape.keys_heads());
  Shape compiled;
  compiled.key_dim = shape.key_dim, compiled.value_dim = shape.value_dim;
  compiled.model_dim = shape.model_dim, compiled.columns = shape.columns;
  problem.shape = compiled;
  problem.layout = Layout::seq_first;
  problem.gate = problem.tensors = {};
  problem.scale.reset();
  problem.initial_state = problem.final_state = false;
  problem.seed = 0;
  if (const Operator* op = find_operator(problem.op))
    for (const OptionAxis& axis : op->options)
      if (!axis.compiled) problem.options.erase(axis.name);
  return describe(problem) + (ragged ? " ragged" : "") + " group=" + std::to_string(group);
}

}  // namespace gla_bench
