#include "harness/backends/host/leftovers.hpp"

#include <malloc.h>

#include <array>
#include <cstring>

namespace gla_bench {
namespace {

// Less than the smallest stack that systems give a thread.
constexpr std::size_t stack_bytes = std::size_t{64} << 10;

[[gnu::noinline]] void fill_stack() {
  std::array<unsigned char, stack_bytes> bytes;
  std::memset(bytes.data(), 0xff, bytes.size());
  asm volatile("" : : "r"(bytes.data()) : "memory");  // it is read, for all the compiler knows
}

// The C library fills new blocks with the complement of this byte, and freed ones with the byte. 0
// switches it off, so that new blocks cannot begin as 0xff.
void fill_new_memory(int byte) {
#ifdef M_PERTURB
  mallopt(M_PERTURB, byte);
#else
  static_cast<void>(byte);
#endif
}

}  // namespace

PoisonedLeftovers::PoisonedLeftovers() {
  fill_new_memory(0x80);
#pragma omp parallel
  fill_stack();
}

PoisonedLeftovers::~PoisonedLeftovers() {
  fill_new_memory(0);
}

}  // namespace gla_bench
