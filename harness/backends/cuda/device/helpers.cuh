// The backend's own kernels. They fill and check guard zones, form checksums, hold a stream, empty
// the L2 cache and measure ceilings. Each takes one argument by value. helpers.hpp declares the
// matching host functions, and helpers.cpp has copies of the structs.

namespace helpers {

struct Zone {
  unsigned char* begin;
  unsigned long long bytes;
};

struct ZonesParams {
  const Zone* zones;
  unsigned* first_bad;  // per zone, from its begin; set to 0xffffffff before check_zones
};

struct ChecksumParams {
  const unsigned char* data;
  unsigned long long bytes;
  unsigned long long* sum;  // set to 0 before
};

struct PoisonParams {
  const void* data;
  unsigned long long count;  // of elements
  unsigned size;             // of one, bytes: 2 or 4
  unsigned long long* sum;   // set to 0 before
};

struct HoldParams {
  volatile unsigned* release;    // in host memory
  volatile unsigned* timed_out;  // in host memory
  unsigned long long timeout_ns;
};

struct BufferParams {
  const uint4* from;
  uint4* to;
  unsigned long long count;  // of 16-byte words
};

struct SignsParams {
  unsigned short* data;
  unsigned long long count;  // of elements
  unsigned long long key;    // of a SignStream
  unsigned step, first;      // half words of an element, and which of them holds the sign
  unsigned exponent;         // its bits in that half word: all ones in an infinity
};

struct LeftoversParams {
  unsigned pattern;
  unsigned words;  // of shared memory that a block has
};

struct LoadParams {
  uint4* data;
  unsigned long long count;  // of 16-byte words
  unsigned long long duration_ns;
};

// How many of a thread's 64 registers hold the pattern.
constexpr int held_registers = 56;

__device__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// A two-byte pattern that is a NaN in every dtype here (for float32, when repeated). A value read
// past the end of a tensor therefore shows in the result. The pattern differs from the poison 0xff,
// so that copied poison shows in the zone.
__device__ unsigned char pattern(const unsigned char* at) {
  return (reinterpret_cast<unsigned long long>(at) & 1) != 0 ? 0x7f : 0xd5;
}

__device__ unsigned long long mix(unsigned long long x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ULL;
  x = (x ^ (x >> 29)) * 0xa0761d6478bd642fULL;
  return x ^ (x >> 32);
}

}  // namespace helpers

// Writes the pattern into every zone. Grid: one block for each zone.
extern "C" __global__ void fill_zones(const __grid_constant__ helpers::ZonesParams p) {
  const helpers::Zone zone = p.zones[blockIdx.x];
  for (unsigned long long i = threadIdx.x; i < zone.bytes; i += blockDim.x)
    zone.begin[i] = helpers::pattern(zone.begin + i);
}

// Finds the first byte of each zone that does not hold the pattern. Grid: one block for each zone.
extern "C" __global__ void check_zones(const __grid_constant__ helpers::ZonesParams p) {
  const helpers::Zone zone = p.zones[blockIdx.x];
  for (unsigned long long i = threadIdx.x; i < zone.bytes; i += blockDim.x)
    if (zone.begin[i] != helpers::pattern(zone.begin + i))
      atomicMin(p.first_bad + blockIdx.x, static_cast<unsigned>(i));
}

// A 64-bit sum over (position, content) that does not depend on the order of the additions. Reads
// the data once. Grid-stride loop over 8-byte words; the first thread takes the last few bytes.
extern "C" __global__ void checksum(const __grid_constant__ helpers::ChecksumParams p) {
  const unsigned long long words = p.bytes / 8;
  const auto* data = reinterpret_cast<const unsigned long long*>(p.data);
  const unsigned long long first = blockIdx.x * static_cast<unsigned long long>(blockDim.x) + threadIdx.x;
  const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  unsigned long long sum = 0;
  for (unsigned long long i = first; i < words; i += step)
    sum += helpers::mix(data[i] + helpers::mix(i + 1));
  if (first == 0)
    for (unsigned long long i = words * 8; i < p.bytes; ++i)
      sum += helpers::mix(p.data[i] + helpers::mix(~i));
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  if (threadIdx.x % 32 == 0) atomicAdd(p.sum, sum);
}

// Counts the elements whose bits are all ones, which is the poison. Reads the data once in a
// grid-stride loop over elements.
extern "C" __global__ void count_poison(const __grid_constant__ helpers::PoisonParams p) {
  const unsigned long long first = blockIdx.x * static_cast<unsigned long long>(blockDim.x) + threadIdx.x;
  const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  const auto* halves = static_cast<const unsigned short*>(p.data);
  const auto* words = static_cast<const unsigned*>(p.data);
  unsigned count = 0;
  for (unsigned long long i = first; i < p.count; i += step)
    count += p.size == 2 ? halves[i] == 0xffffu : words[i] == 0xffffffffu;
  if (count > 0) atomicAdd(p.sum, static_cast<unsigned long long>(count));
}

// Blocks the stream until the host releases it, so that everything enqueued after it starts without
// waiting for the host. It stops after a time limit, because otherwise a host that waits for the
// stream would wait forever.
extern "C" __global__ void hold_stream(const __grid_constant__ helpers::HoldParams p) {
  const unsigned long long start = helpers::nanoseconds();
  while (*p.release == 0) {
    if (helpers::nanoseconds() - start > p.timeout_ns) {
      *p.timed_out = 1;
      __threadfence_system();
      return;
    }
  }
}

// Reads a buffer larger than the L2 cache. This evicts everything else, writes dirty lines to
// memory, and leaves only clean lines. The buffer is zero, so that nothing is ever written.
extern "C" __global__ void read_buffer(const __grid_constant__ helpers::BufferParams p) {
  const unsigned long long first = blockIdx.x * static_cast<unsigned long long>(blockDim.x) + threadIdx.x;
  const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  uint4 sum = make_uint4(0, 0, 0, 0);
#pragma unroll 4
  for (unsigned long long i = first; i < p.count; i += step) {
    const uint4 word = __ldcg(p.from + i);
    sum.x |= word.x, sum.y |= word.y, sum.z |= word.z, sum.w |= word.w;
  }
  if ((sum.x | sum.y | sum.z | sum.w) != 0) p.to[0] = sum;
}

// Copies with 16-byte accesses, four in flight for each thread. Used to measure the copy ceiling.
extern "C" __global__ void copy_buffer(const __grid_constant__ helpers::BufferParams p) {
  const unsigned long long block = 4ull * blockDim.x;
  for (unsigned long long base = blockIdx.x * block; base < p.count; base += gridDim.x * block) {
    uint4 words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const unsigned long long at = base + i * blockDim.x + threadIdx.x;
      if (at < p.count) words[i] = __ldcs(p.from + at);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const unsigned long long at = base + i * blockDim.x + threadIdx.x;
      if (at < p.count) __stcs(p.to + at, words[i]);
    }
  }
}

// Fills each 16-byte word with eight random bfloat16 values of magnitude [1, 2) and random sign.
// Multiplying zeros would draw less power and reach higher clocks than real work.
extern "C" __global__ void fill_random(const __grid_constant__ helpers::BufferParams p) {
  const unsigned long long first = blockIdx.x * static_cast<unsigned long long>(blockDim.x) + threadIdx.x;
  const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i = first; i < p.count; i += step) {
    const unsigned long long low = helpers::mix(2 * i + 1), high = helpers::mix(2 * i + 2);
    const auto numbers = [](unsigned long long bits) {
      return (static_cast<unsigned>(bits) & 0x807f807fu) | 0x3f803f80u;
    };
    p.to[i] = make_uint4(numbers(low), numbers(low >> 32), numbers(high), numbers(high >> 32));
  }
}

// Flips the signs of the finite elements that a SignStream (other_inputs.hpp) picks. A second call
// restores the original bits.
extern "C" __global__ void flip_signs(const __grid_constant__ helpers::SignsParams p) {
  const unsigned long long first = blockIdx.x * static_cast<unsigned long long>(blockDim.x) + threadIdx.x;
  const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i = first; i < p.count; i += step) {
    const unsigned long long word = helpers::mix(p.key + helpers::mix(i / 64 + 1));
    unsigned short& half = p.data[i * p.step + p.first];
    if ((word >> (i % 64) & 1) != 0 && (half & p.exponent) != p.exponent) half ^= 0x8000u;
  }
}

// Fills an SM's shared memory, as far as one block may have it, and most of its registers with the
// pattern. A kernel that reads what it did not write then finds the pattern, not what an earlier
// launch left. Grid: three blocks for each SM. A block has all of the SM's registers and shared memory,
// and stays until the others have begun, so that each has an SM of its own.
extern "C" __global__ void __launch_bounds__(1024, 1)
    poison_leftovers(const __grid_constant__ helpers::LeftoversParams p) {
  extern __shared__ unsigned words[];
  volatile unsigned* shared = words;
  for (unsigned i = threadIdx.x; i < p.words; i += blockDim.x) shared[i] = p.pattern;
  __syncthreads();
  // The loads lie before the barrier and the stores behind it, so all values are held across it.
  unsigned held[helpers::held_registers];
#pragma unroll
  for (int i = 0; i < helpers::held_registers; ++i) held[i] = shared[threadIdx.x + 32 * i];
  const long long start = clock64();
  while (clock64() - start < 20000) {
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < helpers::held_registers; ++i) shared[threadIdx.x + 32 * i] = held[i];
}

// Keeps memory and the SMs that it runs on busy for a time: it reads, changes and writes a buffer.
extern "C" __global__ void keep_busy(const __grid_constant__ helpers::LoadParams p) {
  const unsigned long long begin = helpers::nanoseconds();
  const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  unsigned long long i = blockIdx.x * static_cast<unsigned long long>(blockDim.x) + threadIdx.x;
  while (helpers::nanoseconds() - begin < p.duration_ns) {
    for (int pass = 0; pass < 16; ++pass, i += step) {
      if (i >= p.count) i %= p.count;
      uint4 word = __ldcg(p.data + i);
      word.x = word.x * 1664525u + 1013904223u;
      word.y ^= word.x;
      __stcg(p.data + i, word);
    }
  }
}

#include "harness/backends/cuda/device/compare.cuh"
