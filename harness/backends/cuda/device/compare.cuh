// Holds an output against its expected float64 values where it lies. A chunk of the tensor is cut
// into parts, and a block sums one part: each thread over the elements that it strides to, then the
// block over its threads in a fixed order, so that a repeat gives the same bits. The host adds the
// parts. Reads the output and the expected values (2 or 4 bytes, and 8, an element) once. Shared
// memory: one partial result of each warp. helpers.hpp has copies of the structs; what the sums mean
// is said in harness/backends/comparison.hpp, and host_comparison.cpp forms the same on the host.

namespace compare {

constexpr int threads = 256;
constexpr int warps = threads / 32;

struct Params {
  const void* got;
  const double* expected;
  void* parts;
  long long seq, heads, length, pitch, offset;
  long long outer, tokens, inner, row, chunk, pieces, chunk_heads;
  long long part, parts_of_chunk;
  double rms;
  int swapped, rows;
  int dtype;  // 0: float32, 1: bfloat16, 2: float16
  int padding;
};

struct PartSums {
  double error_squared, norm_squared, along, plain, squares, fourths, absolutes;
  long long elements, unwritten, not_finite, first_bad;
  long long got_all, got_bfloat16, got_float16;
  long long expected_all, expected_bfloat16, expected_float16;
};

struct PartWorst {
  double error;
  long long at;
};

__device__ float half_value(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

__device__ bool is_finite(double value) {
  return (__double_as_longlong(value) & 0x7ff0000000000000LL) != 0x7ff0000000000000LL;
}

__device__ bool is_nan(double value) {
  return value != value;
}

/// Rounded once, to nearest: the float32 below in size, made odd where it is not exact, rounds to a
/// shorter format as the double does.
__device__ float round_to(double value, int dtype) {
  if (dtype == 0) return __double2float_rn(value);
  const float below = __double2float_rz(value);
  unsigned bits = __float_as_uint(below);
  if (static_cast<double>(below) != value) bits |= 1u;
  if (dtype == 1) return __uint_as_float((bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u);
  unsigned short half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(__uint_as_float(bits)));
  return half_value(half);
}

struct Element {
  float got;
  bool poison;  // the bits of the stored element are all ones
};

__device__ Element load(const Params& p, long long index) {
  const long long logical_row = index / p.length;
  long long stored_row = logical_row;
  if (p.swapped) {
    const long long head = logical_row % p.heads, token = logical_row / p.heads;
    stored_row = (token / p.seq * p.heads + head) * p.seq + token % p.seq;
  }
  const long long at = p.offset + stored_row * (p.pitch > 0 ? p.pitch : p.length) + index % p.length;
  if (p.dtype == 0) {
    const unsigned bits = static_cast<const unsigned*>(p.got)[at];
    return {__uint_as_float(bits), bits == 0xffffffffu};
  }
  const unsigned short bits = static_cast<const unsigned short*>(p.got)[at];
  const float value = p.dtype == 1 ? __uint_as_float(static_cast<unsigned>(bits) << 16) : half_value(bits);
  return {value, bits == 0xffffu};
}

/// The infinity or the NaN that is expected, which takes part in no sum.
__device__ bool is_expected_extreme(const Element& element, double truth) {
  if (is_finite(truth)) return false;
  if (!is_nan(truth)) return static_cast<double>(element.got) == truth;
  return is_nan(element.got) && !element.poison;
}

/// The elements of one part of one chunk.
struct Part {
  long long first, last;  // in the chunk
  long long outer, token, head;  // where the chunk begins

  __device__ explicit Part(const Params& p) {
    const long long index = blockIdx.x / p.parts_of_chunk;
    const long long piece = index % p.pieces, pair = index / p.pieces, groups = p.inner / p.chunk_heads;
    outer = pair / groups;
    head = pair % groups * p.chunk_heads;
    token = piece * p.chunk;
    const long long end = piece + 1 == p.pieces ? p.tokens : token + p.chunk;
    const long long all = (end - token) * p.chunk_heads * p.row;
    first = blockIdx.x % p.parts_of_chunk * p.part;
    last = first + p.part < all ? first + p.part : all;
  }
  /// The logical element that is number `i` of the chunk.
  __device__ long long element(const Params& p, long long i) const {
    const long long in_rows = i / p.row;
    const long long t = token + in_rows / p.chunk_heads, h = head + in_rows % p.chunk_heads;
    return ((outer * p.tokens + t) * p.inner + h) * p.row + i % p.row;
  }
};

__device__ double sum_of_warp(double value) {
  for (int lane = 16; lane > 0; lane /= 2) value += __shfl_xor_sync(0xffffffffu, value, lane);
  return value;
}

__device__ long long sum_of_warp(long long value) {
  for (int lane = 16; lane > 0; lane /= 2) value += __shfl_xor_sync(0xffffffffu, value, lane);
  return value;
}

/// The lower of two elements, where -1 is none.
__device__ long long first_of(long long a, long long b) {
  if (a < 0) return b;
  return b < 0 || a < b ? a : b;
}

__device__ void count_coarse(float value, long long& all, long long& bfloat16, long long& float16) {
  if (!is_finite(value) || value == 0) return;
  const unsigned bits = __float_as_uint(value);
  ++all;
  bfloat16 += (bits & 0xffffu) == 0;
  float16 += (bits & 0x1fffu) == 0;
}

__device__ void add(const Params& p, long long index, PartSums& sums) {
  const Element element = load(p, index);
  const double truth = p.expected[index];
  if (p.dtype == 0) {
    count_coarse(element.got, sums.got_all, sums.got_bfloat16, sums.got_float16);
    count_coarse(__double2float_rn(truth), sums.expected_all, sums.expected_bfloat16,
                 sums.expected_float16);
  }
  if (is_expected_extreme(element, truth)) return;
  const double error = fabs(static_cast<double>(element.got) - truth), square = truth * truth;
  ++sums.elements;
  sums.error_squared += error * error;
  sums.norm_squared += square;
  if (!is_finite(error)) {
    sums.first_bad = first_of(sums.first_bad, index);
    ++(element.poison ? sums.unwritten : sums.not_finite);
  }
  const double apart = static_cast<double>(element.got) - round_to(truth, p.dtype);
  if (!is_finite(truth) || !is_finite(apart)) return;
  sums.along += apart * truth;
  sums.plain += apart;
  sums.squares += square;
  sums.fourths += square * square;
  sums.absolutes += fabs(truth);
}

__device__ double ratio(double error, double norm) {
  if (norm > 0) return error / norm;
  return error == 0 ? 0.0 : __longlong_as_double(0x7ff0000000000000LL);
}

/// The greater error; of equal ones the first element's.
__device__ void keep_worse(PartWorst& worst, double error, long long at) {
  if (at < 0 || error < worst.error) return;
  if (error > worst.error || at < worst.at) worst = {error, at};
}

__device__ void look_at(const Params& p, long long index, double size, PartWorst& worst) {
  const Element element = load(p, index);
  const double truth = p.expected[index];
  if (is_expected_extreme(element, truth)) return;
  const double norm = fmax(size, fabs(truth));
  keep_worse(worst, ratio(fabs(static_cast<double>(element.got) - truth), norm), index);
}

}  // namespace compare

extern "C" __global__ void __launch_bounds__(256) compare_sums(const __grid_constant__ compare::Params p) {
  using namespace compare;
  const Part part(p);
  PartSums sums{};
  sums.first_bad = -1;
  for (long long i = part.first + threadIdx.x; i < part.last; i += threads) add(p, part.element(p, i), sums);
  __shared__ PartSums of_warps[warps];
  PartSums of_warp;
  double* const reals[] = {&sums.error_squared, &sums.norm_squared, &sums.along, &sums.plain,
                           &sums.squares, &sums.fourths, &sums.absolutes};
  double* const real_results[] = {&of_warp.error_squared, &of_warp.norm_squared, &of_warp.along, &of_warp.plain,
                                  &of_warp.squares, &of_warp.fourths, &of_warp.absolutes};
  for (int i = 0; i < 7; ++i) *real_results[i] = sum_of_warp(*reals[i]);
  of_warp.elements = sum_of_warp(sums.elements);
  of_warp.unwritten = sum_of_warp(sums.unwritten);
  of_warp.not_finite = sum_of_warp(sums.not_finite);
  of_warp.got_all = sum_of_warp(sums.got_all);
  of_warp.got_bfloat16 = sum_of_warp(sums.got_bfloat16);
  of_warp.got_float16 = sum_of_warp(sums.got_float16);
  of_warp.expected_all = sum_of_warp(sums.expected_all);
  of_warp.expected_bfloat16 = sum_of_warp(sums.expected_bfloat16);
  of_warp.expected_float16 = sum_of_warp(sums.expected_float16);
  of_warp.first_bad = sums.first_bad;
  for (int lane = 16; lane > 0; lane /= 2)
    of_warp.first_bad = first_of(of_warp.first_bad, __shfl_xor_sync(0xffffffffu, of_warp.first_bad, lane));
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = of_warp;
  __syncthreads();
  if (threadIdx.x != 0) return;
  PartSums all = of_warps[0];
  for (int w = 1; w < warps; ++w) {
    const PartSums& one = of_warps[w];
    all.error_squared += one.error_squared;
    all.norm_squared += one.norm_squared;
    all.along += one.along;
    all.plain += one.plain;
    all.squares += one.squares;
    all.fourths += one.fourths;
    all.absolutes += one.absolutes;
    all.elements += one.elements;
    all.unwritten += one.unwritten;
    all.not_finite += one.not_finite;
    all.first_bad = first_of(all.first_bad, one.first_bad);
    all.got_all += one.got_all;
    all.got_bfloat16 += one.got_bfloat16;
    all.got_float16 += one.got_float16;
    all.expected_all += one.expected_all;
    all.expected_bfloat16 += one.expected_bfloat16;
    all.expected_float16 += one.expected_float16;
  }
  static_cast<PartSums*>(p.parts)[blockIdx.x] = all;
}

// Three blocks of a multiprocessor: left to itself, the compiler keeps to fewer registers than there are, and spills.
extern "C" __global__ void __launch_bounds__(256, 3) compare_worsts(const __grid_constant__ compare::Params p) {
  using namespace compare;
  const Part part(p);
  PartWorst worst{-1, -1};
  if (p.rows) {  // a warp takes a row, whose size it needs first
    const int lane = threadIdx.x % 32;
    for (long long row = part.first + threadIdx.x / 32 * p.row; row < part.last; row += warps * p.row) {
      const long long start = part.element(p, row);
      double squares = 0;
      long long count = 0;
      for (long long j = lane; j < p.row; j += 32) {
        const double truth = p.expected[start + j];
        if (is_expected_extreme(load(p, start + j), truth)) continue;
        squares += truth * truth;
        ++count;
      }
      squares = sum_of_warp(squares);
      count = sum_of_warp(count);
      const double size = fmax(p.rms, count > 0 ? sqrt(squares / static_cast<double>(count)) : 0.0);
      for (long long j = lane; j < p.row; j += 32) look_at(p, start + j, size, worst);
    }
  } else {
    for (long long i = part.first + threadIdx.x; i < part.last; i += threads)
      look_at(p, part.element(p, i), p.rms, worst);
  }
  for (int lane = 16; lane > 0; lane /= 2) {
    const double error = __shfl_xor_sync(0xffffffffu, worst.error, lane);
    const long long at = __shfl_xor_sync(0xffffffffu, worst.at, lane);
    keep_worse(worst, error, at);
  }
  __shared__ PartWorst of_warps[warps];
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = worst;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < warps; ++w) keep_worse(worst, of_warps[w].error, of_warps[w].at);
  static_cast<PartWorst*>(p.parts)[blockIdx.x] = worst;
}
