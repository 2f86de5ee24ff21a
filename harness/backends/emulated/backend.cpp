// The backend that emulates a GPU of sm_90a: CUDA candidates run on the host, thread by thread. It
// tells whether a kernel computes the right thing, whatever the order of its threads; its times say
// nothing.

#include "harness/backends/emulated/backend.hpp"

#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "harness/backends/emulated/kernels.hpp"
#include "harness/backends/emulated/product.hpp"
#include "harness/backends/emulated/threads.hpp"
#include "harness/backends/host/machine.hpp"
#include "harness/backends/host/workset.hpp"
#include "harness/backends/host/workspace.hpp"
#include "harness/backends/sources/architecture.hpp"
#include "harness/backends/sources/prologue.hpp"

namespace gla_bench {
namespace emulated {
namespace {

constexpr int architecture = 90;

/// Arguments on the stack, as x86-64 passes whatever does not fit into registers.
struct Stack {
  alignas(16) std::array<std::byte, 8192> bytes;
};

constexpr std::size_t integer_registers = 6, float_registers = 8;

/// One call of a kernel whose type is not known here: every register that passes an argument, and
/// the stack. A structure of parameters of more than 16 bytes is passed on the stack.
struct Call {
  std::array<long, integer_registers> integers{};
  std::array<double, float_registers> floats{};
  Stack stack{};

  void operator()(void* kernel) const {
    using Kernel = void (*)(long, long, long, long, long, long, double, double, double, double,
                            double, double, double, double, Stack);
    const auto& i = integers;
    const auto& f = floats;
    reinterpret_cast<Kernel>(kernel)(i[0], i[1], i[2], i[3], i[4], i[5], f[0], f[1], f[2], f[3],
                                     f[4], f[5], f[6], f[7], stack);
  }
};

constexpr std::size_t most_in_registers = 16;  // bytes of a structure

Call call_with(const ParamBytes& params) {
  Call call;
  if (params.size() <= most_in_registers || params.size() > call.stack.bytes.size())
    throw RunError("the emulator cannot pass parameters of " + std::to_string(params.size()) +
                   " bytes");
  std::copy(params.begin(), params.end(), call.stack.bytes.begin());
  return call;
}

Call call_with(std::span<const Argument> arguments, const Address& address) {
  Call call;
  std::size_t integers = 0, floats = 0, on_stack = 0;
  const auto push = [&](std::uint64_t bits) {
    std::memcpy(call.stack.bytes.data() + sizeof bits * on_stack++, &bits, sizeof bits);
  };
  for (const Argument& argument : arguments) {
    std::uint64_t bits = 0;
    if (const auto* value = std::get_if<float>(&argument)) {
      std::memcpy(&bits, value, sizeof *value);
      if (floats < float_registers)
        std::memcpy(&call.floats[floats++], &bits, sizeof bits);
      else
        push(bits);
      continue;
    }
    if (const auto* buffer = std::get_if<BufferAddress>(&argument))
      bits = reinterpret_cast<std::uint64_t>(address(buffer->name));
    else if (const auto* small = std::get_if<std::int32_t>(&argument))
      bits = static_cast<std::uint64_t>(*small);
    else
      bits = static_cast<std::uint64_t>(std::get<std::int64_t>(argument));
    if (integers < integer_registers)
      call.integers[integers++] = static_cast<long>(bits);
    else
      push(bits);
  }
  return call;
}

Index index(const Dim3& extents) {
  return {extents.x, extents.y, extents.z};
}

class EmulatedPlan final : public Plan {
 public:
  EmulatedPlan(Candidate candidate, Recipe recipe, std::vector<KernelsPtr> kernels)
      : candidate_(std::move(candidate)),
        recipe_(std::move(recipe)),
        kernels_(std::move(kernels)) {}

  BuildInfo info() const override { return {}; }

  void prepare(Workset& workset) override {
    workset_ = &dynamic_cast<HostWorkset&>(workset);
    workspace_.allocate(candidate_);
    const Address places = address();
    params_ = {candidate_.variant->bind(candidate_.problem, candidate_.tile, places)};
    for (const Module& module : recipe_.imports) params_.push_back(module.bind(places));
    for (const TensorMap& map : recipe_.tensor_maps)
      write(map, params_.at(static_cast<std::size_t>(map.module)));
  }

  void poison_workspace() override { workspace_.poison(); }
  std::optional<std::string> damage() override { return workspace_.damage(); }

  void run() override {
    if (workset_ == nullptr) throw RunError(describe(candidate_) + ": run before prepare");
    for (const Step& step : recipe_.steps) std::visit([this](const auto& s) { run(s); }, step);
    ++order_;
    if (candidate_.variant->after_call) candidate_.variant->after_call(params_.front(), nullptr);
  }

  double sample(CacheState, int) override {
    throw RunError("the time of an emulated kernel says nothing: verify it");
  }

  std::size_t launches() const override { return recipe_.steps.size(); }

 private:
  Address address() const { return workspace_.with(*workset_); }

  /// Puts the tensor where the driver would put its map.
  void write(const TensorMap& map, ParamBytes& params) {
    TensorBox box{};
    if (map.offset + sizeof box > params.size() || map.extents.empty() ||
        map.extents.size() > std::size(box.extents) ||
        map.strides.size() + 1 != map.extents.size() || map.box.size() != map.extents.size())
      throw RunError("the tensor map of '" + map.buffer + "' does not fit its parameters or axes");
    box.first = static_cast<unsigned char*>(address()(map.buffer));
    std::copy(map.strides.begin(), map.strides.end(), box.strides);
    for (std::size_t i = 0; i < map.extents.size(); ++i) {
      box.extents[i] = static_cast<int>(map.extents[i]);
      box.box[i] = static_cast<short>(map.box[i]);
    }
    box.axes = static_cast<short>(map.extents.size());
    box.element_bytes = static_cast<short>(size_of(map.dtype));
    box.swizzle_bytes = static_cast<short>(map.swizzle_bytes);
    box.is_bfloat16 = map.dtype == DType::bfloat16;
    std::memcpy(params.data() + map.offset, &box, sizeof box);
  }

  void run(const KernelLaunch& launch) {
    const auto module = static_cast<std::size_t>(launch.module);
    const Kernels& kernels = *kernels_.at(module);
    void* const entry = kernels.entry(launch.entry);
    const Call call = launch.arguments.empty() ? call_with(params_.at(module))
                                               : call_with(launch.arguments, address());
    run_grid({index(launch.grid), index(launch.block), launch.shared_bytes, order_,
              kernels.cluster(launch.entry)},
             kernels.exchange(), [&] { call(entry); });
  }

  void run(const MatrixProduct& product) { multiply(product, address()); }

  void run(const Zero& zero) {
    const auto bytes = workspace_.region(zero.buffer);
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
  }

  void run(const StreamCall&) {
    throw RunError("a function of another language needs a device: it cannot be emulated");
  }

  Candidate candidate_;
  Recipe recipe_;
  std::vector<KernelsPtr> kernels_;
  HostWorkset* workset_ = nullptr;
  HostWorkspace workspace_;
  std::vector<ParamBytes> params_;
  std::uint64_t order_ = 0;  // another one for each call, so that a race gives other bits
};

class EmulatedBackend final : public Backend {
 public:
  explicit EmulatedBackend(const CudaOptions& options)
      : compiler_(options.source_dir, options.compile_threads) {}

  BackendId id() const override { return BackendId::cuda; }
  bool can_run() const override { return true; }

  Limits limits() const override {
    Limits limits = limits_of(architecture);
    limits.memory_bytes = host_memory_bytes();
    return limits;
  }

  Environment environment() const override {
    Environment list = host_environment(1);
    list["device"] = "emulated " + architecture_name(architecture) + " on " + list["device"];
    return list;
  }

  std::optional<double> clock_mhz() override { return std::nullopt; }

  std::unique_ptr<Workset> stage(const Operator& op, const Problem& problem,
                                 const HostTensors& inputs) override {
    return std::make_unique<HostWorkset>(op, problem, inputs);
  }

  std::unique_ptr<Plan> build(const Candidate& candidate) override {
    Recipe recipe = recipe_of(candidate);
    std::vector<KernelsPtr> kernels;
    for (const Unit& unit : units_of(candidate.problem.dtype, recipe)) {
      try {
        kernels.push_back(compiler_.get(unit));
      } catch (const BuildError& error) {
        throw BuildError(describe(candidate) + ": " + error.what());
      }
    }
    return std::make_unique<EmulatedPlan>(candidate, std::move(recipe), std::move(kernels));
  }

  void build_ahead(std::span<const Candidate> candidates) override {
    for (const Candidate& candidate : candidates)
      if (candidate.variant->backend == BackendId::cuda)
        for (const Unit& unit : units_of(candidate)) compiler_.start(unit);
  }

  bool is_ready(const Candidate& candidate) override {
    if (candidate.variant->backend != BackendId::cuda) return true;
    for (const Unit& unit : units_of(candidate))
      if (compiler_.is_pending(unit)) return false;
    return true;
  }

  std::optional<ReferenceTensors> reference(const Operator&, const Problem&,
                                            const HostTensors&) override {
    return std::nullopt;  // the host's is the operator's own
  }
  std::optional<HostTensors> baseline(const Operator&, const Problem&, const HostTensors&,
                                      Arithmetic) override {
    return std::nullopt;
  }

  /// Nothing runs beside it: another order of the threads is what load would change.
  void beside_load(const std::function<void()>& work) override { work(); }

 private:
  Compiler compiler_;
};

}  // namespace
}  // namespace emulated

std::unique_ptr<Backend> make_emulated_backend(const CudaOptions& options) {
  return std::make_unique<emulated::EmulatedBackend>(options);
}

}  // namespace gla_bench
