#pragma once
// The backend's own kernels (helpers.cuh). They are compiled like any other and launched from here.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/cuda/device/library.hpp"
#include "harness/backends/cuda/device/memory.hpp"
#include "harness/backends/other_inputs.hpp"

namespace gla_bench::cuda {

/// A range of device memory that no candidate may write.
struct Zone {
  unsigned char* begin = nullptr;
  unsigned long long bytes = 0;
};

/// What the kernels of compare.cuh take; a copy of their struct. Sizes and places are in elements.
struct CompareParams {
  const void* got = nullptr;
  const double* expected = nullptr;
  void* parts = nullptr;                           // PartSums or PartWorst of each block
  std::int64_t seq, heads, length, pitch, offset;  // of StoredRows; a pitch of 0 is the length
  std::int64_t outer, tokens, inner, row, chunk, pieces, chunk_heads;  // of Chunks
  std::int64_t part, parts_of_chunk;  // elements of a part, and the most parts of a chunk
  double rms = 0;
  int swapped = 0, rows = 0;
  int dtype = 0;  // 0: float32, 1: bfloat16, 2: float16
  int padding = 0;
};

/// What compare_sums leaves of each part.
struct PartSums {
  double error_squared, norm_squared, along, plain, squares, fourths, absolutes;
  std::int64_t elements, unwritten, not_finite, first_bad;
  std::int64_t got_all, got_bfloat16, got_float16;
  std::int64_t expected_all, expected_bfloat16, expected_float16;
};

/// What compare_worsts leaves of each part.
struct PartWorst {
  double error;
  std::int64_t at;
};

class Helpers {
 public:
  /// Loads all kernels at once, because a kernel that is loaded at its first launch could wait for
  /// a stream that is held.
  /// `shared_bytes`: what one block may have.
  Helpers(CodePtr code, int multiprocessors, std::size_t shared_bytes);

  /// The text and source of the code that the constructor takes.
  static std::string text();
  static std::string source();

  void fill_zones(const Zone* zones, unsigned count, cudaStream_t stream) const;
  /// Sets first_bad[i] to the first damaged byte of zone i. The caller sets it to 0xffffffff
  /// before.
  void check_zones(const Zone* zones, unsigned* first_bad, unsigned count,
                   cudaStream_t stream) const;
  /// Adds the checksum to *sum, which the caller sets to 0 before.
  void checksum(const void* data, std::size_t bytes, unsigned long long* sum,
                cudaStream_t stream) const;
  /// Adds the number of elements whose bits are all ones to *sum, which the caller sets to 0
  /// before.
  void count_poison(const void* data, std::size_t bytes, DType dtype, unsigned long long* sum,
                    cudaStream_t stream) const;
  /// Holds the stream until *release (in host memory) is not 0. Sets *timed_out after `timeout_ns`.
  void hold_stream(unsigned* release, unsigned* timed_out, std::uint64_t timeout_ns,
                   cudaStream_t stream) const;
  /// In the next functions `bytes` is a multiple of 16. The data of read_buffer must be zero.
  void read_buffer(void* data, std::size_t bytes, cudaStream_t stream) const;
  void copy_buffer(const void* from, void* to, std::size_t bytes, cudaStream_t stream) const;
  void fill_random(void* data, std::size_t bytes, cudaStream_t stream) const;
  /// Flips the signs of the finite values that the signs' stream picks among these `bytes`.
  void flip_signs(void* data, std::size_t bytes, DType dtype, SignStream signs,
                  cudaStream_t stream) const;

  /// Comparisons (compare.cuh). Grid: all parts of all chunks.
  void compare(const CompareParams& params, bool worsts, std::int64_t blocks,
               cudaStream_t stream) const;

  /// Fills shared memory and registers with NaN, for as much as one block of each SM may have.
  void poison_leftovers(cudaStream_t stream) const;
  /// Reads and writes the buffer from a quarter of the SMs for some time. They have half of their
  /// shared memory left.
  void keep_busy(void* data, std::size_t bytes, std::uint64_t duration_ns,
                 cudaStream_t stream) const;

 private:
  BoundKernel kernel(const std::string& entry, unsigned threads, std::size_t param_bytes,
                     std::size_t shared_bytes = 0) const;

  Library library_;
  unsigned multiprocessors_;
  BoundKernel fill_zones_, check_zones_, checksum_, hold_stream_, read_buffer_, copy_buffer_,
      fill_random_, flip_signs_, count_poison_, poison_leftovers_, keep_busy_, compare_sums_,
      compare_worsts_;
};

}  // namespace gla_bench::cuda
