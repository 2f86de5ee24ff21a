// The program's operator new. A sweep allocates the tensors of a problem many times, hundreds of
// megabytes each, and first touches them on one thread. With pages of 4 KB that was half of the time
// of a sweep of training in a virtual machine. Large blocks ask for huge pages instead, where the
// kernel gives them on request (transparent_hugepage: madvise or always).
//
// It is part of the programs alone: the Python module and the tests keep the process's own.

#include <sys/mman.h>

#include <cstdlib>
#include <new>

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
