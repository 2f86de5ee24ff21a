#pragma once
// Where tests write to.

#include <unistd.h>

#include <filesystem>

#include "harness/support/system/temporary_folder.hpp"

namespace gla_bench {

/// Lies in memory where there is such a place. It is for tests that write much and do not depend on
/// a disk.
inline std::filesystem::path memory_folder() {
  const char* memory = "/dev/shm";
  return ::access(memory, W_OK | X_OK) == 0 ? memory : std::filesystem::temp_directory_path();
}

}  // namespace gla_bench
