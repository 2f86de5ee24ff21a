#include "kernels/linear_recurrence/variants.hpp"

#include "kernels/linear_recurrence/family.hpp"

namespace gla_bench::linear_recurrence {

std::vector<Variant> variants() {
  return {
      // CUDA
      recurrent(),
      parallel(),
      parallel_cublas(),
      chunk_materialized(),
      chunk_fused(),
      chunk_pipeline(),
      // Host
      host_recurrent(),
      host_parallel(),
      host_chunk_materialized(),
      host_chunk_fused(),
      host_chunk_pipeline(),
  };
}

}  // namespace gla_bench::linear_recurrence
