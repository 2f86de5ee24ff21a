#include "harness/backends/cuda/counters/cupti/session.hpp"

#include <cuda_runtime_api.h>

#include "harness/backends/cuda/device/check.hpp"

namespace gla_bench::cuda::cupti {
namespace {

/// The driver's function, found through the runtime because the program does not link the driver.
CUcontext current_context() {
  using GetCurrent = CUresult (*)(CUcontext*);
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &function, 12000, cudaEnableDefault,
                                         &found),
        "cudaGetDriverEntryPointByVersion(cuCtxGetCurrent)");
  CUcontext context = nullptr;
  if (found != cudaDriverEntryPointSuccess ||
      reinterpret_cast<GetCurrent>(function)(&context) != CUDA_SUCCESS || context == nullptr)
    throw Fault(CounterSource::failed, "no CUDA context to count in");
  return context;
}

}  // namespace

Session::Session(const Library& library, const Metrics& metrics, std::size_t ranges)
    : library_(library), metrics_(metrics), ranges_(ranges), profiler_(nullptr, Disable{&library}) {
  enable();
  configure();
}

void Session::Disable::operator()(CUpti_RangeProfiler_Object* profiler) const {
  CUpti_RangeProfiler_Disable_Params disable{};
  disable.structSize = CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE;
  disable.pRangeProfilerObject = profiler;
  (*library)->disable(&disable);
}

void Session::enable() {
  CUpti_RangeProfiler_Enable_Params enable{};
  enable.structSize = CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE;
  enable.ctx = current_context();
  library_.check(library_->enable(&enable), "cuptiRangeProfilerEnable");
  profiler_.reset(enable.pRangeProfilerObject);
}

void Session::configure() {
  std::vector<const char*> names = pointers_to(metrics_.names());
  CUpti_RangeProfiler_GetCounterDataSize_Params size{};
  size.structSize = CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE;
  size.pRangeProfilerObject = profiler_.get();
  size.pMetricNames = names.data();
  size.numMetrics = names.size();
  size.maxNumOfRanges = ranges_;
  size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(ranges_);
  library_.check(library_->counter_data_size(&size), "cuptiRangeProfilerGetCounterDataSize");
  counter_data_.resize(size.counterDataSize);

  CUpti_RangeProfiler_CounterDataImage_Initialize_Params image{};
  image.structSize = CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE;
  image.pRangeProfilerObject = profiler_.get();
  image.counterDataSize = counter_data_.size();
  image.pCounterData = counter_data_.data();
  library_.check(library_->initialize_image(&image),
                 "cuptiRangeProfilerCounterDataImageInitialize");

  CUpti_RangeProfiler_SetConfig_Params config{};
  config.structSize = CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE;
  config.pRangeProfilerObject = profiler_.get();
  config.configSize = metrics_.config_image().size();
  config.pConfig = metrics_.config_image().data();
  config.counterDataImageSize = counter_data_.size();
  config.pCounterDataImage = counter_data_.data();
  config.range = CUPTI_UserRange;
  config.replayMode = CUPTI_UserReplay;
  config.maxRangesPerPass = ranges_;
  config.numNestingLevels = 1;
  config.minNestingLevel = 1;
  config.passIndex = 0;
  config.targetNestingLevel = 1;
  library_.check(library_->set_config(&config), "cuptiRangeProfilerSetConfig");
}

bool Session::pass(const std::function<void()>& work) {
  CUpti_RangeProfiler_Start_Params start{};
  start.structSize = CUpti_RangeProfiler_Start_Params_STRUCT_SIZE;
  start.pRangeProfilerObject = profiler_.get();
  library_.check(library_->start(&start), "cuptiRangeProfilerStart");
  work();
  CUpti_RangeProfiler_Stop_Params stop{};
  stop.structSize = CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE;
  stop.pRangeProfilerObject = profiler_.get();
  library_.check(library_->stop(&stop), "cuptiRangeProfilerStop");
  return stop.isAllPassSubmitted != 0;
}

void Session::range(const char* name, const std::function<void()>& work) {
  CUpti_RangeProfiler_PushRange_Params push{};
  push.structSize = CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE;
  push.pRangeProfilerObject = profiler_.get();
  push.pRangeName = name;
  library_.check(library_->push_range(&push), "cuptiRangeProfilerPushRange");
  work();
  CUpti_RangeProfiler_PopRange_Params pop{};
  pop.structSize = CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE;
  pop.pRangeProfilerObject = profiler_.get();
  library_.check(library_->pop_range(&pop), "cuptiRangeProfilerPopRange");
}

std::string Session::range_name(std::size_t range) const {
  CUpti_RangeProfiler_CounterData_GetRangeInfo_Params info{};
  info.structSize = CUpti_RangeProfiler_CounterData_GetRangeInfo_Params_STRUCT_SIZE;
  info.pCounterDataImage = counter_data_.data();
  info.counterDataImageSize = counter_data_.size();
  info.rangeIndex = range;
  info.rangeDelimiter = "/";
  library_.check(library_->range_info(&info), "cuptiRangeProfilerCounterDataGetRangeInfo");
  return info.rangeName == nullptr ? "" : info.rangeName;
}

std::map<std::string, Counts> Session::results() {
  CUpti_RangeProfiler_DecodeData_Params decode{};
  decode.structSize = CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE;
  decode.pRangeProfilerObject = profiler_.get();
  library_.check(library_->decode(&decode), "cuptiRangeProfilerDecodeData");
  if (decode.numOfRangeDropped != 0)
    throw Fault(CounterSource::failed,
                "the device dropped " + std::to_string(decode.numOfRangeDropped) + " ranges");
  CUpti_RangeProfiler_GetCounterDataInfo_Params info{};
  info.structSize = CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE;
  info.pCounterDataImage = counter_data_.data();
  info.counterDataImageSize = counter_data_.size();
  library_.check(library_->counter_data_info(&info), "cuptiRangeProfilerGetCounterDataInfo");
  std::map<std::string, Counts> results;
  for (std::size_t range = 0; range < info.numTotalRanges; ++range)
    results[range_name(range)] = metrics_.evaluate(counter_data_, range);
  return results;
}

}  // namespace gla_bench::cuda::cupti
