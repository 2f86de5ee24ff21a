#include "harness/backends/cuda/counters/cupti/metrics.hpp"

namespace gla_bench::cuda::cupti {

std::vector<const char*> pointers_to(std::span<const std::string> names) {
  std::vector<const char*> pointers;
  for (const std::string& name : names) pointers.push_back(name.c_str());
  return pointers;
}

namespace {

CUptiResult add_to(const Library& library, CUpti_Profiler_Host_Object* host,
                   std::span<const std::string> names) {
  std::vector<const char*> pointers = pointers_to(names);
  CUpti_Profiler_Host_ConfigAddMetrics_Params add{};
  add.structSize = CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE;
  add.pHostObject = host;
  add.ppMetricNames = pointers.data();
  add.numMetrics = pointers.size();
  return library->add_metrics(&add);
}

}  // namespace

void Metrics::Close::operator()(CUpti_Profiler_Host_Object* host) const {
  CUpti_Profiler_Host_Deinitialize_Params end{};
  end.structSize = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE;
  end.pHostObject = host;
  (*library)->host_deinitialize(&end);
}

Metrics::Metrics(const Library& library, std::string chip,
                 std::span<const std::uint8_t> availability, std::span<const std::string> names)
    : library_(library),
      chip_(std::move(chip)),
      availability_(availability.begin(), availability.end()),
      host_(open()) {
  for (const std::string& name : names) (is_known(name) ? names_ : unknown_).push_back(name);
  if (names_.empty()) return;
  library_.check(add_to(library_, host_.get(), names_), "cuptiProfilerHostConfigAddMetrics");
  make_config_image();
}

Metrics::Host Metrics::open() const {
  CUpti_Profiler_Host_Initialize_Params start{};
  start.structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE;
  start.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  start.pChipName = chip_.c_str();
  start.pCounterAvailabilityImage = availability_.empty() ? nullptr : availability_.data();
  library_.check(library_->host_initialize(&start), "cuptiProfilerHostInitialize");
  return Host(start.pHostObject, Close{&library_});
}

// CUPTI refuses a whole list that contains one bad name, without saying which. An object that has
// refused a name accepts no others. Metrics added one by one take one pass each. So each name is
// tried on its own first.
bool Metrics::is_known(const std::string& name) const {
  const Host trial = open();
  const CUptiResult result = add_to(library_, trial.get(), std::span(&name, 1));
  if (result == CUPTI_ERROR_OUT_OF_MEMORY || result == CUPTI_ERROR_NOT_INITIALIZED)
    library_.check(result, "cuptiProfilerHostConfigAddMetrics");
  return result == CUPTI_SUCCESS;
}

void Metrics::make_config_image() {
  if (names_.empty()) return;
  CUpti_Profiler_Host_GetConfigImageSize_Params size{};
  size.structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE;
  size.pHostObject = host_.get();
  library_.check(library_->config_image_size(&size), "cuptiProfilerHostGetConfigImageSize");
  config_image_.resize(size.configImageSize);
  CUpti_Profiler_Host_GetConfigImage_Params image{};
  image.structSize = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE;
  image.pHostObject = host_.get();
  image.configImageSize = config_image_.size();
  image.pConfigImage = config_image_.data();
  library_.check(library_->config_image(&image), "cuptiProfilerHostGetConfigImage");
  CUpti_Profiler_Host_GetNumOfPasses_Params passes{};
  passes.structSize = CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE;
  passes.configImageSize = config_image_.size();
  passes.pConfigImage = config_image_.data();
  library_.check(library_->number_of_passes(&passes), "cuptiProfilerHostGetNumOfPasses");
  passes_ = static_cast<int>(passes.numOfPasses);
}

Counts Metrics::evaluate(std::span<const std::uint8_t> counter_data, std::size_t range) const {
  std::vector<const char*> pointers = pointers_to(names_);
  std::vector<double> values(names_.size());
  CUpti_Profiler_Host_EvaluateToGpuValues_Params evaluate{};
  evaluate.structSize = CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE;
  evaluate.pHostObject = host_.get();
  evaluate.pCounterDataImage = counter_data.data();
  evaluate.counterDataImageSize = counter_data.size();
  evaluate.rangeIndex = range;
  evaluate.ppMetricNames = pointers.data();
  evaluate.numMetrics = pointers.size();
  evaluate.pMetricValues = values.data();
  library_.check(library_->evaluate(&evaluate), "cuptiProfilerHostEvaluateToGpuValues");
  Counts counts;
  for (std::size_t i = 0; i < names_.size(); ++i) counts[names_[i]] = values[i];
  return counts;
}

}  // namespace gla_bench::cuda::cupti
