#include "harness/backends/guarded_buffer.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "core/error.hpp"
#include "harness/backends/host/machine.hpp"

namespace gla_bench {
namespace {

constexpr std::align_val_t alignment{64};
// Neither zero nor the poison, and not a plausible output of a kernel in any dtype.
constexpr std::byte guard_byte{0xa5};

}  // namespace

void GuardedBuffer::Free::operator()(std::byte* memory) const {
  ::operator delete[](memory, alignment);
}

GuardedBuffer::GuardedBuffer(std::string name, std::size_t bytes)
    : name_(std::move(name)), size_(bytes) {
  // The rear zone starts directly after the last byte of data, aligned or not.
  const std::size_t whole = size_ + 2 * guard_bytes;
  // Systems promise more memory than they have, and kill a process that uses too much of it.
  const std::size_t most = host_memory_bytes();
  const bool fits = most == 0 || whole <= most;
  auto* memory =
      fits ? static_cast<std::byte*>(::operator new[](whole, alignment, std::nothrow)) : nullptr;
  if (!memory)
    throw OutOfMemory("no host memory for '" + name_ + "': " + std::to_string(whole) + " bytes");
  memory_.reset(memory);
  std::fill_n(memory, guard_bytes, guard_byte);
  std::fill_n(memory + guard_bytes + size_, guard_bytes, guard_byte);
  poison();
}

std::span<std::byte> GuardedBuffer::bytes() const {
  return {memory_.get() + guard_bytes, size_};
}

void GuardedBuffer::poison() {
  std::memset(memory_.get() + guard_bytes, 0xff, size_);
}

std::optional<std::string> GuardedBuffer::damage() const {
  const auto changed = [](std::byte byte) { return byte != guard_byte; };
  const std::byte* front = memory_.get();
  const std::byte* data = front + guard_bytes;
  const std::byte* back = data + size_;
  const std::byte* hit = std::find_if(back, back + guard_bytes, changed);
  if (hit != back + guard_bytes)
    return "guard zone behind '" + name_ + "' overwritten at byte " + std::to_string(hit - back);
  hit = std::find_if(front, data, changed);
  if (hit != data)
    return "guard zone before '" + name_ + "' overwritten " + std::to_string(data - hit) +
           " bytes before its start";
  return std::nullopt;
}

}  // namespace gla_bench
