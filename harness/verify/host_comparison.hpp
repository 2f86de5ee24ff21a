#pragma once
// The comparison of an output that lies on the host.

#include <span>
#include <vector>

#include "core/tensor.hpp"
#include "harness/backends/comparison.hpp"

namespace gla_bench {

CoarseCounts coarse_counts(std::span<const float> values);

/// Results do not depend on the number of threads: sums stay inside a chunk.
class HostComparison final : public OutputComparison {
 public:
  /// Both in logical order. `stored` is the dtype that value_sums() rounds to.
  /// @throws std::invalid_argument when a size does not fit the spec
  HostComparison(const TensorSpec& spec, DType stored, std::span<const float> got,
                 std::span<const double> expected);
  HostComparison(const TensorSpec& spec, std::span<const float> got,
                 std::span<const double> expected)
      : HostComparison(spec, spec.dtype, got, expected) {}
  /// Takes what may be rounding of cancelling terms off the errors. `allowances` may be empty.
  HostComparison(const TensorSpec& spec, std::span<const float> got,
                 std::span<const double> expected, std::span<const float> allowances);

  std::vector<ErrorSums> error_sums() override;
  std::vector<ValueSums> value_sums() override;
  std::vector<WorstOfChunk> worsts(double rms) override;
  CoarseCounts coarse_output() override;
  CoarseCounts coarse_expected() override;
  float output(std::int64_t element) override { return raw_[static_cast<std::size_t>(element)]; }

 private:
  Chunks chunks_;
  DType stored_;
  std::vector<float> adjusted_;       // the values that are compared, where some have allowances
  std::span<const float> raw_, got_;  // as the candidate left them, and as they are compared
  std::span<const double> expected_;
};

}  // namespace gla_bench
