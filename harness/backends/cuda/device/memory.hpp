#pragma once
// Device memory that is freed automatically.

#include <cstddef>
#include <string>
#include <utility>

namespace gla_bench::cuda {

class DeviceMemory {
 public:
  DeviceMemory() = default;
  /// Allocates at least one byte, aligned to 256. @throws RunError naming `purpose` and the size
  DeviceMemory(std::size_t bytes, const std::string& purpose);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }

  void* data() const { return data_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};

}  // namespace gla_bench::cuda
