#pragma once
// Instructions of sm_80: of one warp, or of one thread.

#include "ptx.hpp"

namespace gla_bench::emulated {

/// Lane l of the 8 x 8 matrix m takes the pair at row l / 4, columns 2 (l % 4).. of the rows that
/// lanes 8 m.. point at; transposed: the pair at column l / 4.
template <bool transposed>
void load_matrices(void* const* all, int) {
  for (int l = 0; l < warp; ++l) {
    const Lane& to = *static_cast<Lane*>(all[l]);
    for (int m = 0; m < 4; ++m) {
      unsigned short pair[2];
      for (int i = 0; i < 2; ++i) {
        const int row = transposed ? 2 * (l % 4) + i : l / 4;
        const int column = transposed ? l / 4 : 2 * (l % 4) + i;
        const Lane& from = *static_cast<Lane*>(all[8 * m + row]);
        std::memcpy(&pair[i], from[4].shared() + 2 * column, 2);
      }
      unsigned both;
      std::memcpy(&both, pair, sizeof both);
      to[static_cast<std::size_t>(m)].set(both);
    }
  }
}

struct Bfloat16Operands {
  static constexpr int per_register = 2;
  static float value(unsigned bits, int i) {
    return bits_as<float>((i == 0 ? bits << 16 : bits & 0xffff0000u));
  }
};
struct Float16Operands {
  static constexpr int per_register = 2;
  static float value(unsigned bits, int i) {
    __half_raw raw;
    raw.x = static_cast<unsigned short>(bits >> (16 * i));
    return __half2float(__half(raw));
  }
};
struct Tf32Operands {  // the hardware ignores the low 13 bits
  static constexpr int per_register = 1;
  static float value(unsigned bits, int) { return bits_as<float>(bits & 0xffffe000u); }
};

/// D [16 x 8] = A [16 x k] B [k x 8] + C, fragments as device/mma.cuh says. Operands: d0-3, a0-3,
/// b0-1, c0-3. The sum is rounded once, where the hardware rounds or cuts more often.
template <class Operands>
void multiply(void* const* all, int) {
  constexpr int n = Operands::per_register, half = 4 * n, k = 2 * half;
  float a[16][k], b[k][8];
  for (int l = 0; l < warp; ++l) {
    const Lane& lane = *static_cast<Lane*>(all[l]);
    const int g = l / 4, t = l % 4;
    for (int r = 0; r < 4; ++r)
      for (int i = 0; i < n; ++i)
        a[g + 8 * (r % 2)][n * t + i + half * (r / 2)] =
            Operands::value(lane[static_cast<std::size_t>(4 + r)].as<unsigned>(), i);
    for (int r = 0; r < 2; ++r)
      for (int i = 0; i < n; ++i)
        b[n * t + i + half * r][g] =
            Operands::value(lane[static_cast<std::size_t>(8 + r)].as<unsigned>(), i);
  }
  for (int l = 0; l < warp; ++l) {
    const Lane& lane = *static_cast<Lane*>(all[l]);
    const int g = l / 4, t = l % 4;
    float sums[4];
    for (int r = 0; r < 4; ++r) {
      double sum = lane[static_cast<std::size_t>(10 + r)].as<float>();
      for (int i = 0; i < k; ++i)
        sum += static_cast<double>(a[g + 8 * (r / 2)][i]) * b[i][2 * t + r % 2];
      sums[r] = static_cast<float>(sum);
    }
    for (int r = 0; r < 4; ++r) lane[static_cast<std::size_t>(r)].set(sums[r]);
  }
}

template <Act act>
void of_warp(Lane& operands, const char* name) {
  meet_lanes(all_lanes, operands, act, name);
}

/// stmatrix: the reverse of load_matrices.
template <bool transposed>
void store_matrices(void* const* all, int) {
  for (int l = 0; l < warp; ++l) {
    const Lane& from = *static_cast<Lane*>(all[l]);
    for (int m = 0; m < 4; ++m) {
      const unsigned both = from[static_cast<std::size_t>(1 + m)].as<unsigned>();
      for (int i = 0; i < 2; ++i) {
        const int row = transposed ? 2 * (l % 4) + i : l / 4;
        const int column = transposed ? l / 4 : 2 * (l % 4) + i;
        const Lane& to = *static_cast<Lane*>(all[8 * m + row]);
        const auto element = static_cast<unsigned short>(both >> (16 * i));
        std::memcpy(const_cast<unsigned char*>(to[0].shared()) + 2 * column, &element, 2);
      }
    }
  }
}

/// movmatrix: the pair at row l / 4, columns 2 (l % 4).. becomes that of the transposed matrix.
inline void transpose_matrix(void* const* all, int) {
  unsigned short matrix[8][8];
  for (int l = 0; l < warp; ++l) {
    const unsigned both = (*static_cast<Lane*>(all[l]))[1].as<unsigned>();
    for (int i = 0; i < 2; ++i)
      matrix[l / 4][2 * (l % 4) + i] = static_cast<unsigned short>(both >> (16 * i));
  }
  for (int l = 0; l < warp; ++l) {
    const unsigned low = matrix[2 * (l % 4)][l / 4], high = matrix[2 * (l % 4) + 1][l / 4];
    (*static_cast<Lane*>(all[l]))[0].set(low | high << 16);
  }
}

inline float flushed(float x) {
  return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x;
}

inline unsigned rounded_to_tf32(float x) {
  const unsigned bits = bits_as<unsigned>(x);
  if ((bits & 0x7f800000u) == 0x7f800000u) return bits;
  return (bits + 0x1000u) & 0xffffe000u;
}

inline void exp2_fast(Lane& o, const char*) {
  o[0].set(flushed(std::exp2(flushed(o[1].as<float>()))));
}
inline void reciprocal_fast(Lane& o, const char*) {
  o[0].set(flushed(1.0f / flushed(o[1].as<float>())));
}
inline void round_tf32(Lane& o, const char*) {
  o[0].set(rounded_to_tf32(o[1].as<float>()));
}
inline void move(Lane& o, const char*) {
  o[0].set(o[1].as<unsigned>());
}
inline void nothing(Lane&, const char*) {}

// --- asynchronous copies of a thread

inline void copy_async(Lane& o, const char*) {
  gla_bench_emulated.runtime->copy(const_cast<unsigned char*>(o[0].shared()),
                                   o[1].as<const void*>(), o[2].as<int>(), o[3].as<int>());
}
inline void commit_copies(Lane&, const char*) {
  gla_bench_emulated.runtime->commit_copies();
}
inline void wait_copies(Lane& o, const char*) {
  gla_bench_emulated.runtime->wait_copies(o[0].as<int>());
}

// --- words from and to memory: {values}, [from] and [to], {values}

template <bool in_shared>
void load_words(Lane& o, const char*) {
  const void* from = in_shared ? o.back().shared() : o.back().as<const unsigned char*>();
  for (std::size_t i = 0; i + 1 < o.size(); ++i) o[i].set(static_cast<const unsigned*>(from)[i]);
}
inline void store_shared_words(Lane& o, const char*) {
  auto* to = const_cast<unsigned char*>(o[0].shared());
  for (std::size_t i = 1; i < o.size(); ++i) {
    const auto word = o[i].as<unsigned>();
    std::memcpy(to + 4 * (i - 1), &word, sizeof word);
  }
}
/// The last operand is the policy of the cache.
inline void store_words(Lane& o, const char*) {
  auto* to = o[0].as<unsigned*>();
  for (std::size_t i = 1; i + 1 < o.size(); ++i) to[i - 1] = o[i].as<unsigned>();
}
template <class T>
void add_to_memory(Lane& o, const char*) {
  auto* to = o[0].as<T*>();
  for (std::size_t i = 1; i < o.size(); ++i) to[i - 1] += o[i].as<T>();
}

}  // namespace gla_bench::emulated
