#include "harness/support/hash.hpp"

#include <cinttypes>
#include <cstdio>

namespace gla_bench {

std::string hex(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016" PRIx64, value);
  return text;
}

}  // namespace gla_bench
