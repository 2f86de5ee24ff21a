// Checks of a candidate's launches that need no device.

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "harness/backends/cuda/run/plan.hpp"
#include "harness/backends/sources/architecture.hpp"

namespace gla_bench::cuda {
namespace {

constexpr long long registers_per_block = 65536;
constexpr long long threads_per_block = 1024;

void check_grid(const KernelLaunch& launch) {
  const auto product = [](const Dim3& d) { return static_cast<long long>(d.x) * d.y * d.z; };
  if (product(launch.grid) == 0 || product(launch.block) == 0)
    throw BuildError("launch of '" + launch.entry + "': the grid or the block is empty");
  if (product(launch.block) > threads_per_block)
    throw BuildError("launch of '" + launch.entry + "': a block of " +
                     std::to_string(product(launch.block)) + " threads; 1024 are the most");
  if (launch.grid.x > 0x7fffffffu || launch.grid.y > 65535 || launch.grid.z > 65535)
    throw BuildError("launch of '" + launch.entry + "': a grid of " +
                     std::to_string(launch.grid.x) + " x " + std::to_string(launch.grid.y) + " x " +
                     std::to_string(launch.grid.z) + "; 2^31-1 x 65535 x 65535 is the most");
}

void check_resources(const KernelLaunch& launch, const KernelBuild& kernel, const Limits& limits) {
  const std::string where = "kernel '" + launch.entry + "' on " + architecture_name(limits.arch);
  if (static_cast<std::size_t>(kernel.shared_bytes) > limits.shared_per_block)
    throw BuildError(where + ": " + std::to_string(kernel.shared_bytes) +
                     " bytes of shared memory; a block may have " +
                     std::to_string(limits.shared_per_block));
  // A warp gets its registers in multiples of 256.
  const long long threads =
      static_cast<long long>(launch.block.x) * launch.block.y * launch.block.z;
  const long long registers = (threads + 31) / 32 * ((kernel.registers * 32 + 255) / 256 * 256);
  if (registers > registers_per_block)
    throw BuildError(where + ": " + std::to_string(kernel.registers) + " registers for each of " +
                     std::to_string(threads) +
                     " threads; a block may have 65536 (__launch_bounds__ tells the compiler)");
}

/// The kernels that a source has, for a message: a name without extern "C" is a longer one.
std::string names_of(const std::vector<KernelBuild>& kernels) {
  std::string text;
  for (const KernelBuild& kernel : kernels) text += (text.empty() ? "" : ", ") + kernel.entry;
  return text.empty() ? "none" : text;
}

KernelBuild kernel_of(const KernelLaunch& launch, const Code& code, const Limits& limits) {
  check_grid(launch);
  if (launch.arguments.size() > most_arguments)
    throw BuildError("launch of '" + launch.entry +
                     "': " + std::to_string(launch.arguments.size()) + " arguments; " +
                     std::to_string(most_arguments) + " are the most");
  const auto kernel = std::find_if(code.kernels.begin(), code.kernels.end(),
                                   [&](const KernelBuild& k) { return k.entry == launch.entry; });
  if (kernel == code.kernels.end())
    throw BuildError(
        (launch.module == 0 ? "the source" : "import " + std::to_string(launch.module)) +
        " has no kernel '" + launch.entry + "' (extern \"C\" keeps a kernel's name); it has " +
        names_of(code.kernels));
  KernelBuild result = *kernel;
  result.shared_bytes += static_cast<int>(launch.shared_bytes);
  check_resources(launch, result, limits);
  return result;
}

const Code& code_of(const KernelLaunch& launch, std::span<const CodePtr> codes) {
  if (launch.module < 0 || static_cast<std::size_t>(launch.module) >= codes.size())
    throw BuildError("launch of '" + launch.entry + "': there is no import " +
                     std::to_string(launch.module));
  return *codes[static_cast<std::size_t>(launch.module)];
}

// Lists each kernel once, with its largest shared memory, even if it is launched more than once.
// Two imports may have kernels of the same name.
class Account {
 public:
  void add(const KernelLaunch& launch, const KernelBuild& kernel) {
    info_.registers = std::max(info_.registers, kernel.registers);
    info_.shared_bytes = std::max(info_.shared_bytes, kernel.shared_bytes);
    const auto [place, fresh] =
        places_.try_emplace({launch.module, launch.entry}, info_.kernels.size());
    if (!fresh) {
      int& bytes = info_.kernels[place->second].shared_bytes;
      bytes = std::max(bytes, kernel.shared_bytes);
      return;
    }
    info_.spill_bytes += kernel.spill_bytes;
    info_.kernels.push_back(kernel);
  }

  void add(const Code& code) {
    info_.seconds += code.seconds;
    info_.cached = info_.cached && code.cached;
    info_.assembled = info_.assembled && !code.cubin.empty();
    info_.warnings += code.warnings;
  }

  BuildInfo info() const { return info_; }

 private:
  static BuildInfo nothing_compiled() {
    BuildInfo info;
    info.cached = true;
    return info;
  }

  BuildInfo info_ = nothing_compiled();
  std::map<std::pair<int, std::string>, std::size_t> places_;
};

// If only some steps named stages, the time of the other steps would belong to no stage.
void check_stages(const Recipe& recipe) {
  const auto named = [](const Step& step) { return !stage_of(step).empty(); };
  const auto count = std::count_if(recipe.steps.begin(), recipe.steps.end(), named);
  if (count != 0 && static_cast<std::size_t>(count) != recipe.steps.size())
    throw BuildError("some steps name a stage and others do not");
}

// Only a launch may overlap, and only with a launch before it. It then has no separate time.
void check_overlaps(const Recipe& recipe) {
  for (std::size_t i = 0; i < recipe.steps.size(); ++i) {
    const auto* launch = std::get_if<KernelLaunch>(&recipe.steps[i]);
    if (launch == nullptr || !launch->overlaps) continue;
    if (i == 0 || !std::holds_alternative<KernelLaunch>(recipe.steps[i - 1]))
      throw BuildError("launch of '" + launch->entry + "' overlaps what is no launch");
    if (stage_of(recipe.steps[i - 1]) != launch->stage)
      throw BuildError("launch of '" + launch->entry + "' overlaps another stage");
  }
}

void check_maps(const Recipe& recipe) {
  for (const TensorMap& map : recipe.tensor_maps)
    if (map.module < 0 || static_cast<std::size_t>(map.module) > recipe.imports.size())
      throw BuildError("tensor map of '" + map.buffer + "': there is no import " +
                       std::to_string(map.module));
}

}  // namespace

BuildInfo check_recipe(const Recipe& recipe, std::span<const CodePtr> codes, const Limits& limits) {
  check_stages(recipe);
  check_overlaps(recipe);
  check_maps(recipe);
  Account account;
  for (const CodePtr& code : codes) account.add(*code);
  for (const Step& step : recipe.steps) {
    if (const auto* launch = std::get_if<KernelLaunch>(&step))
      account.add(*launch, kernel_of(*launch, code_of(*launch, codes), limits));
    if (const auto* product = std::get_if<MatrixProduct>(&step)) column_major(*product);
  }
  return account.info();
}

}  // namespace gla_bench::cuda
