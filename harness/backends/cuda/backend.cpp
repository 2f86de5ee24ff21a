// The CUDA backend: connects compiler, device and timer to the interface of
// harness/backends/backend.hpp.

#include "harness/backends/backend.hpp"

#include <cuda_profiler_api.h>

#include <cstdio>

#include "core/error.hpp"
#include "harness/backends/cuda/counters/counters.hpp"
#include "harness/backends/cuda/device/ceilings.hpp"
#include "harness/backends/cuda/device/check.hpp"
#include "harness/backends/cuda/device/load.hpp"
#include "harness/backends/cuda/device/nvml.hpp"
#include "harness/backends/cuda/reference/reference_runner.hpp"
#include "harness/backends/cuda/run/call.hpp"
#include "harness/backends/cuda/run/plan.hpp"
#include "harness/backends/cuda/toolkit/cublas_library.hpp"
#include "harness/backends/cuda/toolkit/nvrtc_library.hpp"
#include "harness/backends/devices.hpp"
#include "harness/backends/inner_references.hpp"
#include "harness/backends/sources/architecture.hpp"
#include "harness/backends/sources/prologue.hpp"

namespace gla_bench {
namespace cuda {
namespace {

// The architecture to compile for where there is no device and none is requested.
constexpr int default_arch = 90;

// Device memory that problems may not use. It is for the context, cuBLAS and the buffer that
// empties the cache.
constexpr std::size_t reserved_bytes = std::size_t{1} << 30;

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

constexpr const char* missing = "not found";

std::string found_nvrtc() {
  return library_of<NvrtcFunctions>().is_open() ? nvrtc_version() : missing;
}

std::string found_cublas() {
  if (!library_of<CublasFunctions>().is_open()) return missing;
  int major = 0, minor = 0;
  check(cublas().property(MAJOR_VERSION, &major), "cublasGetProperty");
  check(cublas().property(MINOR_VERSION, &minor), "cublasGetProperty");
  return std::to_string(major) + "." + std::to_string(minor);
}

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char byte[4];
    std::snprintf(byte, sizeof byte, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += byte;
  }
  return text;
}

std::string pci_address(const cudaDeviceProp& p) {
  char text[32];
  std::snprintf(text, sizeof text, "%08x:%02x:%02x.0", static_cast<unsigned>(p.pciDomainID),
                static_cast<unsigned>(p.pciBusID), static_cast<unsigned>(p.pciDeviceID));
  return text;
}

std::function<void(const std::string&)> warn_of(const CudaOptions& options) {
  if (options.warn) return options.warn;
  return [](const std::string& text) { std::fprintf(stderr, "warning: %s\n", text.c_str()); };
}

/// What units have in common whose inline assembly is the same but for its numbers.
std::string kind_of(const Candidate& candidate, const Unit& unit) {
  return candidate.variant->name + " " + unit.source + " " +
         std::string(name(candidate.variant->direction)) + " " +
         std::string(name(candidate.problem.dtype));
}

class CudaBackend : public Backend {
 public:
  explicit CudaBackend(const CudaOptions& options)
      : options_(options),
        probe_(probe_device(options.device)),
        compiler_(options, warn_of(options)),
        call_device_(std::make_shared<CallDevice>(options.device)) {
    arch_ = options.arch != 0 ? options.arch : probe_.properties ? probe_.arch() : default_arch;
    if (probe_.properties) nvml_ = std::make_unique<Nvml>(pci_address(*probe_.properties));
  }

  BackendId id() const override { return BackendId::cuda; }
  bool can_run() const override { return probe_.properties && probe_.arch() == arch_; }
  Limits limits() const override;
  Environment environment() const override;

  std::optional<double> clock_mhz() override {
    return nvml_ ? nvml_->sm_clock_mhz() : std::nullopt;
  }

  std::vector<std::string> clock_reasons() override {
    return nvml_ ? nvml_->clock_reasons() : std::vector<std::string>{};
  }

  std::optional<double> energy_joules() override {
    return nvml_ ? nvml_->energy_joules() : std::nullopt;
  }

  CounterCheck check_counters(std::span<const std::string> metrics) const override {
    return cuda::check_counters(metrics, arch_);
  }

  std::unique_ptr<Workset> stage(const Operator& op, const Problem& problem,
                                 const HostTensors& inputs) override {
    try {
      return std::make_unique<CudaWorkset>(device(), op, problem, inputs);
    } catch (const DeviceLost&) {
      throw;
    } catch (const RunError& error) {
      throw RunError(describe(problem) + ": " + error.what());
    }
  }

  std::unique_ptr<Plan> build(const Candidate& candidate) override;
  std::unique_ptr<DirectCall> call(const Candidate& candidate) override;
  void build_ahead(std::span<const Candidate> candidates) override;
  bool is_ready(const Candidate& candidate) override;

  std::optional<ReferenceTensors> reference(const Operator& op, const Problem& problem,
                                            const HostTensors& inputs) override {
    if (!can_run()) return std::nullopt;
    if (!has_device_reference(op, problem, std::nullopt))
      return reference_around(*this, op, problem, inputs);
    return ReferenceRunner(device(), compiler_).reference(op, problem, inputs);
  }

  std::optional<HostTensors> baseline(const Operator& op, const Problem& problem,
                                      const HostTensors& inputs, Arithmetic arithmetic) override {
    if (!can_run()) return std::nullopt;
    if (!has_device_reference(op, problem, arithmetic))
      return baseline_around(*this, op, problem, inputs, arithmetic);
    return ReferenceRunner(device(), compiler_).baseline(op, problem, inputs, arithmetic);
  }

  void profiled(const std::function<void()>& work) override {
    check(cudaProfilerStart(), "cudaProfilerStart");
    work();
    check(cudaProfilerStop(), "cudaProfilerStop");
  }

  void beside_load(const std::function<void()>& work) override {
    Load load(device());
    work();
    load.stop();
  }

  std::optional<Ceilings> measure_ceilings() override {
    if (!can_run()) return std::nullopt;
    return cuda::measure_ceilings(device());
  }

 private:
  // Opened at the first use, because planning and compiling do not need it.
  Device& device() {
    if (!can_run()) throw RunError("no CUDA device to run on: " + why_not());
    // Reports a missing NVRTC before any work, instead of as a failure of each candidate.
    nvrtc();
    cublas();
    if (!device_)
      device_ = std::make_unique<Device>(options_.device, *probe_.properties, compiler_);
    return *device_;
  }

  std::string why_not() const {
    if (!probe_.properties) return probe_.reason;
    return "the device is " + architecture_name(probe_.arch()) + ", asked for was " +
           architecture_name(arch_);
  }

  // What `use` makes of a candidate's recipe and its binaries, which fit the device's limits.
  template <class Use>
  auto built(const Candidate& candidate, Use use);

  CudaOptions options_;
  DeviceProbe probe_;
  int arch_ = 0;
  Compiler compiler_;
  std::unique_ptr<Nvml> nvml_;
  std::unique_ptr<Device> device_;
  std::shared_ptr<CallDevice> call_device_;
};

Limits CudaBackend::limits() const {
  Limits limits = limits_of(arch_);
  if (!can_run()) return limits;
  const cudaDeviceProp& p = *probe_.properties;
  limits.shared_per_block = p.sharedMemPerBlockOptin;
  limits.memory_bytes = p.totalGlobalMem > reserved_bytes ? p.totalGlobalMem - reserved_bytes : 0;
  limits.multiprocessors = p.multiProcessorCount;
  return limits;
}

Environment CudaBackend::environment() const {
  Environment list{{"toolkit", version_text(CUDART_VERSION)},
                   {"nvrtc", found_nvrtc()},
                   {"cublas", found_cublas()},
                   {"architecture", architecture_name(arch_)}};
  int version = 0;
  if (cudaRuntimeGetVersion(&version) == cudaSuccess) list["runtime"] = version_text(version);
  if (!probe_.properties) {
    list["device"] = "none (" + probe_.reason + ")";
    return list;
  }
  const cudaDeviceProp& p = *probe_.properties;
  list["device"] = p.name;
  list["uuid"] = uuid_text(p.uuid);
  list["compute_capability"] = std::to_string(p.major) + "." + std::to_string(p.minor);
  list["multiprocessors"] = std::to_string(p.multiProcessorCount);
  list["l2_bytes"] = std::to_string(p.l2CacheSize);
  list["memory_bytes"] = std::to_string(p.totalGlobalMem);
  if (cudaDriverGetVersion(&version) == cudaSuccess) list["driver_cuda"] = version_text(version);
  if (const auto driver = nvml_->driver_version()) list["driver"] = *driver;
  list.merge(nvml_->settings());
  return list;
}

template <class Use>
auto CudaBackend::built(const Candidate& candidate, Use use) {
  nvrtc();  // throws where it is missing
  Recipe recipe = recipe_of(candidate);
  try {
    std::vector<CodePtr> codes;
    for (const Unit& unit : units_of(candidate.problem.dtype, recipe))
      codes.push_back(
          compiler_.get(unit.text, unit.source, arch_, unit.texts, kind_of(candidate, unit)));
    BuildInfo info = check_recipe(recipe, codes, limits());
    return use(std::move(recipe), std::move(codes), std::move(info));
  } catch (const BuildError& error) {
    throw BuildError(describe(candidate) + ": " + error.what());
  }
}

std::unique_ptr<Plan> CudaBackend::build(const Candidate& candidate) {
  return built(candidate, [&](Recipe recipe, std::vector<CodePtr> codes, BuildInfo info) {
    Device* on = can_run() ? &device() : nullptr;
    return std::make_unique<CudaPlan>(candidate, std::move(recipe), std::move(codes),
                                      std::move(info), on);
  });
}

std::unique_ptr<DirectCall> CudaBackend::call(const Candidate& candidate) {
  if (!can_run()) throw RunError("no CUDA device to run on: " + why_not());
  return built(candidate, [&](Recipe recipe, std::vector<CodePtr> codes, BuildInfo info) {
    return std::make_unique<CudaCall>(candidate, std::move(recipe), codes, std::move(info),
                                      call_device_);
  });
}

bool CudaBackend::is_ready(const Candidate& candidate) {
  if (candidate.variant->backend != BackendId::cuda) return true;
  const Recipe recipe = recipe_of(candidate);
  for (const Unit& unit : units_of(candidate.problem.dtype, recipe))
    if (compiler_.is_pending(unit.text, arch_)) return false;
  return true;
}

void CudaBackend::build_ahead(std::span<const Candidate> candidates) {
  nvrtc();  // throws where it is missing
  for (const Candidate& candidate : candidates) {
    if (candidate.variant->backend != BackendId::cuda) continue;
    const Recipe recipe = recipe_of(candidate);
    for (const Unit& unit : units_of(candidate.problem.dtype, recipe))
      compiler_.start(unit.text, unit.source, arch_, unit.texts, kind_of(candidate, unit));
  }
}

}  // namespace
}  // namespace cuda

std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& options) {
  return std::make_unique<cuda::CudaBackend>(options);
}

std::string cuda_build_description() {
  return "CUDA " + cuda::version_text(CUDART_VERSION) + " (NVRTC " + cuda::found_nvrtc() +
         ", cuBLAS " + cuda::found_cublas() + ")";
}

std::map<std::string, std::string> cuda_libraries() {
  const auto place = [](const SharedLibrary& library) {
    return library.is_open() ? library.path() : "not found: " + library.reason();
  };
  return {{"NVRTC", place(cuda::library_of<cuda::NvrtcFunctions>())},
          {"cuBLAS", place(cuda::library_of<cuda::CublasFunctions>())}};
}

std::optional<std::string> cuda_compiler_description() {
  constexpr int any_architecture = 90;
  std::string text = "NVRTC " + cuda::nvrtc_version();
  for (const std::string& option : cuda::nvrtc_options(any_architecture))
    if (!option.starts_with("--gpu-architecture")) text += " " + option;
  return text;
}

}  // namespace gla_bench
