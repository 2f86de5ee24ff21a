#pragma once
// What sm_90a has beyond sm_80, with one function per instruction: mbarriers in shared memory, bulk
// tensor copies (TMA), products of a warpgroup (wgmma) and registers that move from some warps to
// others. Shared addresses are 32-bit, as shared_address() gives them.

#include <cuda_bf16.h>

namespace gla_bench::device::sm90 {

/// A tensor as bulk copies see it (core/variant.hpp, TensorMap): the 128 bytes that the driver
/// encodes.
struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};

__device__ __forceinline__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

// --- barriers in shared memory

__device__ __forceinline__ void barrier_init(unsigned barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/// Makes initialised mbarriers visible to the copies.
__device__ __forceinline__ void barrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void barrier_arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// Arrives, and announces that copies will bring this many bytes.
__device__ __forceinline__ void barrier_expect(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ bool barrier_passed(unsigned barrier, unsigned parity) {
  unsigned passed;
  asm volatile(
      "{\n\t.reg .pred p;\n\t"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
      "selp.u32 %0, 1, 0, p;\n\t}"
      : "=r"(passed)
      : "r"(barrier), "r"(parity)
      : "memory");
  return passed != 0;
}
/// Waits until the phase of this parity is over.
__device__ __forceinline__ void barrier_wait(unsigned barrier, unsigned parity) {
  while (!barrier_passed(barrier, parity)) {
  }
}

// --- barriers of some of a block's warps

template <int threads>
__device__ __forceinline__ void named_barrier(int name) {
  asm volatile("barrier.sync %0, %1;" ::"r"(name), "n"(threads) : "memory");
}
/// The same, and returns whether `any` is true in one of the threads.
template <int threads>
__device__ __forceinline__ bool named_barrier_or(int name, bool any) {
  unsigned result;
  asm volatile(
      "{\n\t.reg .pred p, q;\n\t"
      "setp.ne.u32 p, %1, 0;\n\t"
      "barrier.red.or.pred q, %2, %3, p;\n\t"
      "selp.u32 %0, 1, 0, q;\n\t}"
      : "=r"(result)
      : "r"(static_cast<unsigned>(any)), "r"(name), "n"(threads)
      : "memory");
  return result != 0;
}

// --- launches that overlap

/// Allows blocks of the next launch to begin, once all blocks of this one have called it.
__device__ __forceinline__ void let_next_begin() {
  asm volatile("griddepcontrol.launch_dependents;");
}
/// Waits until the previous launch is over. What it has written is then visible.
__device__ __forceinline__ void wait_for_launch_before() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

// --- registers

template <int count>
__device__ __forceinline__ void registers_up() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count>
__device__ __forceinline__ void registers_down() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}

// --- bulk tensor copies

__device__ __forceinline__ void prefetch_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(reinterpret_cast<unsigned long long>(&map))
               : "memory");
}
/// Copies a box of a four-dimensional tensor whose first element has these coordinates. What lies
/// outside the tensor arrives as zeros.
__device__ __forceinline__ void copy_in(unsigned to, const TensorMap& map, unsigned barrier, int c0,
                                        int c1, int c2, int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to),
      "l"(reinterpret_cast<unsigned long long>(&map)), "r"(barrier), "r"(c0), "r"(c1), "r"(c2),
      "r"(c3)
      : "memory");
}
/// Brings a box into the L2 cache, for a later copy.
__device__ __forceinline__ void prefetch_box(const TensorMap& map, int c0, int c1, int c2, int c3) {
  asm volatile("cp.async.bulk.prefetch.tensor.4d.L2.global.tile [%0, {%1, %2, %3, %4}];" ::"l"(
                   reinterpret_cast<unsigned long long>(&map)),
               "r"(c0), "r"(c1), "r"(c2), "r"(c3)
               : "memory");
}
/// The reverse of copy_in(); what lies outside the tensor is not written. copies_commit() ends a
/// group of such copies.
__device__ __forceinline__ void copy_out(const TensorMap& map, unsigned from, int c0, int c1,
                                         int c2, int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::
          "l"(reinterpret_cast<unsigned long long>(&map)),
      "r"(from), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}
__device__ __forceinline__ void copies_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/// Waits until shared memory has been read by all but the last `left` groups of this thread.
template <int left>
__device__ __forceinline__ void copies_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(left) : "memory");
}
template <int left>
__device__ __forceinline__ void copies_done() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(left) : "memory");
}
/// Makes what this thread has written to shared memory visible to TMA copies and to wgmma.
__device__ __forceinline__ void publish_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// --- tiles: rows of 128 bytes, their 16-byte pieces permuted by row (128-byte swizzle)

/// Offset of byte `column` of a row. The tile must begin at a multiple of 1024 bytes.
__device__ __forceinline__ unsigned swizzled(unsigned row, unsigned column) {
  return row * 128u + (column ^ ((row & 7u) << 4));
}

/// Descriptor of an operand in such a tile. `begin` is its shared address. `leading` matters for
/// operands that are contiguous along M or N: the bytes from one group of 64 elements along M or N
/// to the next. Groups of eight rows are 1024 bytes apart.
__device__ __forceinline__ unsigned long long operand(unsigned begin, unsigned leading = 16) {
  return (static_cast<unsigned long long>(1) << 62) |
         (static_cast<unsigned long long>(1024 >> 4) << 32) |
         (static_cast<unsigned long long>((leading & 0x3ffffu) >> 4) << 16) |
         static_cast<unsigned long long>((begin & 0x3ffffu) >> 4);
}

// --- wgmma: D[64, N] (+)= A[64, 16] B[16, N], bfloat16 in, float32 out

__device__ __forceinline__ void products_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void products_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int left>
__device__ __forceinline__ void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory");
}
/// Keeps the compiler from moving uses of accumulators across waits.
template <int n>
__device__ __forceinline__ void pin(float (&d)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

__device__ __forceinline__ void pin(unsigned (&a)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) asm volatile("" : "+r"(a[i])::"memory");
}

/// The direction in which an operand in shared memory is contiguous: along K, or along M (of A) or
/// N (of B).
inline constexpr int along_k = 0, along_mn = 1;

/// N = 64, both operands in shared memory. If `add` is false, D is overwritten.
template <int a_along, int b_along>
__device__ __forceinline__ void product_n64(float (&d)[32], unsigned long long a,
                                            unsigned long long b, bool add) {
  asm volatile(
      "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %34, 0;\n\t"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "%32, %33, p, 1, 1, %35, %36;\n\t}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "l"(a), "l"(b), "r"(static_cast<int>(add)), "n"(a_along), "n"(b_along));
}

/// N = 32, both operands in shared memory. If `add` is false, D is overwritten.
template <int a_along, int b_along>
__device__ __forceinline__ void product_n32(float (&d)[16], unsigned long long a,
                                            unsigned long long b, bool add) {
  asm volatile(
      "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %18, 0;\n\t"
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
      "%16, %17, p, 1, 1, %19, %20;\n\t}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15])
      : "l"(a), "l"(b), "r"(static_cast<int>(add)), "n"(a_along), "n"(b_along));
}

/// N = 64, with A in registers in the order of the accumulators of an earlier product, packed in
/// pairs.
template <int b_along>
__device__ __forceinline__ void product_n64(float (&d)[32], const unsigned (&a)[4],
                                            unsigned long long b, bool add) {
  asm volatile(
      "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %37, 0;\n\t"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "{%32, %33, %34, %35}, %36, p, 1, 1, %38;\n\t}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)),
        "n"(b_along));
}

/// N = 128, both operands in shared memory. The product is added to D.
template <int a_along, int b_along>
__device__ __forceinline__ void product_n128(float (&d)[64], unsigned long long a,
                                             unsigned long long b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, 1, 1, 1, %66, %67;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
        "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
        "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
        "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
        "+f"(d[63])
      : "l"(a), "l"(b), "n"(a_along), "n"(b_along));
}

// --- matrices of 8 x 8 two-byte elements

/// Stores four matrices. Each register of a lane holds two neighbours of a row. Lane l gives the
/// address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void store_matrices(unsigned row, unsigned a, unsigned b, unsigned c,
                                               unsigned d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row),
               "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}
/// The same with each matrix transposed: a lane gives the address for the elements of a column.
__device__ __forceinline__ void store_transposed(unsigned row, unsigned a, unsigned b, unsigned c,
                                                 unsigned d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row),
               "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}
__device__ __forceinline__ void load_matrices(unsigned row, unsigned (&a)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(row)
               : "memory");
}
/// D[16, 8] += A[16, 16] B[16, 8], by one warp.
__device__ __forceinline__ void warp_product(float (&d)[4], unsigned a0, unsigned a1, unsigned a2,
                                             unsigned a3, const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b[0]), "r"(b[1]));
}

/// Rounds two floats to bfloat16 and packs them, the first in the low half.
__device__ __forceinline__ unsigned pack(float low, float high) {
  unsigned packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}
__device__ __forceinline__ float low_of(unsigned packed) {
  return __uint_as_float(packed << 16);
}
__device__ __forceinline__ float high_of(unsigned packed) {
  return __uint_as_float(packed & 0xffff0000u);
}

/// The same by other instructions. The assembler cannot tell that their results equal those of the
/// first, which it would otherwise keep in registers.
__device__ __forceinline__ float low_anew(unsigned packed) {
  unsigned low;
  asm("prmt.b32 %0, %1, 0, 0x1044;" : "=r"(low) : "r"(packed));
  return __uint_as_float(low);
}
__device__ __forceinline__ float high_anew(unsigned packed) {
  unsigned high;
  asm("prmt.b32 %0, %1, 0, 0x3244;" : "=r"(high) : "r"(packed));
  return __uint_as_float(high);
}

__device__ __forceinline__ unsigned load_shared(unsigned address) {
  unsigned word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
  return word;
}
__device__ __forceinline__ void store_shared(unsigned address, unsigned word) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}

}  // namespace gla_bench::device::sm90
