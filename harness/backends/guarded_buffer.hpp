#pragma once
// Host memory between two guard zones, which reveal writes outside it, and whose NaN reveal reads.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace gla_bench {

/// `bytes` bytes of memory aligned to 64, with a guard zone of 4096 bytes on either side. The
/// memory starts as 0xff bytes, which are NaN in every dtype.
class GuardedBuffer {
 public:
  static constexpr std::size_t guard_bytes = 4096;

  /// @throws OutOfMemory when the host does not have that much memory
  GuardedBuffer(std::string name, std::size_t bytes);

  const std::string& name() const { return name_; }
  std::span<std::byte> bytes() const;
  /// Fills the memory, but not the zones, with 0xff.
  void poison();
  /// "guard zone behind 'o' overwritten at byte 12" (counted from the end of the memory), or
  /// nothing.
  std::optional<std::string> damage() const;

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::string name_;
  std::size_t size_;
  std::unique_ptr<std::byte[], Free> memory_;
};

}  // namespace gla_bench
