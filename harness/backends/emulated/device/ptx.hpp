#pragma once
// The asm statements of kernels. source.hpp has turned each into a Statement of PTX instructions,
// which runs on its operands. Of an instruction that is not here, the kernel fails with its name.

#include <string>
#include <utility>
#include <vector>

namespace gla_bench::emulated {

/// Addresses of shared memory are distances from the launch's part of it. Those in another block of
/// the cluster have its number, counted from 1, in the bits from here on; variables lie at negative
/// distances.
inline constexpr unsigned block_shift = 24, most_blocks = 16;

inline unsigned block_of(unsigned address) {
  const unsigned block = address >> block_shift;
  return block <= most_blocks ? block : 0;
}

/// One operand of an asm statement: a variable, or the value of an expression.
struct Operand {
  void* variable = nullptr;
  unsigned long long value = 0;

  template <class T>
  T as() const {
    T result{};
    std::memcpy(&result, variable != nullptr ? variable : &value, sizeof result);
    return result;
  }
  template <class T>
  void set(T result) const {
    std::memcpy(variable, &result, sizeof result);
  }
  const unsigned char* shared() const {
    const auto address = as<unsigned>();
    if (const unsigned block = block_of(address); block > 0)
      return gla_bench_emulated.runtime->shared_of(block - 1) + address % (1u << block_shift);
    return gla_bench_emulated.shared + static_cast<int>(address);
  }
};

/// The operands of one instruction in their order. Where threads meet, what each of them brings.
using Lane = std::vector<Operand>;

template <class T>
Operand variable(T& variable) {
  return {&variable, 0};
}
template <class T>
Operand value(const T& value) {
  static_assert(sizeof value <= sizeof(unsigned long long));
  Operand operand;
  std::memcpy(&operand.value, &value, sizeof value);
  return operand;
}

}  // namespace gla_bench::emulated
