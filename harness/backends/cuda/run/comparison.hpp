#pragma once
// The comparison of an output that lies on the device (compare.cuh).

#include <vector>

#include "core/operator.hpp"
#include "harness/backends/comparison.hpp"
#include "harness/backends/cuda/device/device.hpp"
#include "harness/tensors/staging.hpp"

namespace gla_bench::cuda {

class CudaComparison final : public OutputComparison {
 public:
  /// `got`: the memory of the output; `expected`: on the device too, in logical order.
  CudaComparison(Device& device, const TensorSpec& spec, Layout layout, const Chunks& chunks,
                 const void* got, const double* expected);

  std::vector<ErrorSums> error_sums() override;
  std::vector<ValueSums> value_sums() override;
  std::vector<WorstOfChunk> worsts(double rms) override;
  CoarseCounts coarse_output() override;
  CoarseCounts coarse_expected() override;
  float output(std::int64_t element) override;

 private:
  std::int64_t blocks() const { return chunks_.count() * params_.parts_of_chunk; }
  const std::vector<PartSums>& sums();
  template <class Part>
  std::vector<Part> launched(bool worsts);

  Device& device_;
  DType dtype_;
  Chunks chunks_;
  StoredRows rows_;
  CompareParams params_;
  std::vector<PartSums> sums_;
};

}  // namespace gla_bench::cuda
