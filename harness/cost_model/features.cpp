#include "harness/cost_model/features.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "core/operator.hpp"
#include "reference/inputs.hpp"

namespace gla_bench::cost_model {
namespace {

constexpr double launch_seconds = 2e-6;
constexpr double shortest_wait = 0.25e-6;    // seconds, of a step for the one before it
constexpr double threads_at_full_rate = 64;  // that a multiprocessor needs at least
constexpr double tokens_of_tiles = 192;      // that are met for one that is in reach
constexpr double reserved_shared = 1024;     // bytes that each block takes besides its own
/// Of float32's products on cores that have no matrix unit, as times of those in bfloat16; of
/// tf32's.
constexpr double float32_products = 12, tf32_products = 2;
constexpr double most_blocks = 32;  // that one multiprocessor holds
/// The share of the memory's rate that one multiprocessor can take, over its even share: an H200's
/// takes 64 bytes a clock from the L2 cache, which is 3.5 times as many at 1,770 MHz.
constexpr double most_share = 3.5;

double log_of(double value) {
  return std::log2(std::max(value, 1e-12));
}

/// A kernel launch as the device sees it.
struct Load {
  std::string entry;
  double blocks = 1, threads = 32, shared = 0;
  double bytes = 0;  ///< of device memory, by the model
  double resident =
      1;  ///< blocks that a multiprocessor holds at a time, as far as is known uncompiled
  double waves = 1;  ///< how often the device is filled

  double loss() const { return std::ceil(waves) / waves; }
};

struct Loads {
  std::vector<Load> kernels;
  double others = 0;  ///< calls whose launches are not known, such as of cuBLAS
  double zeros = 0;

  /// Whether all of the work is in launches of known blocks.
  bool are_known() const { return !kernels.empty() && others == 0; }
};

double threads_of(const Dim3& dim) {
  return static_cast<double>(dim.x) * dim.y * dim.z;
}

Loads loads_of(const Candidate& candidate, const DeviceRates& rates) {
  Loads loads;
  const auto* recipe_of =
      std::get_if<std::function<Recipe(const Problem&, const Tile&)>>(&candidate.variant->code);
  if (recipe_of == nullptr) return loads;
  const Recipe recipe = (*recipe_of)(candidate.problem, candidate.tile);
  std::map<std::string, double> stage_bytes;
  if (candidate.variant->stages)
    for (const StageTraffic& stage : candidate.variant->stages(candidate.problem, candidate.tile))
      stage_bytes[stage.name] = stage.traffic.read_bytes + stage.traffic.write_bytes;
  for (const Step& step : recipe.steps) {
    if (std::holds_alternative<MatrixProduct>(step) || std::holds_alternative<StreamCall>(step))
      ++loads.others;
    if (std::holds_alternative<Zero>(step)) ++loads.zeros;
    const auto* launch = std::get_if<KernelLaunch>(&step);
    if (launch == nullptr) continue;
    Load load;
    load.entry = launch->entry;
    load.blocks = std::max(1.0, threads_of(launch->grid));
    load.threads = std::max(1.0, threads_of(launch->block));
    load.shared = static_cast<double>(launch->shared_bytes);
    const auto stage = stage_bytes.find(launch->stage);
    load.bytes = stage == stage_bytes.end() ? 0 : stage->second;
    load.resident = std::max(
        1.0, std::floor(std::min({rates.shared_per_multiprocessor / (load.shared + reserved_shared),
                                  rates.threads_per_multiprocessor / load.threads, most_blocks})));
    load.waves = load.blocks / (rates.multiprocessors * load.resident);
    loads.kernels.push_back(load);
  }
  return loads;
}

/// The launch that moves most; where that is not known, the one that needs most shared memory, as
/// products of matrices do; of launches alike in both, the one that has most threads.
Load heaviest(const Loads& loads) {
  Load most;
  most.blocks = 0;
  for (const Load& load : loads.kernels)
    if (std::tuple(load.bytes, load.shared, load.blocks * load.threads) >
        std::tuple(most.bytes, most.shared, most.blocks * most.threads))
      most = load;
  most.blocks = std::max(1.0, most.blocks);
  return most;
}

/// How many times longer than on the whole device a launch takes at best: a multiprocessor does no
/// work of another one's blocks.
double idle_factor(const Load& load, const DeviceRates& rates) {
  const double each = load.blocks / rates.multiprocessors;
  return std::ceil(each) / each;
}

/// The least of all launches, for work of which it is not known in which launch it is.
double least_idle_factor(const Loads& loads, const DeviceRates& rates) {
  double least = std::numeric_limits<double>::infinity();
  for (const Load& load : loads.kernels) least = std::min(least, idle_factor(load, rates));
  return least;
}

/// How many steps a block takes one after the other, as axes of these names say: the tokens or
/// columns that it walks over, those of a step.
double steps_of(const Candidate& candidate, double share) {
  const auto axis = [&](const char* name) {
    const auto found = candidate.tile.find(name);
    return found == candidate.tile.end() ? 0.0 : static_cast<double>(found->second);
  };
  const Shape& s = candidate.problem.shape;
  double walk = static_cast<double>(s.columns > 0 ? s.columns : s.keys_seq());
  if (const double split = axis("split"); split > 0) walk = std::min(walk, split);
  if (const double segments = axis("segments"); segments > 0) walk /= segments;
  double step = 64;
  for (const char* name : {"chunk", "block_n", "tokens", "block", "threads"})
    if (const double value = axis(name); value > 0) {
      step = value;
      break;
    }
  return std::max(1.0, std::ceil(share * walk / step));
}

/// Inputs from a file count as of the operator's usual regime.
std::string regime_of(const Problem& problem) {
  return problem.gate == "file" ? default_gate(*find_operator(problem.op)) : problem.gate;
}

/// The share of keys that queries meet, of a variant that leaves keys out by their decays.
double visited_share(const Candidate& candidate) {
  if (!candidate.variant->skips_decayed_keys) return 1;
  const Shape& s = candidate.problem.shape;
  const double seen = static_cast<double>(s.keys_seq()) - static_cast<double>(s.seq) / 2;
  const double met = tokens_until_decayed(regime_of(candidate.problem)) + tokens_of_tiles;
  return std::min(1.0, met / std::max(1.0, seen));
}

/// By how many times a product of the candidate's arithmetic takes longer than one in bfloat16.
double products_of(const Candidate& candidate) {
  const auto terms = candidate.tile.find("terms");
  switch (candidate.variant->arithmetic(candidate.problem, candidate.tile)) {
    case Arithmetic::float32:
      return terms == candidate.tile.end() ? float32_products : tf32_products * terms->second;
    case Arithmetic::tf32:
      return tf32_products;
    default:
      return 1;
  }
}

}  // namespace

Features features_of(const Candidate& candidate, const DeviceRates& rates) {
  const Problem& problem = candidate.problem;
  const Shape& s = problem.shape;
  const Operator* op = find_operator(problem.op);
  const Traffic traffic = candidate.variant->traffic(problem, candidate.tile);
  const double bytes = traffic.read_bytes + traffic.write_bytes;
  const Work work = op->work(problem);
  const Loads loads = loads_of(candidate, rates);
  const double share = visited_share(candidate);
  const double flops = share * candidate.variant->flops(problem, candidate.tile);
  const double launches = static_cast<double>(loads.kernels.size()) + loads.others + loads.zeros;
  const double byte_seconds = bytes / rates.copy_bytes_per_second;
  const double flop_seconds = flops * products_of(candidate) / rates.matrix_flops_per_second;

  Features features;
  const Load main = heaviest(loads);
  // Operations are the main launch's; of bytes it is not known whose they are.
  const double idle = loads.are_known() ? least_idle_factor(loads, rates) : 1;
  const double idle_operations = loads.are_known() ? idle_factor(main, rates) : 1;
  features.bound =
      std::max(byte_seconds * std::max(1.0, idle / most_share), flop_seconds * idle_operations) +
      launch_seconds * std::max(1.0, launches);
  const auto add = [&](std::string name, double value) {
    features.list.push_back({std::move(name), value});
  };
  add("log2 bound", log_of(features.bound));
  add("log2 operations over bytes", log_of(flop_seconds / byte_seconds));
  add("log2 bytes over floor", log_of(bytes / work.floor_bytes));
  add("log2 operations over least", log_of(flops / std::max(1.0, work.flops)));
  add("log2 bytes over cache", log_of(bytes / std::max(1.0, rates.last_level_cache)));
  add("launches", launches);
  double fewest = main.waves, worst_loss = 1;
  for (const Load& load : loads.kernels) {
    fewest = std::min(fewest, load.blocks / rates.multiprocessors);
    worst_loss = std::max(worst_loss, load.loss());
  }
  add("log2 waves", log_of(main.waves));
  add("log2 loss", log_of(main.loss()));
  add("log2 worst loss", log_of(worst_loss));
  add("log2 fewest blocks", log_of(fewest));
  add("log2 blocks per multiprocessor", log_of(main.blocks / rates.multiprocessors));
  add("log2 resident", log_of(main.resident));
  add("log2 threads", log_of(main.threads));
  add("log2 threads per multiprocessor",
      log_of(std::min(main.blocks / rates.multiprocessors, main.resident) * main.threads));
  add("log2 shared", log_of(main.shared + 1));
  add("log2 seconds per block", log_of(byte_seconds * rates.multiprocessors / main.blocks));
  add("log2 operation seconds per block",
      log_of(flop_seconds * rates.multiprocessors / main.blocks));
  add("log2 seconds per thread",
      log_of(byte_seconds * rates.multiprocessors / main.blocks / main.threads));
  add("log2 operation seconds per thread",
      log_of(flop_seconds * rates.multiprocessors / main.blocks / main.threads));
  const double steps = steps_of(candidate, share);
  add("log2 steps", log_of(steps));
  // What takes long in one block, one thread, step by step or wave by wave hides behind the bound
  // until it is longer: then times rise with it.
  const double each_block = rates.multiprocessors / main.blocks;
  const std::array<std::pair<const char*, double>, 5> hidden{
      {{"block", byte_seconds * each_block},
       {"operations of a block", flop_seconds * each_block},
       {"operations of a thread", threads_at_full_rate * flop_seconds * each_block / main.threads},
       {"steps", shortest_wait * steps},
       {"waves", shortest_wait * std::ceil(main.waves)}}};
  for (const auto& [what, seconds] : hidden)
    for (const int times : {1, 4, 16})
      add("log2 bound and " + std::to_string(times) + " " + what,
          log_of(1 + times * seconds / features.bound));
  const double in_use = std::min(main.blocks / rates.multiprocessors, main.resident);
  add("log2 shared in use", log_of(in_use * (main.shared + 1)));
  add("log2 whole waves", log_of(std::ceil(main.waves)));
  add("log2 blocks of a head",
      log_of(main.blocks / std::max(1.0, static_cast<double>(s.batch * s.heads))));
  add("key row in 16 bytes", static_cast<double>(s.key_dim * size_of(problem.dtype) % 16));
  add("value row in 16 bytes", static_cast<double>(s.value_dim * size_of(problem.dtype) % 16));
  add("log2 share of keys", log_of(share));
  // A layer runs kernels of other variants.
  if (!main.entry.empty()) add("runs " + main.entry, 1);
  add("log2 seq", log_of(static_cast<double>(std::max<std::int64_t>(s.seq, 1))));
  add("log2 key_seq", log_of(static_cast<double>(s.keys_seq())));
  add("log2 batch heads", log_of(static_cast<double>(s.batch * s.heads)));
  add("log2 key_dim", log_of(static_cast<double>(s.key_dim)));
  add("log2 value_dim", log_of(static_cast<double>(s.value_dim)));
  add("key_dim in 64", static_cast<double>(s.key_dim % 64));
  add("value_dim in 64", static_cast<double>(s.value_dim % 64));
  add("group", static_cast<double>(s.heads / std::max<std::int64_t>(1, s.keys_heads())));
  add("log2 columns", log_of(static_cast<double>(s.columns + 1)));
  add("log2 model_dim", log_of(static_cast<double>(s.model_dim + 1)));
  add("log2 sequences", log_of(static_cast<double>(s.sequences + 1)));
  add("element bytes", static_cast<double>(size_of(problem.dtype)));
  add("initial_state", problem.initial_state ? 1 : 0);
  add("final_state", problem.final_state ? 1 : 0);
  // A tree asks of one feature at a time: what matters as a ratio has to be one.
  const std::array<std::pair<const char*, double>, 5> extents{
      {{"seq", static_cast<double>(s.seq)},
       {"key_seq", static_cast<double>(s.keys_seq())},
       {"key_dim", static_cast<double>(s.key_dim)},
       {"value_dim", static_cast<double>(s.value_dim)},
       {"columns", static_cast<double>(s.columns)}}};
  for (const TileAxis& axis : candidate.variant->space) {
    const auto found = candidate.tile.find(axis.name);
    const double value = found == candidate.tile.end() ? 0 : static_cast<double>(found->second);
    add("tile " + axis.name, value);
    for (const auto& [extent, size] : extents)
      add("log2 " + std::string(extent) + " over tile " + axis.name,
          value > 0 && size > 0 ? log_of(size / value) : missing_feature);
  }
  double number = 0;
  for (const Operator& one : operators()) {
    if (one.name == problem.op) add("operator", number);
    ++number;
  }
  for (const OptionAxis& axis : op->options) {
    const std::string& value = option(*op, problem, axis.name);
    add("option " + axis.name,
        static_cast<double>(std::find(axis.values.begin(), axis.values.end(), value) -
                            axis.values.begin()));
  }
  // Decays that let a kernel leave tiles out, or make it take more care, change its time.
  add("regime " + regime_of(problem), 1);
  return features;
}

Features choice_features(Features features, const Variant& variant) {
  features.list.push_back({"is " + variant.name + " " + std::string(name(variant.direction)), 1});
  return features;
}

}  // namespace gla_bench::cost_model
