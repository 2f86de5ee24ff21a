#pragma once
// An output held against the values that are expected, wherever the output lies. A comparison gives
// sums over chunks; what they mean is decided in harness/verify.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace gla_bench {

/// The chunks of a tensor: each leading pair has pieces() of them along the second axis.
struct Chunks {
  std::int64_t outer = 1;   ///< B
  std::int64_t tokens = 1;  ///< T
  std::int64_t inner = 1;   ///< H
  std::int64_t row = 1;     ///< contiguous elements of one token and head
  std::int64_t length = 1;  ///< tokens of a chunk; the last one takes the ragged rest as well
  bool rows = false;        ///< a row is one token's of one head, with a size of its own
  /// Heads of a chunk: all of them where there are so few tokens that one head's rows could all be
  /// near zero (a query that is nearly orthogonal to the only key), and 1 otherwise.
  std::int64_t heads = 1;

  std::int64_t pieces() const { return std::max<std::int64_t>(tokens / length, 1); }
  std::int64_t end(std::int64_t piece) const {
    return piece + 1 == pieces() ? tokens : (piece + 1) * length;
  }
  std::int64_t count() const { return outer * (inner / heads) * pieces(); }
  /// Elements of the largest chunk.
  std::int64_t most_elements() const { return (tokens - (pieces() - 1) * length) * heads * row; }
};

/// error / norm, where 0 / 0 is no error.
inline double error_ratio(double error, double norm) {
  if (norm > 0) return error / norm;
  return error == 0 ? 0.0 : std::numeric_limits<double>::infinity();
}

/// Errors of a chunk. An element that is the infinity or the NaN that is expected is in no sum.
struct ErrorSums {
  double error_squared = 0;
  double norm_squared = 0;
  std::int64_t elements = 0;
  std::int64_t unwritten = 0;   ///< elements that hold the poison
  std::int64_t not_finite = 0;  ///< other elements whose error is not finite
  std::int64_t first_bad = -1;  ///< the first of both kinds; -1: none
};

/// Sums over the elements of a chunk that are finite, where the error is that against the expected
/// value rounded to the dtype of the output.
struct ValueSums {
  double along = 0;      ///< error times value
  double plain = 0;      ///< error
  double squares = 0;    ///< value^2
  double fourths = 0;    ///< value^4
  double absolutes = 0;  ///< |value|

  void add(const ValueSums& other) {
    along += other.along;
    plain += other.plain;
    squares += other.squares;
    fourths += other.fourths;
    absolutes += other.absolutes;
  }
};

/// The largest error of an element over the largest of the tensor's RMS, its row's and itself.
struct WorstOfChunk {
  double error = -1;
  std::int64_t at = -1;
};

/// How many float32 values are finite and not 0, and how many of those a shorter format holds.
struct CoarseCounts {
  std::int64_t all = 0, bfloat16 = 0, float16 = 0;
};

/// One output beside what is expected. The order of the chunks is that of the logical tensor.
/// @throws RunError from each function where the device fails
class OutputComparison {
 public:
  virtual ~OutputComparison() = default;
  virtual std::vector<ErrorSums> error_sums() = 0;
  virtual std::vector<ValueSums> value_sums() = 0;
  /// One for each chunk. Only where all elements are finite or as expected.
  virtual std::vector<WorstOfChunk> worsts(double rms) = 0;
  virtual CoarseCounts coarse_output() = 0;
  virtual CoarseCounts coarse_expected() = 0;  ///< of the expected values in float32
  virtual float output(std::int64_t element) = 0;
};

/// Expected values of an output, in logical order. Those with one `id` are the same ones, so that a
/// backend may keep a copy.
struct ExpectedValues {
  std::uint64_t id = 0;
  std::span<const double> values;
};

}  // namespace gla_bench
