#include "harness/backends/cuda/device/helpers.hpp"

namespace gla_bench::cuda {
namespace {

// Copies of the structs in helpers.cuh. bind_kernel() compares their sizes with those of the
// kernels.

struct ZonesParams {
  const Zone* zones;
  unsigned* first_bad;
};

struct ChecksumParams {
  const void* data;
  unsigned long long bytes;
  unsigned long long* sum;
};

struct PoisonParams {
  const void* data;
  unsigned long long count;
  unsigned size;
  unsigned long long* sum;
};

struct HoldParams {
  unsigned* release;
  unsigned* timed_out;
  unsigned long long timeout_ns;
};

struct BufferParams {
  const void* from;
  void* to;
  unsigned long long count;
};

struct SignsParams {
  void* data;
  unsigned long long count;
  unsigned long long key;
  unsigned step, first, exponent;
};

struct LeftoversParams {
  unsigned pattern, words;
};

struct LoadParams {
  void* data;
  unsigned long long count, duration_ns;
};

// A NaN as float32, and as two values of 16 bits. It is none of those in guard zones and outputs.
constexpr unsigned leftovers_pattern = 0x7fff7fffu;

constexpr unsigned compare_threads = 256;  // as in compare.cuh

template <class Params>
void launch_on(BoundKernel kernel, unsigned blocks, const Params& params, cudaStream_t stream) {
  kernel.grid.x = blocks;
  launch(kernel, &params, stream);
}

}  // namespace

std::string Helpers::source() {
  return "harness/backends/cuda/device/helpers.cuh";
}
std::string Helpers::text() {
  return "#include \"" + source() + "\"\n";
}

Helpers::Helpers(CodePtr code, int multiprocessors, std::size_t shared_bytes)
    : library_(std::move(code)),
      multiprocessors_(static_cast<unsigned>(multiprocessors)),
      fill_zones_(kernel("fill_zones", 256, sizeof(ZonesParams))),
      check_zones_(kernel("check_zones", 256, sizeof(ZonesParams))),
      checksum_(kernel("checksum", 512, sizeof(ChecksumParams))),
      hold_stream_(kernel("hold_stream", 1, sizeof(HoldParams))),
      read_buffer_(kernel("read_buffer", 512, sizeof(BufferParams))),
      copy_buffer_(kernel("copy_buffer", 512, sizeof(BufferParams))),
      fill_random_(kernel("fill_random", 512, sizeof(BufferParams))),
      flip_signs_(kernel("flip_signs", 512, sizeof(SignsParams))),
      count_poison_(kernel("count_poison", 512, sizeof(PoisonParams))),
      poison_leftovers_(kernel("poison_leftovers", 1024, sizeof(LeftoversParams), shared_bytes)),
      keep_busy_(kernel("keep_busy", 256, sizeof(LoadParams), shared_bytes / 2)),
      compare_sums_(kernel("compare_sums", compare_threads, sizeof(CompareParams))),
      compare_worsts_(kernel("compare_worsts", compare_threads, sizeof(CompareParams))) {}

BoundKernel Helpers::kernel(const std::string& entry, unsigned threads, std::size_t param_bytes,
                            std::size_t shared_bytes) const {
  return bind_kernel(library_, {entry, {}, {threads, 1, 1}, shared_bytes}, param_bytes);
}

void Helpers::fill_zones(const Zone* zones, unsigned count, cudaStream_t stream) const {
  if (count > 0) launch_on(fill_zones_, count, ZonesParams{zones, nullptr}, stream);
}

void Helpers::check_zones(const Zone* zones, unsigned* first_bad, unsigned count,
                          cudaStream_t stream) const {
  if (count > 0) launch_on(check_zones_, count, ZonesParams{zones, first_bad}, stream);
}

void Helpers::checksum(const void* data, std::size_t bytes, unsigned long long* sum,
                       cudaStream_t stream) const {
  launch_on(checksum_, 4 * multiprocessors_, ChecksumParams{data, bytes, sum}, stream);
}

void Helpers::count_poison(const void* data, std::size_t bytes, DType dtype,
                           unsigned long long* sum, cudaStream_t stream) const {
  const auto size = static_cast<unsigned>(size_of(dtype));
  launch_on(count_poison_, 4 * multiprocessors_, PoisonParams{data, bytes / size, size, sum},
            stream);
}

void Helpers::hold_stream(unsigned* release, unsigned* timed_out, std::uint64_t timeout_ns,
                          cudaStream_t stream) const {
  launch_on(hold_stream_, 1, HoldParams{release, timed_out, timeout_ns}, stream);
}

void Helpers::read_buffer(void* data, std::size_t bytes, cudaStream_t stream) const {
  launch_on(read_buffer_, 4 * multiprocessors_, BufferParams{data, data, bytes / 16}, stream);
}

void Helpers::copy_buffer(const void* from, void* to, std::size_t bytes,
                          cudaStream_t stream) const {
  const std::size_t per_block = 4 * 512 * 16;
  const std::size_t blocks = (bytes + per_block - 1) / per_block;
  launch_on(copy_buffer_, static_cast<unsigned>(blocks), BufferParams{from, to, bytes / 16},
            stream);
}

void Helpers::fill_random(void* data, std::size_t bytes, cudaStream_t stream) const {
  launch_on(fill_random_, 4 * multiprocessors_, BufferParams{data, data, bytes / 16}, stream);
}

void Helpers::flip_signs(void* data, std::size_t bytes, DType dtype, SignStream signs,
                         cudaStream_t stream) const {
  const unsigned exponent = dtype == DType::float16 ? 0x7c00u : 0x7f80u;
  const auto step = static_cast<unsigned>(size_of(dtype) / 2);  // in half words
  launch_on(flip_signs_, 4 * multiprocessors_,
            SignsParams{data, bytes / size_of(dtype), signs.key, step, step - 1, exponent}, stream);
}

void Helpers::compare(const CompareParams& params, bool worsts, std::int64_t blocks,
                      cudaStream_t stream) const {
  launch_on(worsts ? compare_worsts_ : compare_sums_, static_cast<unsigned>(blocks), params,
            stream);
}

void Helpers::poison_leftovers(cudaStream_t stream) const {
  const auto words = static_cast<unsigned>(poison_leftovers_.shared_bytes / sizeof(unsigned));
  // An SM whose first block begins late leaves its share to others, so that there are more blocks.
  launch_on(poison_leftovers_, 3 * multiprocessors_, LeftoversParams{leftovers_pattern, words},
            stream);
}

void Helpers::keep_busy(void* data, std::size_t bytes, std::uint64_t duration_ns,
                        cudaStream_t stream) const {
  launch_on(keep_busy_, (multiprocessors_ + 3) / 4, LoadParams{data, bytes / 16, duration_ns},
            stream);
}

}  // namespace gla_bench::cuda
