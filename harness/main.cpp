// gla-bench. Its command line is in harness/commands/program.cpp. This file is compiled once for
// each program of the build, with and without Google Benchmark.

#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "harness/commands/program.hpp"

// The program's operator new. A sweep allocates the tensors of a problem many times, hundreds of
// megabytes each, and first touches them on one thread. Large blocks ask for huge pages, where the
// kernel gives them on request (transparent_hugepage: madvise or always). The Python module and the
// tests keep the process's own, which is why this stands in no library.
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20, large = 4 * huge_page;

void* allocate(std::size_t bytes) noexcept {
  if (bytes < large) return std::malloc(bytes > 0 ? bytes : 1);
  const std::size_t whole = (bytes + huge_page - 1) / huge_page * huge_page;
  if (whole < bytes) return nullptr;
  void* const memory = std::aligned_alloc(huge_page, whole);
  // Without huge pages the memory is as good, so the answer does not matter.
  if (memory != nullptr) madvise(memory, whole, MADV_HUGEPAGE);
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) {
  while (true) {
    if (void* const memory = allocate(bytes)) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

int main(int argc, char** argv) {
#ifdef GLA_BENCH_WITH_GOOGLE_BENCHMARK
  return gla_bench::commands::run_program(argc, argv, &gla_bench::bench);
#else
  return gla_bench::commands::run_program(argc, argv, nullptr);
#endif
}
