#include "harness/config/candidates/manifest_variant.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <utility>

#include "core/catalog.hpp"
#include "core/tile_space.hpp"
#include "harness/config/candidates/functions.hpp"
#include "harness/config/candidates/problem_numbers.hpp"
#include "harness/support/printable.hpp"

namespace gla_bench {
namespace {

using Number = std::int64_t;
using Kind = ManifestArgument::Kind;

constexpr Number most_int = std::numeric_limits<int>::max();
constexpr Number most_threads = 1024;
constexpr Number most_region_bytes = Number{1} << 48;

/// An expression without a value, or one that nothing can be made of: a reason to refuse.
struct Impossible : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The expressions of a manifest for one problem and tile.
class Numbers {
 public:
  Numbers(const Operator& op, const Problem& problem, const Tile& tile,
          const Limits* limits = nullptr)
      : values_(numbers_of(op, problem, tile, limits)) {}

  /// @throws Impossible for no value, and one that is not in [least, most]
  Number of(const Formula& formula, const std::string& what, Number least = 0,
            Number most = std::numeric_limits<Number>::max()) const {
    const std::string who = what + " \"" + printable_ascii(formula.text(), 80) + "\" ";
    Number value = 0;
    try {
      value = formula.value(values_);
    } catch (const ExpressionError& error) {
      throw Impossible(who + "has no value: expected " + error.what());
    }
    if (value < least || value > most)
      throw Impossible(who + "is " + std::to_string(value) + ", not in " + std::to_string(least) +
                       ".." + std::to_string(most));
    return value;
  }

  Traffic of(const ManifestBytes& bytes) const {
    return {static_cast<double>(of(bytes.read, "bytes read")),
            static_cast<double>(of(bytes.write, "bytes written"))};
  }

 private:
  NameValues values_;
};

class ManifestCode {
 public:
  ManifestCode(Manifest manifest, const Operator& op, SourceTexts texts)
      : manifest_(std::move(manifest)), op_(op), texts_(std::move(texts)) {
    Problem plain;
    plain.op = op.name;
    plain.direction = manifest_.direction;
    for (const TensorSpec& spec : op.tensors(plain)) always_.push_back(spec.name);
  }

  const Manifest& manifest() const { return manifest_; }

  std::optional<std::string> reject(const Problem& problem, const Tile& tile,
                                    const Limits& limits) const {
    if (!in_space(tile, manifest_.tile)) return "has no such tile";
    if (auto reason = refuse_kind(problem)) return reason;
    if (auto reason = refuse_tensors(problem)) return reason;
    try {
      const Numbers numbers(op_, problem, tile, &limits);
      for (const ManifestCondition& required : manifest_.conditions)
        if (numbers.of(required.condition, "condition", std::numeric_limits<Number>::min()) == 0)
          return required.message;
      traffic(problem, tile);
      flops(problem, tile);
      if (!manifest_.function.empty()) return std::nullopt;
      workspace(problem, tile);
      stages(problem, tile);
      for (const Step& step : recipe(problem, tile).steps)
        if (const auto* launch = std::get_if<KernelLaunch>(&step))
          if (launch->shared_bytes > limits.shared_per_block)
            return std::to_string(launch->shared_bytes) + " bytes of shared memory, " +
                   std::to_string(limits.shared_per_block) + " are there";
    } catch (const Impossible& why) {
      return why.what();
    }
    return std::nullopt;
  }

  Traffic traffic(const Problem& problem, const Tile& tile) const {
    if (manifest_.bytes) return Numbers(op_, problem, tile).of(*manifest_.bytes);
    double written = 0;
    for (const TensorSpec& spec : op_.tensors(problem))
      if (spec.role == TensorSpec::Role::output) written += static_cast<double>(spec.bytes());
    return {std::max(0.0, op_.work(problem).floor_bytes - written), written};
  }

  double flops(const Problem& problem, const Tile& tile) const {
    if (!manifest_.flops) return op_.work(problem).flops;
    return static_cast<double>(Numbers(op_, problem, tile).of(*manifest_.flops, "flops"));
  }

  std::vector<Region> workspace(const Problem& problem, const Tile& tile) const {
    const Numbers numbers(op_, problem, tile);
    std::vector<Region> regions;
    for (const ManifestRegion& region : manifest_.workspace)
      regions.push_back(
          {region.name, static_cast<std::size_t>(numbers.of(
                            region.bytes, joined("bytes", region.name), 0, most_region_bytes))});
    return regions;
  }

  std::vector<StageTraffic> stages(const Problem& problem, const Tile& tile) const {
    const Numbers numbers(op_, problem, tile);
    std::vector<StageTraffic> list;
    for (const ManifestLaunch& launch : manifest_.launches) {
      auto found = std::find_if(list.begin(), list.end(), [&](const StageTraffic& stage) {
        return stage.name == launch.stage;
      });
      if (found == list.end()) found = list.insert(list.end(), {launch.stage, {}});
      if (!launch.bytes) continue;
      const Traffic moved = numbers.of(*launch.bytes);
      found->traffic.read_bytes += moved.read_bytes;
      found->traffic.write_bytes += moved.write_bytes;
    }
    return list;
  }

  /// The values of a function's arguments, of those that are numbers.
  std::map<std::string, Number> arguments(const Problem& problem, const Tile& tile) const {
    const NameValues values = numbers_of(op_, problem, tile);
    const std::vector<TensorSpec> tensors = possible_tensors(op_, manifest_.direction);
    std::map<std::string, Number> numbers;
    for (const std::string& name : manifest_.arguments) {
      const bool is_tensor = std::any_of(tensors.begin(), tensors.end(),
                                         [&](const auto& spec) { return spec.name == name; });
      if (is_tensor || name == scale_argument) continue;
      if (const auto value = values(name)) numbers[name] = *value;
    }
    return numbers;
  }

  Recipe recipe(const Problem& problem, const Tile& tile) const {
    const Numbers numbers(op_, problem, tile);
    Recipe recipe{manifest_.source, {}, {}};
    recipe.texts = texts_;
    for (const auto& [macro, value] : manifest_.constants)
      recipe.constants.push_back(
          {"", macro,
           static_cast<int>(numbers.of(value, "constant " + macro, -most_int, most_int))});
    for (const ManifestLaunch& launch : manifest_.launches) {
      if (launch.zero.empty())
        recipe.steps.emplace_back(step(launch, problem, numbers));
      else
        recipe.steps.emplace_back(Zero{launch.zero, launch.stage});
    }
    return recipe;
  }

 private:
  static std::string joined(const std::string& what, std::string_view of) {
    return what + " of " + std::string(of);
  }

  std::optional<std::string> refuse_kind(const Problem& problem) const {
    const Manifest& m = manifest_;
    if (!m.dtypes.contains(problem.dtype)) return "takes no " + std::string(name(problem.dtype));
    if (std::find(m.layouts.begin(), m.layouts.end(), problem.layout) == m.layouts.end())
      return "takes no layout " + std::string(name(problem.layout));
    for (const OptionAxis& axis : op_.options) {
      const std::string& chosen = option(op_, problem, axis.name);
      if (chosen != axis.values.front() &&
          std::find(m.options.begin(), m.options.end(), axis.name) == m.options.end())
        return "takes no " + axis.name + "=" + chosen;
    }
    if (problem.scale && !passes(m, scale_argument)) return "takes no scale but the default";
    return std::nullopt;
  }

  std::optional<std::string> refuse_tensors(const Problem& problem) const {
    for (const TensorSpec& spec : op_.tensors(problem)) {
      if (passes(manifest_, spec.name)) continue;
      if (spec.role == TensorSpec::Role::output) {
        if (manifest_.function.empty()) return "does not write " + spec.name;
        continue;  // the function returns it
      }
      if (std::find(always_.begin(), always_.end(), spec.name) == always_.end())
        return "does not read " + spec.name;
    }
    return std::nullopt;
  }

  /// x, y and z, of which those that are not given are 1.
  static Dim3 extents(const std::vector<Formula>& formulas, const Numbers& numbers,
                      const std::string& what, Number most_x, Number most_others) {
    std::vector<unsigned> values;
    for (const Formula& formula : formulas)
      values.push_back(static_cast<unsigned>(
          numbers.of(formula, what, 1, values.empty() ? most_x : most_others)));
    values.resize(3, 1);
    return {values[0], values[1], values[2]};
  }

  Argument argument(const ManifestArgument& given, const Problem& problem, const Numbers& numbers,
                    const std::string& what) const {
    switch (given.kind) {
      case Kind::int32:
        return static_cast<std::int32_t>(numbers.of(given.value, what, -most_int, most_int));
      case Kind::int64:
        return numbers.of(given.value, what, std::numeric_limits<Number>::min());
      case Kind::named:
        break;
    }
    if (given.name == scale_argument) return static_cast<float>(scale_of(op_, problem));
    return BufferAddress{given.name};
  }

  KernelLaunch step(const ManifestLaunch& launch, const Problem& problem,
                    const Numbers& numbers) const {
    KernelLaunch step;
    step.entry = launch.entry;
    step.grid = extents(launch.grid, numbers, joined("grid", launch.entry), most_int, 65535);
    step.block =
        extents(launch.block, numbers, joined("block", launch.entry), most_threads, most_threads);
    const Number threads = Number{step.block.x} * step.block.y * step.block.z;
    if (threads > most_threads)
      throw Impossible(std::to_string(threads) + " threads are more than " +
                       std::to_string(most_threads));
    step.shared_bytes = static_cast<std::size_t>(
        numbers.of(launch.shared_bytes, joined("shared memory", launch.entry), 0, most_int));
    step.stage = launch.stage;
    for (const ManifestArgument& given : launch.arguments)
      step.arguments.push_back(argument(given, problem, numbers, joined("argument", launch.entry)));
    return step;
  }

  Manifest manifest_;
  const Operator& op_;
  SourceTexts texts_;
  std::vector<std::string> always_;  // the tensors of every problem
};

}  // namespace

Variant variant_of(const Manifest& manifest, const Operator& op, const std::string& folder,
                   SourceTexts texts) {
  const auto code = std::make_shared<const ManifestCode>(manifest, op, texts);
  Variant v;
  v.op = op.name;
  v.name = manifest.variant;
  v.summary = manifest.summary;
  v.backend = manifest.backend;
  v.direction = manifest.direction;
  v.space = manifest.tile;
  v.reproducible = manifest.reproducible;
  v.peer = manifest.peer;
  v.texts = std::move(texts);
  v.arithmetic = [code](const Problem& problem, const Tile&) {
    return code->manifest().dtypes.at(problem.dtype);
  };
  v.reject = [code](const Problem& problem, const Tile& tile, const Limits& limits) {
    return code->reject(problem, tile, limits);
  };
  v.traffic = [code](const Problem& problem, const Tile& tile) {
    return code->traffic(problem, tile);
  };
  v.flops = [code](const Problem& problem, const Tile& tile) { return code->flops(problem, tile); };
  v.workspace = [code](const Problem& problem, const Tile& tile) {
    return code->workspace(problem, tile);
  };
  if (!manifest.function.empty()) {
    FunctionCall call;
    call.function = (std::filesystem::path(folder) / manifest.function).string();
    call.framework = manifest.framework;
    call.backend = manifest.backend;
    call.arguments = manifest.arguments;
    for (const TensorSpec& spec : possible_tensors(op, manifest.direction))
      if (spec.role == TensorSpec::Role::output && !passes(manifest, spec.name))
        call.returned.push_back(spec.name);
    call_function(v, op, call, [code](const Problem& problem, const Tile& tile) {
      return code->arguments(problem, tile);
    });
    return v;
  }
  v.bind = [](const Problem&, const Tile&, const Address&) { return ParamBytes{}; };
  v.code = [code](const Problem& problem, const Tile& tile) { return code->recipe(problem, tile); };
  if (!manifest.launches.front().stage.empty())
    v.stages = [code](const Problem& problem, const Tile& tile) {
      return code->stages(problem, tile);
    };
  return v;
}

}  // namespace gla_bench
