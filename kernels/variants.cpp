// The only list of variants.

#include "harness/variant.hpp"
#include "kernels/linear_recurrence/family.hpp"

namespace gla_bench {

std::span<const Variant> variants() {
  static const std::vector<Variant> list = linear_recurrence::variants();
  return list;
}

}  // namespace gla_bench
