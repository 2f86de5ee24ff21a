#pragma once
// Clocks, energy and the driver's version through NVML. NVML comes with the driver and is loaded if
// it is present.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/support/system/shared_library.hpp"

namespace gla_bench::cuda {

class Nvml {
 public:
  /// Opens the device at a PCI address ("0000:19:00.0"). On a machine without NVML all queries
  /// return nothing.
  explicit Nvml(const std::string& pci_address);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// The current clock of the SMs.
  std::optional<double> sm_clock_mhz() const;
  /// The reasons that limit the clocks, by name: "sw_power_cap".
  std::vector<std::string> clock_reasons() const;
  /// The energy that the board has used since the driver was loaded.
  std::optional<double> energy_joules() const;
  /// Settings that determine the clocks under load, and the share of the device that is available:
  /// "power_limit_watts", "max_clock_mhz", "application_clock_mhz", "memory_clock_mhz", "ecc",
  /// "mig". Each is present only where the driver reports it.
  std::map<std::string, std::string> settings() const;
  /// "580.95.05"
  std::optional<std::string> driver_version() const;

 private:
  template <class Function>
  Function* find(const char* name) const;
  std::optional<unsigned> clock(const char* function, int domain) const;
  std::optional<std::string> mode(const char* function) const;

  SharedLibrary library_;
  void* device_ = nullptr;  // nvmlDevice_t
};

}  // namespace gla_bench::cuda
