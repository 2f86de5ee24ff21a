#include "kernels/linear_recurrence/variants.hpp"

#include "kernels/linear_recurrence/family.hpp"

namespace gla_bench::linear_recurrence {

std::vector<Variant> variants() {
  return {chunk_fused()};
}

}  // namespace gla_bench::linear_recurrence
