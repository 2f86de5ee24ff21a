#include "harness/backends/cuda/device/nvml.hpp"

#include <array>

namespace gla_bench::cuda {
namespace {

// The few declarations needed, as in NVML's ABI, because not every toolkit contains NVML's header.
using Status = int;  // 0: success
using Init = Status();
using Shutdown = Status();
using DeviceByPciAddress = Status(const char*, void**);
using ClockInfo = Status(void*, int, unsigned*);
using DeviceCount64 = Status(void*, unsigned long long*);
using DriverVersion = Status(char*, unsigned);
using DeviceCount = Status(void*, unsigned*);
using DeviceMode = Status(void*, unsigned*, unsigned*);  // the current and the pending mode
constexpr int sm_clock = 1;
constexpr int memory_clock = 2;

struct ClockReason {
  unsigned long long bit;
  const char* name;
};

constexpr std::array<ClockReason, 9> clock_reason_bits{{{0x1, "idle"},
                                                        {0x2, "application_clocks"},
                                                        {0x4, "sw_power_cap"},
                                                        {0x8, "hw_slowdown"},
                                                        {0x10, "sync_boost"},
                                                        {0x20, "sw_thermal_slowdown"},
                                                        {0x40, "hw_thermal_slowdown"},
                                                        {0x80, "hw_power_brake_slowdown"},
                                                        {0x100, "display_clocks"}}};

}  // namespace

template <class Function>
Function* Nvml::find(const char* name) const {
  Function* function = nullptr;
  library_.find(function, name);
  return function;
}

Nvml::Nvml(const std::string& pci_address)
    : library_(SharedLibrary::open(std::vector<std::string>{"libnvidia-ml.so.1"})) {
  const auto init = find<Init>("nvmlInit_v2");
  if (init == nullptr || init() != 0) {
    library_ = {};
    return;
  }
  const auto by_address = find<DeviceByPciAddress>("nvmlDeviceGetHandleByPciBusId_v2");
  if (by_address == nullptr || by_address(pci_address.c_str(), &device_) != 0) device_ = nullptr;
}

Nvml::~Nvml() {
  if (const auto shutdown = find<Shutdown>("nvmlShutdown")) shutdown();
}

std::optional<unsigned> Nvml::clock(const char* function, int domain) const {
  const auto ask = find<ClockInfo>(function);
  unsigned mhz = 0;
  if (device_ == nullptr || ask == nullptr || ask(device_, domain, &mhz) != 0) return std::nullopt;
  return mhz;
}

std::optional<std::string> Nvml::mode(const char* function) const {
  const auto ask = find<DeviceMode>(function);
  unsigned current = 0;
  unsigned pending = 0;
  if (device_ == nullptr || ask == nullptr || ask(device_, &current, &pending) != 0)
    return std::nullopt;
  return current != 0 ? "on" : "off";
}

std::optional<double> Nvml::sm_clock_mhz() const {
  return clock("nvmlDeviceGetClockInfo", sm_clock);
}

std::map<std::string, std::string> Nvml::settings() const {
  std::map<std::string, std::string> list;
  const auto limit = find<DeviceCount>("nvmlDeviceGetEnforcedPowerLimit");
  unsigned milliwatts = 0;
  if (device_ != nullptr && limit != nullptr && limit(device_, &milliwatts) == 0)
    list["power_limit_watts"] = std::to_string(milliwatts / 1000);
  if (const auto mhz = clock("nvmlDeviceGetMaxClockInfo", sm_clock))
    list["max_clock_mhz"] = std::to_string(*mhz);
  if (const auto mhz = clock("nvmlDeviceGetApplicationsClock", sm_clock))
    list["application_clock_mhz"] = std::to_string(*mhz);
  if (const auto mhz = clock("nvmlDeviceGetMaxClockInfo", memory_clock))
    list["memory_clock_mhz"] = std::to_string(*mhz);
  if (const auto ecc = mode("nvmlDeviceGetEccMode")) list["ecc"] = *ecc;
  if (const auto mig = mode("nvmlDeviceGetMigMode")) list["mig"] = *mig;
  return list;
}

std::vector<std::string> Nvml::clock_reasons() const {
  auto reasons = find<DeviceCount64>("nvmlDeviceGetCurrentClocksEventReasons");
  if (reasons == nullptr)  // its name before driver 535
    reasons = find<DeviceCount64>("nvmlDeviceGetCurrentClocksThrottleReasons");
  unsigned long long bits = 0;
  if (device_ == nullptr || reasons == nullptr || reasons(device_, &bits) != 0) return {};
  std::vector<std::string> names;
  for (const ClockReason& reason : clock_reason_bits)
    if ((bits & reason.bit) != 0) names.emplace_back(reason.name);
  return names;
}

std::optional<double> Nvml::energy_joules() const {
  const auto energy = find<DeviceCount64>("nvmlDeviceGetTotalEnergyConsumption");
  unsigned long long millijoules = 0;
  if (device_ == nullptr || energy == nullptr || energy(device_, &millijoules) != 0)
    return std::nullopt;
  return static_cast<double>(millijoules) * 1e-3;
}

std::optional<std::string> Nvml::driver_version() const {
  const auto version = find<DriverVersion>("nvmlSystemGetDriverVersion");
  std::array<char, 96> text{};
  if (version == nullptr || version(text.data(), text.size()) != 0) return std::nullopt;
  return std::string(text.data());
}

}  // namespace gla_bench::cuda
