#include "harness/backends/cuda/run/comparison.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "core/error.hpp"
#include "harness/backends/cuda/device/check.hpp"

namespace gla_bench::cuda {
namespace {

constexpr std::int64_t elements_of_part = 16384;

int number_of(DType dtype) {
  return dtype == DType::float32 ? 0 : dtype == DType::bfloat16 ? 1 : 2;
}

CompareParams params_of(DType dtype, const StoredRows& rows, const Chunks& chunks) {
  CompareParams p{};
  p.seq = rows.seq;
  p.heads = rows.heads;
  p.length = rows.length;
  p.pitch = rows.pitch;
  p.offset = rows.offset;
  p.swapped = rows.swapped ? 1 : 0;
  p.outer = chunks.outer;
  p.tokens = chunks.tokens;
  p.inner = chunks.inner;
  p.row = chunks.row;
  p.chunk = chunks.length;
  p.pieces = chunks.pieces();
  p.chunk_heads = chunks.heads;
  p.rows = chunks.rows ? 1 : 0;
  // Whole rows, where these have a size of their own.
  const std::int64_t unit = chunks.rows ? chunks.row : 1;
  p.part = std::max<std::int64_t>(1, elements_of_part / unit) * unit;
  p.parts_of_chunk = (chunks.most_elements() + p.part - 1) / p.part;
  p.dtype = number_of(dtype);
  return p;
}

CoarseCounts& operator+=(CoarseCounts& sum, const CoarseCounts& other) {
  sum.all += other.all;
  sum.bfloat16 += other.bfloat16;
  sum.float16 += other.float16;
  return sum;
}

void add(ErrorSums& sum, const PartSums& part) {
  sum.error_squared += part.error_squared;
  sum.norm_squared += part.norm_squared;
  sum.elements += part.elements;
  sum.unwritten += part.unwritten;
  sum.not_finite += part.not_finite;
  if (part.first_bad >= 0 && (sum.first_bad < 0 || part.first_bad < sum.first_bad))
    sum.first_bad = part.first_bad;
}

}  // namespace

CudaComparison::CudaComparison(Device& device, const TensorSpec& spec, Layout layout,
                               const Chunks& chunks, const void* got, const double* expected)
    : device_(device),
      dtype_(spec.dtype),
      chunks_(chunks),
      rows_(stored_rows(spec, layout)),
      params_(params_of(spec.dtype, rows_, chunks)) {
  params_.got = got;
  params_.expected = expected;
  if (blocks() > std::numeric_limits<int>::max())
    throw RunError("'" + spec.name + "' has too many chunks to be compared on the device");
}

template <class Part>
std::vector<Part> CudaComparison::launched(bool worsts) {
  std::vector<Part> parts(static_cast<std::size_t>(blocks()));
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(parts));
  const DeviceMemory memory(bytes.size(), "a comparison");
  CompareParams params = params_;
  params.parts = memory.data();
  device_.helpers().compare(params, worsts, blocks(), device_.stream());
  check(cudaMemcpyAsync(bytes.data(), memory.data(), bytes.size(), cudaMemcpyDeviceToHost,
                        device_.stream()),
        "cudaMemcpyAsync from the device");
  device_.synchronize();
  return parts;
}

const std::vector<PartSums>& CudaComparison::sums() {
  if (sums_.empty()) sums_ = launched<PartSums>(false);
  return sums_;
}

std::vector<ErrorSums> CudaComparison::error_sums() {
  std::vector<ErrorSums> chunks(static_cast<std::size_t>(chunks_.count()));
  const auto per_chunk = static_cast<std::size_t>(params_.parts_of_chunk);
  for (std::size_t i = 0; i < sums().size(); ++i) add(chunks[i / per_chunk], sums()[i]);
  return chunks;
}

std::vector<ValueSums> CudaComparison::value_sums() {
  std::vector<ValueSums> chunks(static_cast<std::size_t>(chunks_.count()));
  const auto per_chunk = static_cast<std::size_t>(params_.parts_of_chunk);
  for (std::size_t i = 0; i < sums().size(); ++i) {
    const PartSums& part = sums()[i];
    chunks[i / per_chunk].add({part.along, part.plain, part.squares, part.fourths, part.absolutes});
  }
  return chunks;
}

std::vector<WorstOfChunk> CudaComparison::worsts(double rms) {
  params_.rms = rms;
  std::vector<WorstOfChunk> chunks(static_cast<std::size_t>(chunks_.count()));
  const auto per_chunk = static_cast<std::size_t>(params_.parts_of_chunk);
  const std::vector<PartWorst> parts = launched<PartWorst>(true);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    WorstOfChunk& chunk = chunks[i / per_chunk];
    if (parts[i].error > chunk.error) chunk = {parts[i].error, parts[i].at};
  }
  return chunks;
}

CoarseCounts CudaComparison::coarse_output() {
  CoarseCounts all;
  for (const PartSums& part : sums()) all += {part.got_all, part.got_bfloat16, part.got_float16};
  return all;
}

CoarseCounts CudaComparison::coarse_expected() {
  CoarseCounts all;
  for (const PartSums& part : sums())
    all += {part.expected_all, part.expected_bfloat16, part.expected_float16};
  return all;
}

float CudaComparison::output(std::int64_t element) {
  const std::size_t size = size_of(dtype_);
  std::array<std::byte, sizeof(float)> stored{};
  const auto* from = static_cast<const std::byte*>(params_.got) +
                     static_cast<std::size_t>(rows_.element(element)) * size;
  check(cudaMemcpyAsync(stored.data(), from, size, cudaMemcpyDeviceToHost, device_.stream()),
        "cudaMemcpyAsync from the device");
  device_.synchronize();
  float value = 0;
  decode(dtype_, std::span(stored).first(size), std::span(&value, 1));
  return value;
}

}  // namespace gla_bench::cuda
