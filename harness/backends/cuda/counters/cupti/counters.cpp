// Reads a device's counters through CUPTI (harness/backends/cuda/counters/counters.hpp).

#include "harness/backends/cuda/counters/counters.hpp"

#include <array>
#include <optional>

#include "harness/backends/counters.hpp"
#include "harness/backends/cuda/counters/cupti/session.hpp"
#include "harness/backends/cuda/device/check.hpp"

namespace gla_bench::cuda {
namespace {

using namespace cupti;

// A call may need a few passes. A config that asks for more needs a profiler instead.
constexpr int most_passes = 64;

CounterReading no_reading(const Fault& fault) {
  CounterReading reading;
  reading.source = fault.source;
  reading.reason = fault.what();
  return reading;
}

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

class CuptiReader : public CounterReader {
 public:
  explicit CuptiReader(int device) : device_(device) {}

  CounterReading read(std::span<const std::string> names, const CountedWork& work) override {
    if (refusal_) return *refusal_;
    try {
      open();
    } catch (const Fault& fault) {
      refusal_ = no_reading(fault);  // it will be the same for the next candidate
      return *refusal_;
    }
    try {
      return count(metrics_of(names), work);
    } catch (const Fault& fault) {
      const CounterReading reading = no_reading(fault);
      if (fault.source != CounterSource::failed) refusal_ = reading;
      return reading;
    }
  }

 private:
  void open() {
    if (!chip_.empty()) return;
    int devices = 0;  // CUPTI hangs when asked about a missing device
    if (cudaGetDeviceCount(&devices) != cudaSuccess || device_ >= devices) {
      ignore(cudaGetLastError());
      throw Fault(CounterSource::absent, "there is no CUDA device " + std::to_string(device_));
    }
    if (!library_) library_.emplace();
    CUpti_Profiler_Initialize_Params start{};
    start.structSize = CUpti_Profiler_Initialize_Params_STRUCT_SIZE;
    library_->check((*library_)->initialize(&start), "cuptiProfilerInitialize");
    check_device();
    CUpti_Device_GetChipName_Params name{};
    name.structSize = CUpti_Device_GetChipName_Params_STRUCT_SIZE;
    name.deviceIndex = static_cast<std::size_t>(device_);
    library_->check((*library_)->chip_name(&name), "cuptiDeviceGetChipName");
    read_availability();
    chip_ = name.pChipName;
  }

  void check_device() {
    CUpti_Profiler_DeviceSupported_Params support{};
    support.structSize = CUpti_Profiler_DeviceSupported_Params_STRUCT_SIZE;
    support.cuDevice = device_;
    support.api = CUPTI_PROFILER_RANGE_PROFILING;
    library_->check((*library_)->device_supported(&support), "cuptiProfilerDeviceSupported");
    if (support.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED) return;
    using Flag = std::pair<CUpti_Profiler_Support_Level, const char*>;
    std::string why;
    for (const auto& [level, text] :
         {Flag{support.architecture, "its architecture"}, Flag{support.sli, "SLI"},
          Flag{support.vGpu, "a virtual GPU"},
          Flag{support.confidentialCompute, "confidential computing"},
          Flag{support.cmp, "a mining processor"}, Flag{support.wsl, "WSL"}})
      if (level == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED ||
          level == CUPTI_PROFILER_CONFIGURATION_DISABLED)
        why += std::string(why.empty() ? "" : ", ") + text;
    throw Fault(CounterSource::unsupported,
                "CUPTI cannot count on this device" + (why.empty() ? std::string() : ": " + why));
  }

  void read_availability() {
    CUpti_Profiler_GetCounterAvailability_Params get{};
    get.structSize = CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE;
    library_->check((*library_)->availability(&get), "cuptiProfilerGetCounterAvailability");
    availability_.resize(get.counterAvailabilityImageSize);
    get.pCounterAvailabilityImage = availability_.data();
    library_->check((*library_)->availability(&get), "cuptiProfilerGetCounterAvailability");
  }

  const Metrics& metrics_of(std::span<const std::string> names) {
    if (metrics_ && std::equal(names.begin(), names.end(), asked_.begin(), asked_.end()))
      return *metrics_;
    metrics_.emplace(*library_, chip_, availability_, names);
    asked_.assign(names.begin(), names.end());
    return *metrics_;
  }

  CounterReading count(const Metrics& metrics, const CountedWork& work) {
    if (metrics.names().empty())
      throw Fault(CounterSource::unsupported, chip_ + " has no metric " + list(metrics.unknown()));
    if (metrics.passes() > most_passes)
      throw Fault(CounterSource::failed, "these metrics need " + std::to_string(metrics.passes()) +
                                             " passes, more than " + std::to_string(most_passes));
    Session session(*library_, metrics, 2);
    int passes = 0;
    for (bool last = false; !last && passes <= metrics.passes(); ++passes)
      last = session.pass([&] {
        work.prepare();
        session.range("call", work.call);
        session.range("write_back", work.evict);
      });
    auto results = session.results();
    if (!results.contains("call") || !results.contains("write_back"))
      throw Fault(CounterSource::failed, "CUPTI returned " + std::to_string(results.size()) +
                                             " ranges, without those that were asked for");
    CounterReading reading = reading_of(results["call"], results["write_back"], passes);
    if (!metrics.unknown().empty())
      reading.reason = chip_ + " has no metric " + list(metrics.unknown());
    return reading;
  }

  int device_;
  std::optional<Library> library_;
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  std::vector<std::string> asked_;
  std::optional<Metrics> metrics_;
  std::optional<CounterReading> refusal_;
};

}  // namespace

std::unique_ptr<CounterReader> make_counter_reader(int device) {
  return std::make_unique<CuptiReader>(device);
}

CounterCheck check_counters(std::span<const std::string> metrics, int arch) {
  CounterCheck check;
  try {
    const auto chip = chip_of(arch);
    if (!chip)
      throw Fault(CounterSource::unsupported,
                  "no chip is known with the architecture sm_" + std::to_string(arch));
    const Library library;
    const Metrics known(library, std::string(*chip), {}, metrics);
    check.source = CounterSource::cupti;
    check.passes = known.passes();
    check.unknown = known.unknown();
  } catch (const Fault& fault) {
    check.source = fault.source;
    check.reason = fault.what();
  }
  return check;
}

}  // namespace gla_bench::cuda
