#include "harness/backends/cuda/run/arguments.hpp"

#include <cstring>
#include <type_traits>

namespace gla_bench::cuda {

std::size_t size_of(const Argument& argument) {
  return std::visit(
      [](const auto& value) {
        using Type = std::remove_cvref_t<decltype(value)>;
        return std::is_same_v<Type, BufferAddress> ? sizeof(void*) : sizeof value;
      },
      argument);
}

ParamBytes bytes_of(std::span<const Argument> arguments, const Address& address) {
  ParamBytes bytes(arguments.size() * argument_slot);
  std::byte* slot = bytes.data();
  const auto write = [&](const auto& value) {
    static_assert(sizeof value <= argument_slot);
    std::memcpy(slot, &value, sizeof value);
  };
  for (const Argument& argument : arguments) {
    if (const auto* buffer = std::get_if<BufferAddress>(&argument))
      write(address(buffer->name));
    else if (const auto* narrow = std::get_if<std::int32_t>(&argument))
      write(*narrow);
    else if (const auto* wide = std::get_if<std::int64_t>(&argument))
      write(*wide);
    else
      write(std::get<float>(argument));
    slot += argument_slot;
  }
  return bytes;
}

}  // namespace gla_bench::cuda
