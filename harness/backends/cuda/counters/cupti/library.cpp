#include "harness/backends/cuda/counters/cupti/library.hpp"

#include <cuda_runtime_api.h>

#include <filesystem>
#include <vector>

#include "harness/backends/cuda/toolkit/nvrtc_library.hpp"
#include "harness/backends/cuda/toolkit/toolkit.hpp"

namespace gla_bench::cuda::cupti {
namespace {

/// libcupti.so.13: the interface for one major version.
std::string file_name() {
  return "libcupti.so." + std::to_string(CUDART_VERSION / 1000);
}

/// From 13.0 on, the version is 10000 times CUDA's major version and more. Before, it was a small
/// number.
constexpr std::uint32_t generation(std::uint32_t version) {
  return version / 10000;
}

/// Starts with the folder of NVRTC, whose version matches.
std::vector<std::string> library_folders() {
  std::vector<std::string> folders;
  const std::filesystem::path nvrtc = library_of<NvrtcFunctions>().path();
  if (!nvrtc.empty()) folders.push_back(nvrtc.parent_path().string());
  for (const std::string& folder : toolkit_folders({"/extras/CUPTI/lib64", "/lib64", "/lib"}))
    folders.push_back(folder);
  return folders;
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

Library::Library()
    : library_(
          SharedLibrary::open(std::vector{file_name()}, library_folders(), "libnvperf_host.so")) {
  if (!library_.is_open()) throw Fault(CounterSource::absent, library_.reason());
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
    if (!library_.find(function, name))
      throw Fault(CounterSource::unsupported, file_name() + " has no function " + name);
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
