#include "harness/backends/guarded_buffer.hpp"

#include <cstdint>
#include <cstring>
#include <new>

#include "core/error.hpp"
#include "harness/backends/host/machine.hpp"

namespace gla_bench {
namespace {

constexpr std::align_val_t alignment{64};

// A two-byte pattern that is a NaN in every dtype (for float32, when repeated), so that a value
// read beside a tensor shows in the result. It differs from the poison 0xff, so that copied poison
// shows in the zone. Zones begin at any address, so the byte goes by the address.
std::byte guard_byte(const std::byte* at) {
  return (reinterpret_cast<std::uintptr_t>(at) & 1) != 0 ? std::byte{0x7f} : std::byte{0xd5};
}

void fill_zone(std::byte* zone) {
  for (std::byte* at = zone; at != zone + GuardedBuffer::guard_bytes; ++at) *at = guard_byte(at);
}

const std::byte* first_changed(const std::byte* zone) {
  const std::byte* at = zone;
  while (at != zone + GuardedBuffer::guard_bytes && *at == guard_byte(at)) ++at;
  return at;
}

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
  fill_zone(memory);
  fill_zone(memory + guard_bytes + size_);
  poison();
}

std::span<std::byte> GuardedBuffer::bytes() const {
  return {memory_.get() + guard_bytes, size_};
}

void GuardedBuffer::poison() {
  std::memset(memory_.get() + guard_bytes, 0xff, size_);
}

std::optional<std::string> GuardedBuffer::damage() const {
  const std::byte* data = memory_.get() + guard_bytes;
  const std::byte* back = data + size_;
  const std::byte* hit = first_changed(back);
  if (hit != back + guard_bytes)
    return "guard zone behind '" + name_ + "' overwritten at byte " + std::to_string(hit - back);
  hit = first_changed(memory_.get());
  if (hit != data)
    return "guard zone before '" + name_ + "' overwritten " + std::to_string(data - hit) +
           " bytes before its start";
  return std::nullopt;
}

}  // namespace gla_bench
