#pragma once
// What sm_90a has beyond sm_80: mbarriers, bulk copies, products of a warpgroup. Bulk copies happen
// when no thread of the block can go on without them, or when they are waited for; products happen
// when the last thread of the warpgroup asks for them.

#include "warp.hpp"

namespace gla_bench::emulated {

// --- mbarriers

/// The eight bytes in shared memory.
struct Barrier {
  std::uint16_t phase, expected;
  std::int16_t pending;
  std::int16_t initialised;
};
static_assert(sizeof(Barrier) == 8);

inline constexpr std::int16_t is_initialised = 0x1b;

/// The bytes that copies have yet to bring, by barrier. (The hardware keeps them in the barrier.)
inline std::vector<std::pair<Barrier*, long>> expected_bytes;

inline long& bytes_of(Barrier* barrier) {
  for (auto& [known, bytes] : expected_bytes)
    if (known == barrier) return bytes;
  return expected_bytes.emplace_back(barrier, 0).second;
}

inline Barrier* barrier_at(const Operand& operand) {
  auto* barrier = reinterpret_cast<Barrier*>(const_cast<unsigned char*>(operand.shared()));
  if (barrier->initialised != is_initialised)
    gla_bench_emulated.runtime->fail("an mbarrier is used that was not initialised");
  return barrier;
}

inline void end_phase(Barrier* barrier) {
  if (barrier->pending < 0)
    gla_bench_emulated.runtime->fail("more threads arrived at an mbarrier than it expects");
  if (barrier->pending > 0 || bytes_of(barrier) != 0) return;
  barrier->phase ^= 1;
  barrier->pending = static_cast<std::int16_t>(barrier->expected);
}

inline void arrive(Barrier* barrier, int count, long bytes) {
  bytes_of(barrier) += bytes;
  barrier->pending = static_cast<std::int16_t>(barrier->pending - count);
  end_phase(barrier);
}

inline void bring(Barrier* barrier, long bytes) {
  bytes_of(barrier) -= bytes;
  end_phase(barrier);
}

inline void barrier_init(Lane& o, const char*) {
  auto* barrier = reinterpret_cast<Barrier*>(const_cast<unsigned char*>(o[0].shared()));
  const auto count = o[1].as<std::uint16_t>();
  *barrier = {0, count, static_cast<std::int16_t>(count), is_initialised};
  bytes_of(barrier) = 0;
}
inline void barrier_invalidate(Lane& o, const char*) {
  *barrier_at(o[0]) = {};
}
inline void barrier_arrive(Lane& o, const char*) {
  arrive(barrier_at(o[0]), o.size() > 1 ? o[1].as<int>() : 1, 0);
}
inline void barrier_expect(Lane& o, const char*) {
  arrive(barrier_at(o[0]), 1, o[1].as<int>());
}

/// Waits, where the hardware would answer that the phase is not over and be asked again.
inline void barrier_wait(Lane& o, const char* name) {
  struct Wanted {
    Barrier* barrier;
    unsigned parity;
  } wanted{barrier_at(o[1]), o[2].as<unsigned>()};
  gla_bench_emulated.runtime->wait_until(
      [](void* data) {
        const auto* wanted = static_cast<Wanted*>(data);
        return wanted->barrier->phase != wanted->parity;
      },
      &wanted, name);
  o[0].set(1u);
}

// --- named barriers

inline void named_barrier(Lane& o, const char* name) {
  gla_bench_emulated.runtime->meet_named(o[0].as<int>(), o[1].as<int>(), true, false, name);
}
inline void named_arrive(Lane& o, const char* name) {
  gla_bench_emulated.runtime->meet_named(o[0].as<int>(), o[1].as<int>(), false, false, name);
}
/// barrier.red.or.pred result, name, threads, any
inline void named_barrier_or(Lane& o, const char* name) {
  const bool any = gla_bench_emulated.runtime->meet_named(o[1].as<int>(), o[2].as<int>(), true,
                                                          o[3].as<unsigned>() != 0, name);
  o[0].set(any ? 1u : 0u);
}

// --- clusters

inline void cluster_arrive(Lane&, const char*) {
  gla_bench_emulated.runtime->arrive_cluster();
}
inline void cluster_wait(Lane&, const char* name) {
  gla_bench_emulated.runtime->wait_cluster(name);
}
/// mapa there, address, block
inline void map_address(Lane& o, const char*) {
  const auto address = o[1].as<unsigned>(), block = o[2].as<unsigned>();
  if (address >> block_shift != 0 || block >= most_blocks)
    gla_bench_emulated.runtime->fail("mapa: not an address in this block, or no such block");
  o[0].set(address | (block + 1) << block_shift);
}

/// st.async [to], {four values}, [barrier], both in another block: it happens like a bulk copy.
inline void store_async(Lane& o, const char*) {
  struct Store {
    unsigned char* to;
    Barrier* barrier;
    unsigned values[4], block;
  } store{const_cast<unsigned char*>(o[0].shared()),
          barrier_at(o[5]),
          {o[1].as<unsigned>(), o[2].as<unsigned>(), o[3].as<unsigned>(), o[4].as<unsigned>()},
          block_of(o[0].as<unsigned>())};
  gla_bench_emulated.runtime->later(
      [](const void* data) {
        const auto& s = *static_cast<const Store*>(data);
        if (s.block > 0) gla_bench_emulated.runtime->shared_of(s.block - 1);
        std::memcpy(s.to, s.values, sizeof s.values);
        bring(s.barrier, sizeof s.values);
      },
      &store, sizeof store);
}

// --- bulk copies

/// Calls `each(in the box, in the tensor)` for every element of a box, with null for an element
/// that the tensor lacks. The first is its offset in shared memory, swizzled.
template <class Each>
void for_box(const TensorBox& map, unsigned shared, const int* first, Each each) {
  const unsigned size = map.element_bytes;
  unsigned offset = shared;
  int at[5] = {};
  for (;;) {
    bool inside = true;
    long long from = 0;
    for (int axis = 0; axis < map.axes; ++axis) {
      const long long place = static_cast<long long>(first[axis]) + at[axis];
      inside = inside && place >= 0 && place < map.extents[axis];
      from += place * (axis == 0 ? 1 : map.strides[axis - 1]);
    }
    const unsigned permuted = map.swizzle_bytes == 128  ? offset ^ ((offset >> 7 & 7u) << 4)
                              : map.swizzle_bytes == 64 ? offset ^ ((offset >> 7 & 3u) << 4)
                              : map.swizzle_bytes == 32 ? offset ^ ((offset >> 7 & 1u) << 4)
                                                        : offset;
    each(gla_bench_emulated.shared + permuted, inside ? map.first + from * size : nullptr, size);
    offset += size;
    int axis = 0;
    for (; axis < map.axes; ++axis) {
      if (++at[axis] < map.box[axis]) break;
      at[axis] = 0;
    }
    if (axis == map.axes) return;
  }
}

inline unsigned short bfloat16_of(float x) {
  return bits_as<unsigned short>(__float2bfloat16_rn(x));
}

/// Adds one bfloat16 to another, the sum rounded to nearest.
inline void add_bfloat16(unsigned char* to, const unsigned char* from) {
  unsigned short words[2];
  std::memcpy(&words[0], to, 2), std::memcpy(&words[1], from, 2);
  words[0] =
      bfloat16_of(Bfloat16Operands::value(words[0], 0) + Bfloat16Operands::value(words[1], 0));
  std::memcpy(to, &words[0], 2);
}

struct BoxCopy {
  const TensorBox* map;
  unsigned shared;
  int first[5];
  Barrier* barrier;
};

/// cp.async.bulk.tensor.4d [to], [map, {c0, c1, c2, c3}], [barrier]
inline void copy_box_in(Lane& o, const char*) {
  BoxCopy copy{o[1].as<const TensorBox*>(),
               o[0].as<unsigned>(),
               {o[2].as<int>(), o[3].as<int>(), o[4].as<int>(), o[5].as<int>()},
               barrier_at(o[6])};
  gla_bench_emulated.runtime->later(
      [](const void* data) {
        const auto& c = *static_cast<const BoxCopy*>(data);
        long bytes = 0;
        for_box(*c.map, c.shared, c.first,
                [&](unsigned char* to, unsigned char* from, unsigned size) {
                  if (from != nullptr)
                    std::memcpy(to, from, size);
                  else
                    std::memset(to, 0, size);
                  bytes += size;
                });
        bring(c.barrier, bytes);
      },
      &copy, sizeof copy);
}

/// cp.async.bulk.tensor.4d [map, {c0, c1, c2, c3}], [from], which may add instead of replacing. Of
/// tensors that are added to only those in bfloat16 are known.
template <bool adds>
void copy_box_out(Lane& o, const char*) {
  BoxCopy copy{o[0].as<const TensorBox*>(),
               o[5].as<unsigned>(),
               {o[1].as<int>(), o[2].as<int>(), o[3].as<int>(), o[4].as<int>()},
               nullptr};
  if (adds && !copy.map->is_bfloat16)
    gla_bench_emulated.runtime->fail("cp.reduce of a tensor that is not in bfloat16");
  gla_bench_emulated.runtime->out(
      [](const void* data) {
        const auto& c = *static_cast<const BoxCopy*>(data);
        for_box(*c.map, c.shared, c.first,
                [](unsigned char* from, unsigned char* to, unsigned size) {
                  if (to == nullptr) return;
                  if constexpr (adds)
                    add_bfloat16(to, from);
                  else
                    std::memcpy(to, from, size);
                });
      },
      &copy, sizeof copy);
}

struct ByteCopy {
  unsigned char* to;
  const unsigned char* from;
  unsigned bytes;
  Barrier* barrier;
};

inline void copy_bytes_in(Lane& o, const char*) {
  ByteCopy copy{const_cast<unsigned char*>(o[0].shared()), o[1].as<const unsigned char*>(),
                o[2].as<unsigned>(), barrier_at(o[3])};
  gla_bench_emulated.runtime->later(
      [](const void* data) {
        const auto& c = *static_cast<const ByteCopy*>(data);
        std::memcpy(c.to, c.from, c.bytes);
        bring(c.barrier, c.bytes);
      },
      &copy, sizeof copy);
}

template <bool adds>
void copy_bytes_out(Lane& o, const char*) {
  ByteCopy copy{o[0].as<unsigned char*>(), o[1].shared(), o[2].as<unsigned>(), nullptr};
  gla_bench_emulated.runtime->out(
      [](const void* data) {
        const auto& c = *static_cast<const ByteCopy*>(data);
        if constexpr (adds) {
          for (unsigned i = 0; i < c.bytes / sizeof(float); ++i)
            reinterpret_cast<float*>(c.to)[i] += reinterpret_cast<const float*>(c.from)[i];
        } else {
          std::memcpy(c.to, c.from, c.bytes);
        }
      },
      &copy, sizeof copy);
}

inline void commit_out(Lane&, const char*) {
  gla_bench_emulated.runtime->commit_out();
}
inline void wait_out(Lane& o, const char*) {
  gla_bench_emulated.runtime->wait_out(o[0].as<int>());
}

// --- wgmma

/// An operand in tiles of rows of 128 bytes, their 16-byte pieces permuted by row.
struct TileOperand {
  unsigned begin, leading, stride;
  bool along_k;

  TileOperand(unsigned long long descriptor, bool contiguous_along_k)
      : begin(static_cast<unsigned>(descriptor & 0x3fff) << 4),
        leading(static_cast<unsigned>(descriptor >> 16 & 0x3fff) << 4),
        stride(static_cast<unsigned>(descriptor >> 32 & 0x3fff) << 4),
        along_k(contiguous_along_k) {}

  /// Element k of row (of A) or column (of B) i.
  unsigned short at(unsigned i, unsigned k) const {
    const unsigned place = along_k ? i / 8 * stride + i % 8 * 128 + 2 * k
                                   : i / 64 * leading + k / 8 * stride + k % 8 * 128 + i % 64 * 2;
    const unsigned offset = begin + place;
    unsigned short bits;
    std::memcpy(&bits, gla_bench_emulated.shared + (offset ^ ((offset >> 7 & 7u) << 4)), 2);
    return bits;
  }
};

/// D [64 x n] = A [64 x 16] B [16 x n] (+ D), by the 128 threads of a warpgroup. Operands: n / 2 of
/// D, A (a descriptor, or four registers), B, whether D is added, twice 1, and along which axis B
/// is contiguous; A's comes before B's where A is a descriptor.
template <class Operands, int n>
void multiply_group(void* const* all, int) {
  constexpr std::size_t sums = n / 2;
  static float a[64][16], b[16][n];
  const Lane& any = *static_cast<Lane*>(all[0]);
  const bool in_registers = any.size() == sums + 4 + 1 + 3 + 1;
  const std::size_t y = sums + (in_registers ? 4 : 1);
  const bool add = any[y + 1].as<unsigned>() != 0;
  const bool b_along_k = any[any.size() - 1].as<int>() == 0;
  if (in_registers) {
    for (int t = 0; t < 128; ++t) {
      const Lane& lane = *static_cast<Lane*>(all[t]);
      for (int r = 0; r < 4; ++r)
        for (int i = 0; i < 2; ++i)
          a[t / 32 * 16 + t % 32 / 4 + 8 * (r % 2)][2 * (t % 4) + i + 8 * (r / 2)] =
              Operands::value(lane[sums + static_cast<std::size_t>(r)].template as<unsigned>(), i);
    }
  } else {
    const TileOperand from(any[sums].as<unsigned long long>(), any[any.size() - 2].as<int>() == 0);
    for (unsigned i = 0; i < 64; ++i)
      for (unsigned k = 0; k < 16; ++k) a[i][k] = Operands::value(from.at(i, k), 0);
  }
  const TileOperand from(any[y].as<unsigned long long>(), b_along_k);
  for (unsigned k = 0; k < 16; ++k)
    for (unsigned j = 0; j < n; ++j) b[k][j] = Operands::value(from.at(j, k), 0);
  for (int t = 0; t < 128; ++t) {
    const Lane& lane = *static_cast<Lane*>(all[t]);
    for (std::size_t r = 0; r < sums; ++r) {
      const std::size_t row = static_cast<std::size_t>(t / 32 * 16 + t % 32 / 4) + 8 * (r / 2 % 2);
      const std::size_t column = r / 4 * 8 + static_cast<std::size_t>(2 * (t % 4)) + r % 2;
      double sum = add ? lane[r].template as<float>() : 0;
      for (int k = 0; k < 16; ++k) sum += static_cast<double>(a[row][k]) * b[k][column];
      lane[r].set(static_cast<float>(sum));
    }
  }
}

template <class Operands, int n>
void warpgroup_product(Lane& operands, const char* name) {
  gla_bench_emulated.runtime->meet_warpgroup(&operands, multiply_group<Operands, n>, name);
}

// --- pairs of 16-bit numbers

inline unsigned pair_of(unsigned short low, unsigned short high) {
  return static_cast<unsigned>(high) << 16 | low;
}
inline void pack_bfloat16(Lane& o, const char*) {
  o[0].set(pair_of(bfloat16_of(o[2].as<float>()), bfloat16_of(o[1].as<float>())));
}
inline void pack_float16(Lane& o, const char*) {
  const auto half = [](float x) { return bits_as<unsigned short>(__float2half_rn(x)); };
  o[0].set(pair_of(half(o[2].as<float>()), half(o[1].as<float>())));
}
template <class Function>
void on_pairs(Lane& o, Function function) {
  const unsigned x = o[1].as<unsigned>(), y = o[2].as<unsigned>();
  unsigned short result[2];
  for (int i = 0; i < 2; ++i)
    result[i] = bfloat16_of(function(Bfloat16Operands::value(x, i), Bfloat16Operands::value(y, i)));
  o[0].set(pair_of(result[0], result[1]));
}
inline void multiply_pairs(Lane& o, const char*) {
  on_pairs(o, [](float x, float y) { return x * y; });
}
inline void larger_pairs(Lane& o, const char*) {
  on_pairs(o, [](float x, float y) { return std::fmax(x, y); });
}
inline void permute_bytes(Lane& o, const char*) {
  const unsigned long long bytes =
      static_cast<unsigned long long>(o[2].as<unsigned>()) << 32 | o[1].as<unsigned>();
  const unsigned order = o[3].as<unsigned>();
  unsigned result = 0;
  for (int i = 0; i < 4; ++i)
    result |= static_cast<unsigned>(bytes >> (8 * (order >> (4 * i) & 7u)) & 0xffu) << (8 * i);
  o[0].set(result);
}

}  // namespace gla_bench::emulated
