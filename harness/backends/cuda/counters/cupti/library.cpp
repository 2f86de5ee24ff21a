#include "harness/backends/cuda/counters/cupti/library.hpp"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <nvrtc.h>

#include <filesystem>

namespace gla_bench::cuda::cupti {
namespace {

/// libcupti.so.13: the interface of one major version.
std::string file_name() {
  return "libcupti.so." + std::to_string(CUDART_VERSION / 1000);
}

/// From 13.0 on the version is 10000 times CUDA's major one and more, before it was a small number.
constexpr std::uint32_t generation(std::uint32_t version) {
  return version / 10000;
}

void* open_in(const std::string& folder) {
  const std::string path = folder + "/" + file_name();
  if (!std::filesystem::exists(path)) return nullptr;
  // It looks for this one by name, and need not find it where it lies itself.
  dlopen((folder + "/libnvperf_host.so").c_str(), RTLD_NOW);
  return dlopen(path.c_str(), RTLD_NOW);
}

}  // namespace

CounterSource source_of(CUptiResult result) {
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return CounterSource::denied;
    case CUPTI_ERROR_NOT_SUPPORTED:
    case CUPTI_ERROR_API_NOT_IMPLEMENTED:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED:
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_INVALID_CHIP_NAME:
      return CounterSource::unsupported;
    default:
      return CounterSource::failed;
  }
}

std::vector<std::string> library_folders() {
  std::vector<std::string> folders;
  Dl_info nvrtc{};
  if (dladdr(reinterpret_cast<const void*>(&::nvrtcVersion), &nvrtc) != 0 &&
      nvrtc.dli_fname != nullptr)
    folders.push_back(std::filesystem::path(nvrtc.dli_fname).parent_path().string());
  const std::string built_with =
      std::filesystem::path(GLA_BENCH_CUDA_INCLUDE_DIR).parent_path().string();
  const std::string version = std::to_string(CUDART_VERSION / 1000);
  for (const std::string& toolkit : {built_with, std::string("/usr/local/cuda"),
                                     "/usr/local/cuda-" + version, std::string("/opt/cuda")})
    for (const char* below : {"/extras/CUPTI/lib64", "/lib64", "/lib"})
      folders.push_back(toolkit + below);
  return folders;
}

Library::Library() {
  handle_ = dlopen(file_name().c_str(), RTLD_NOW);
  const std::vector<std::string> folders = library_folders();
  for (auto folder = folders.begin(); handle_ == nullptr && folder != folders.end(); ++folder)
    handle_ = open_in(*folder);
  if (handle_ == nullptr)
    throw Fault(CounterSource::absent,
                file_name() + " is neither on the loader's path nor in " + "the toolkit's folders");
  load();
  std::uint32_t version = 0;
  check(functions_.get_version(&version), "cuptiGetVersion");
  if (generation(version) != generation(CUPTI_API_VERSION))
    throw Fault(CounterSource::unsupported,
                file_name() + " has version " + std::to_string(version) + " of the interface, " +
                    "built with was " + std::to_string(CUPTI_API_VERSION));
}

void Library::load() {
  const auto find = [&](auto& function, const char* name) {
    void* address = dlsym(handle_, name);
    if (address == nullptr)
      throw Fault(CounterSource::unsupported, file_name() + " has no function " + name);
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  Functions& f = functions_;
  find(f.get_version, "cuptiGetVersion");
  find(f.get_result_string, "cuptiGetResultString");
  find(f.initialize, "cuptiProfilerInitialize");
  find(f.device_supported, "cuptiProfilerDeviceSupported");
  find(f.chip_name, "cuptiDeviceGetChipName");
  find(f.availability, "cuptiProfilerGetCounterAvailability");
  find(f.host_initialize, "cuptiProfilerHostInitialize");
  find(f.host_deinitialize, "cuptiProfilerHostDeinitialize");
  find(f.add_metrics, "cuptiProfilerHostConfigAddMetrics");
  find(f.config_image_size, "cuptiProfilerHostGetConfigImageSize");
  find(f.config_image, "cuptiProfilerHostGetConfigImage");
  find(f.number_of_passes, "cuptiProfilerHostGetNumOfPasses");
  find(f.evaluate, "cuptiProfilerHostEvaluateToGpuValues");
  find(f.enable, "cuptiRangeProfilerEnable");
  find(f.disable, "cuptiRangeProfilerDisable");
  find(f.set_config, "cuptiRangeProfilerSetConfig");
  find(f.start, "cuptiRangeProfilerStart");
  find(f.stop, "cuptiRangeProfilerStop");
  find(f.push_range, "cuptiRangeProfilerPushRange");
  find(f.pop_range, "cuptiRangeProfilerPopRange");
  find(f.decode, "cuptiRangeProfilerDecodeData");
  find(f.counter_data_size, "cuptiRangeProfilerGetCounterDataSize");
  find(f.initialize_image, "cuptiRangeProfilerCounterDataImageInitialize");
  find(f.counter_data_info, "cuptiRangeProfilerGetCounterDataInfo");
  find(f.range_info, "cuptiRangeProfilerCounterDataGetRangeInfo");
}

void Library::check(CUptiResult result, const char* call) const {
  if (result == CUPTI_SUCCESS) return;
  const char* name = nullptr;
  if (functions_.get_result_string == nullptr ||
      functions_.get_result_string(result, &name) != CUPTI_SUCCESS || name == nullptr)
    name = "unknown result";
  std::string text = std::string(call) + ": " + name + " (" + std::to_string(result) + ")";
  if (source_of(result) == CounterSource::denied)
    text += ": the driver lets only administrators read the counters";
  throw Fault(source_of(result), text);
}

}  // namespace gla_bench::cuda::cupti
