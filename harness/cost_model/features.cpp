#include "harness/cost_model/features.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "core/operator.hpp"

namespace gla_bench::cost_model {
namespace {

constexpr double launch_seconds = 2e-6;
constexpr double reserved_shared = 1024;  // bytes that each block takes besides its own
constexpr double most_blocks = 32;        // that one multiprocessor holds
/// The share of the memory's rate that one multiprocessor can take, over its even share: an H200's
/// takes 64 bytes a clock from the L2 cache, which is 3.5 times as many at 1,770 MHz.
constexpr double most_share = 3.5;

double log_of(double value) {
  return std::log2(std::max(value, 1e-12));
}

/// A kernel launch as the device sees it.
struct Load {
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

/// How many times longer than on the whole device arithmetic takes at best: a multiprocessor does
/// no work of another one's blocks. 1 where part of the work is in no launch of known blocks.
double idle_factor(const Loads& loads, const DeviceRates& rates) {
  if (loads.kernels.empty() || loads.others > 0) return 1;
  double least = std::numeric_limits<double>::infinity();
  for (const Load& load : loads.kernels) {
    const double each = load.blocks / rates.multiprocessors;
    least = std::min(least, std::ceil(each) / each);
  }
  return least;
}

/// The launch that moves most, or that has most threads where nothing else is known; of launches
/// alike in both, the one that needs most shared memory.
Load heaviest(const Loads& loads) {
  Load most;
  most.blocks = 0;
  for (const Load& load : loads.kernels)
    if (std::tuple(load.bytes, load.blocks * load.threads, load.shared) >
        std::tuple(most.bytes, most.blocks * most.threads, most.shared))
      most = load;
  most.blocks = std::max(1.0, most.blocks);
  return most;
}

}  // namespace

Features features_of(const Candidate& candidate, const DeviceRates& rates) {
  const Problem& problem = candidate.problem;
  const Shape& s = problem.shape;
  const Operator* op = find_operator(problem.op);
  const Traffic traffic = candidate.variant->traffic(problem, candidate.tile);
  const double bytes = traffic.read_bytes + traffic.write_bytes;
  const double flops = candidate.variant->flops(problem, candidate.tile);
  const Work work = op->work(problem);
  const Loads loads = loads_of(candidate, rates);
  const double launches = static_cast<double>(loads.kernels.size()) + loads.others + loads.zeros;
  const double byte_seconds = bytes / rates.copy_bytes_per_second;
  const double flop_seconds = flops / rates.matrix_flops_per_second;

  Features features;
  const double idle = idle_factor(loads, rates);
  features.bound = std::max(byte_seconds * std::max(1.0, idle / most_share), flop_seconds * idle) +
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
  const Load main = heaviest(loads);
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
  add("regime " + (problem.gate == "file" ? default_gate(*op) : problem.gate), 1);
  return features;
}

Features choice_features(Features features, const Variant& variant) {
  features.list.push_back({"is " + variant.name + " " + std::string(name(variant.direction)), 1});
  return features;
}

}  // namespace gla_bench::cost_model
