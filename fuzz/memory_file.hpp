#pragma once
// A file in memory, for readers that want a path.

#include <cstdint>
#include <string>
#include <string_view>

namespace gla_bench::fuzz {

class MemoryFile {
 public:
  MemoryFile();
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  /// Replaces the content: the text, and behind it a hole up to `bytes`.
  void write(std::string_view text, std::uint64_t bytes = 0);

  const std::string& path() const { return path_; }

 private:
  int descriptor_;
  std::string path_;
};

}  // namespace gla_bench::fuzz
