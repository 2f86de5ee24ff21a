#include "fuzz/memory_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace gla_bench::fuzz {

MemoryFile::MemoryFile()
    : descriptor_(::memfd_create("input", MFD_CLOEXEC)),
      path_("/proc/self/fd/" + std::to_string(descriptor_)) {
  if (descriptor_ < 0) {
    std::perror("memfd_create");
    std::exit(1);
  }
}

MemoryFile::~MemoryFile() {
  ::close(descriptor_);
}

void MemoryFile::write(std::string_view text, std::uint64_t bytes) {
  const auto size = static_cast<off_t>(std::max<std::uint64_t>(bytes, text.size()));
  if (::ftruncate(descriptor_, 0) != 0 || ::ftruncate(descriptor_, size) != 0 ||
      ::pwrite(descriptor_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    std::perror("a file in memory");
    std::exit(1);
  }
}

}  // namespace gla_bench::fuzz
