#pragma once
// CUPTI, loaded at run time. It comes with the toolkit, not with the driver, so a program linked to
// it would not start without a toolkit.

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <cupti_version.h>

#include <stdexcept>
#include <string>

#include "harness/backends/backend.hpp"
#include "harness/support/system/shared_library.hpp"

namespace gla_bench::cuda::cupti {

/// The reason why nothing can be counted.
struct Fault : std::runtime_error {
  Fault(CounterSource why, const std::string& text) : std::runtime_error(text), source(why) {}
  CounterSource source;
};

/// What a result other than success means for the counters.
CounterSource source_of(CUptiResult result);

/// The functions in use, under their own names without the prefix.
struct Functions {
  decltype(&::cuptiGetVersion) get_version = nullptr;
  decltype(&::cuptiGetResultString) get_result_string = nullptr;
  decltype(&::cuptiProfilerInitialize) initialize = nullptr;
  decltype(&::cuptiProfilerDeviceSupported) device_supported = nullptr;
  decltype(&::cuptiDeviceGetChipName) chip_name = nullptr;
  decltype(&::cuptiProfilerGetCounterAvailability) availability = nullptr;
  decltype(&::cuptiProfilerHostInitialize) host_initialize = nullptr;
  decltype(&::cuptiProfilerHostDeinitialize) host_deinitialize = nullptr;
  decltype(&::cuptiProfilerHostConfigAddMetrics) add_metrics = nullptr;
  decltype(&::cuptiProfilerHostGetConfigImageSize) config_image_size = nullptr;
  decltype(&::cuptiProfilerHostGetConfigImage) config_image = nullptr;
  decltype(&::cuptiProfilerHostGetNumOfPasses) number_of_passes = nullptr;
  decltype(&::cuptiProfilerHostEvaluateToGpuValues) evaluate = nullptr;
  decltype(&::cuptiRangeProfilerEnable) enable = nullptr;
  decltype(&::cuptiRangeProfilerDisable) disable = nullptr;
  decltype(&::cuptiRangeProfilerSetConfig) set_config = nullptr;
  decltype(&::cuptiRangeProfilerStart) start = nullptr;
  decltype(&::cuptiRangeProfilerStop) stop = nullptr;
  decltype(&::cuptiRangeProfilerPushRange) push_range = nullptr;
  decltype(&::cuptiRangeProfilerPopRange) pop_range = nullptr;
  decltype(&::cuptiRangeProfilerDecodeData) decode = nullptr;
  decltype(&::cuptiRangeProfilerGetCounterDataSize) counter_data_size = nullptr;
  decltype(&::cuptiRangeProfilerCounterDataImageInitialize) initialize_image = nullptr;
  decltype(&::cuptiRangeProfilerGetCounterDataInfo) counter_data_info = nullptr;
  decltype(&::cuptiRangeProfilerCounterDataGetRangeInfo) range_info = nullptr;
};

class Library {
 public:
  /// @throws Fault: absent, or too old
  Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const Functions* operator->() const { return &functions_; }
  /// @throws Fault naming the call and the result, unless that is success
  void check(CUptiResult result, const char* call) const;

 private:
  void load();

  SharedLibrary library_;
  Functions functions_;
};

}  // namespace gla_bench::cuda::cupti
