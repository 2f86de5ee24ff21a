#pragma once
// CUDA C++ as C++: what a kernel's source uses of the language and of its built-in functions, for a
// compiler of the host. The threads of a block take turns on one thread of the host (threads.hpp);
// they change only where they wait for each other.

#include <vector_types.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <vector_functions.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "interface.hpp"

// The headers above are for the host. Kernels are told that they are compiled for sm_90a.
#define __CUDA_ARCH__ 900

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __forceinline__
#undef __noinline__
#undef __launch_bounds__
#undef __cluster_dims__
#define __global__ __attribute__((visibility("default")))
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline
#define __noinline__
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)

extern "C" {
alignas(1024) inline unsigned char gla_bench_shared_memory[gla_bench::emulated::shared_room_bytes];
__attribute__((visibility("default"))) gla_bench::emulated::Exchange gla_bench_emulated{
    nullptr, nullptr, gla_bench_shared_memory + gla_bench::emulated::shared_begin};
}

#define threadIdx (gla_bench_emulated.place->thread)
#define blockIdx (gla_bench_emulated.place->block)
#define blockDim (gla_bench_emulated.place->block_extents)
#define gridDim (gla_bench_emulated.place->grid)

namespace gla_bench::emulated {

/// Shared variables of this object's kernels, in bytes.
inline unsigned variables_bytes = 0;

inline unsigned place_of_variable(unsigned long bytes) {
  const unsigned place = (variables_bytes + 127) / 128 * 128;
  variables_bytes = place + static_cast<unsigned>(bytes);
  if (variables_bytes > most_variables_bytes)
    gla_bench_emulated.runtime->fail("more than 48 KiB of shared variables");
  return place;
}

/// The block's shared variable of this declaration (source.hpp), of which `Key` is the only one.
template <class T, class Key>
T& shared_variable(Key) {
  static const unsigned place = place_of_variable(sizeof(T));
  return *reinterpret_cast<T*>(gla_bench_emulated.shared - shared_begin + place);
}

inline constexpr int warp = 32;
inline constexpr unsigned all_lanes = 0xffffffffu;

inline unsigned lane() {
  const Place& place = *gla_bench_emulated.place;
  return (place.thread.x +
          place.block_extents.x * (place.thread.y + place.block_extents.y * place.thread.z)) %
         warp;
}

template <class Mine>
void meet_lanes(unsigned mask, Mine& mine, Act act, const char* instruction) {
  gla_bench_emulated.runtime->meet_lanes(mask, &mine, act, instruction);
}

template <class To, class From>
To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

/// Each lane takes the value of another; NaN bits where that one takes no part.
template <class T>
struct Exchanged {
  T value;
  int from;
  T result;
};

template <class T>
T exchange(unsigned mask, T value, int from, const char* instruction) {
  Exchanged<T> mine{value, from, value};
  meet_lanes(
      mask, mine,
      [](void* const* all, int) {
        for (int i = 0; i < warp; ++i) {
          auto* each = static_cast<Exchanged<T>*>(all[i]);
          if (each == nullptr) continue;
          const auto* other = static_cast<Exchanged<T>*>(all[each->from]);
          if (other != nullptr)
            each->result = other->value;
          else
            std::memset(static_cast<void*>(&each->result), 0xff, sizeof(T));
        }
      },
      instruction);
  return mine.result;
}

/// The lane `from` of the segment of `width` lanes, or this lane where it lies outside of it.
inline int within(int from, int width) {
  const int own = static_cast<int>(lane()), first = own / width * width;
  return from >= first && from < first + width ? from : own;
}

struct Voted {
  bool value;
  unsigned result;
};

inline unsigned vote(unsigned mask, bool value, const char* instruction) {
  Voted mine{value, 0};
  meet_lanes(
      mask, mine,
      [](void* const* all, int) {
        unsigned result = 0;
        for (int i = 0; i < warp; ++i)
          if (all[i] != nullptr && static_cast<Voted*>(all[i])->value) result |= 1u << i;
        for (int i = 0; i < warp; ++i)
          if (all[i] != nullptr) static_cast<Voted*>(all[i])->result = result;
      },
      instruction);
  return mine.result;
}

template <class T>
T atomic_add(T* to, T value) {
  const T before = *to;
  *to = before + value;
  return before;
}

}  // namespace gla_bench::emulated

inline void __syncthreads() {
  int nothing = 0;
  gla_bench_emulated.runtime->meet_block(
      &nothing, [](void* const*, int) {}, "__syncthreads");
}

inline int __syncthreads_or(int value) {
  gla_bench_emulated.runtime->meet_block(
      &value,
      [](void* const* all, int count) {
        int any = 0;
        for (int i = 0; i < count; ++i)
          if (all[i] != nullptr) any |= *static_cast<int*>(all[i]);
        for (int i = 0; i < count; ++i)
          if (all[i] != nullptr) *static_cast<int*>(all[i]) = any != 0;
      },
      "__syncthreads_or");
  return value;
}

inline void __syncwarp(unsigned mask = gla_bench::emulated::all_lanes) {
  int nothing = 0;
  gla_bench::emulated::meet_lanes(
      mask, nothing, [](void* const*, int) {}, "__syncwarp");
}

template <class T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  const int own = static_cast<int>(gla_bench::emulated::lane());
  return gla_bench::emulated::exchange(mask, value, own / width * width + (from & (width - 1)),
                                       "__shfl_sync");
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  using namespace gla_bench::emulated;
  return exchange(mask, value, within(static_cast<int>(lane()) ^ bits, width), "__shfl_xor_sync");
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32) {
  using namespace gla_bench::emulated;
  return exchange(mask, value, within(static_cast<int>(lane() - by), width), "__shfl_up_sync");
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32) {
  using namespace gla_bench::emulated;
  return exchange(mask, value, within(static_cast<int>(lane() + by), width), "__shfl_down_sync");
}

inline unsigned __ballot_sync(unsigned mask, int value) {
  return gla_bench::emulated::vote(mask, value != 0, "__ballot_sync");
}
inline int __any_sync(unsigned mask, int value) {
  return gla_bench::emulated::vote(mask, value != 0, "__any_sync") != 0;
}
inline int __all_sync(unsigned mask, int value) {
  return gla_bench::emulated::vote(mask, value == 0, "__all_sync") == 0;
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned value) {
  for (int bits = 16; bits > 0; bits /= 2)
    value = std::min(value, __shfl_xor_sync(mask, value, bits));
  return value;
}

template <class T>
T atomicAdd(T* to, T value) {
  return gla_bench::emulated::atomic_add(to, value);
}
inline float atomicAdd(float* to, double value) {
  return gla_bench::emulated::atomic_add(to, static_cast<float>(value));
}
template <class T>
T atomicMax(T* to, T value) {
  const T before = *to;
  *to = std::max(before, value);
  return before;
}

inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __nanosleep(unsigned) {}

inline unsigned __float_as_uint(float x) {
  return gla_bench::emulated::bits_as<unsigned>(x);
}
inline int __float_as_int(float x) {
  return gla_bench::emulated::bits_as<int>(x);
}
inline float __uint_as_float(unsigned x) {
  return gla_bench::emulated::bits_as<float>(x);
}
inline float __int_as_float(int x) {
  return gla_bench::emulated::bits_as<float>(x);
}
inline int __clz(int x) {
  return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x));
}
inline int __popc(unsigned x) {
  return __builtin_popcount(x);
}
inline int __ffs(int x) {
  return __builtin_ffs(x);
}
inline float __expf(float x) {
  return std::exp(x);
}
inline float __log2f(float x) {
  return std::log2(x);
}
inline float __log10f(float x) {
  return std::log10(x);
}
inline float __powf(float x, float y) {
  return std::pow(x, y);
}
inline float __sinf(float x) {
  return std::sin(x);
}
inline float __cosf(float x) {
  return std::cos(x);
}
inline float __logf(float x) {
  return std::log(x);
}
inline float __fdividef(float x, float y) {
  return x / y;
}
inline float rsqrtf(float x) {
  return 1.0f / std::sqrt(x);
}
using std::isfinite;
using std::max;
using std::min;
inline float max(float x, float y) {
  return std::fmax(x, y);
}
inline float min(float x, float y) {
  return std::fmin(x, y);
}
inline long long min(long long x, int y) {
  return std::min<long long>(x, y);
}
inline long long max(long long x, int y) {
  return std::max<long long>(x, y);
}
inline long long min(int x, long long y) {
  return std::min<long long>(x, y);
}
inline unsigned min(unsigned x, int y) {
  return std::min(x, static_cast<unsigned>(y));
}
inline unsigned min(int x, unsigned y) {
  return std::min(static_cast<unsigned>(x), y);
}

template <class T>
T __ldg(const T* from) {
  return *from;
}
template <class T>
T __ldcs(const T* from) {
  return *from;
}
template <class T>
T __ldcg(const T* from) {
  return *from;
}
template <class T>
void __stcg(T* to, T value) {
  *to = value;
}
template <class T>
void __stcs(T* to, T value) {
  *to = value;
}

/// As an address: the distance from the block's dynamic shared memory.
inline std::size_t __cvta_generic_to_shared(const void* p) {
  return static_cast<std::size_t>(static_cast<const unsigned char*>(p) - gla_bench_emulated.shared);
}

#include "statement.hpp"
