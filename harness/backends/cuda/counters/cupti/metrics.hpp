#pragma once
// The metrics of one chip: which exist, how many passes they need, and their values in counted
// ranges. It uses CUPTI's profiler host interface, which needs neither device nor driver.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/counters.hpp"
#include "harness/backends/cuda/counters/cupti/library.hpp"

namespace gla_bench::cuda::cupti {

class Metrics {
 public:
  /// `availability` is what the device reports that it can count. If empty, everything that the
  /// chip can count is available. @throws Fault
  Metrics(const Library& library, std::string chip, std::span<const std::uint8_t> availability,
          std::span<const std::string> names);

  /// The metrics that the chip has, in the order of the request, and those that it lacks.
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<std::string>& unknown() const { return unknown_; }
  /// How often the work has to run to count all of them.
  int passes() const { return passes_; }
  const std::vector<std::uint8_t>& config_image() const { return config_image_; }

  /// The values of one range in an image of counter data. @throws Fault
  Counts evaluate(std::span<const std::uint8_t> counter_data, std::size_t range) const;

 private:
  struct Close {
    const Library* library;
    void operator()(CUpti_Profiler_Host_Object* host) const;
  };

  using Host = std::unique_ptr<CUpti_Profiler_Host_Object, Close>;

  Host open() const;
  bool is_known(const std::string& name) const;
  void make_config_image();

  const Library& library_;
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  Host host_;
  std::vector<std::string> names_, unknown_;
  std::vector<std::uint8_t> config_image_;
  int passes_ = 0;
};

/// The names as CUPTI takes them. The pointers are valid as long as the strings.
std::vector<const char*> pointers_to(std::span<const std::string> names);

}  // namespace gla_bench::cuda::cupti
