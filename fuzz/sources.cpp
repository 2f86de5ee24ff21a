// No sources are inside a target: those of the kernels are nothing that it reads.

#include "harness/source_store.hpp"

namespace gla_bench {

std::span<const Source> embedded_sources() {
  return {};
}

}  // namespace gla_bench
