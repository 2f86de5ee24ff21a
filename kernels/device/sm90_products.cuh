#pragma once
// Products of a warpgroup (wgmma) of the widths that attention needs, in bfloat16 and float16:
// D[64, n] (+)= A[64, 16] B[16, n], accumulated in float32. sm90.cuh explains tiles, descriptors
// and the fences round products.

#include "device/sm90.cuh"
#include "device/types.cuh"

namespace gla_bench::device::sm90 {

// The operands of the assembler's statement: accumulators by eights, and their names in its text.

// clang-format off
#define GLA_BENCH_OUT8(d, i) "+f"((d)[i]), "+f"((d)[i + 1]), "+f"((d)[i + 2]), "+f"((d)[i + 3]), \
  "+f"((d)[i + 4]), "+f"((d)[i + 5]), "+f"((d)[i + 6]), "+f"((d)[i + 7])
#define GLA_BENCH_OUT32(d, i) GLA_BENCH_OUT8(d, i), GLA_BENCH_OUT8(d, i + 8), \
  GLA_BENCH_OUT8(d, i + 16), GLA_BENCH_OUT8(d, i + 24)
#define GLA_BENCH_NAMES16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define GLA_BENCH_NAMES32 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, " \
  "%12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, " \
  "%24, %25, %26, %27, %28, %29, %30, %31"
#define GLA_BENCH_NAMES40 GLA_BENCH_NAMES32 ", " "%32, %33, %34, %35, %36, %37, %38, %39"
#define GLA_BENCH_NAMES48 GLA_BENCH_NAMES40 ", " "%40, %41, %42, %43, %44, %45, %46, %47"
#define GLA_BENCH_NAMES56 GLA_BENCH_NAMES48 ", " "%48, %49, %50, %51, %52, %53, %54, %55"
#define GLA_BENCH_NAMES64 GLA_BENCH_NAMES56 ", " "%56, %57, %58, %59, %60, %61, %62, %63"
#define GLA_BENCH_NAMES80 GLA_BENCH_NAMES64 ", " "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, " \
  "%76, %77, %78, %79"
#define GLA_BENCH_NAMES88 GLA_BENCH_NAMES80 ", " "%80, %81, %82, %83, %84, %85, %86, %87"
#define GLA_BENCH_NAMES96 GLA_BENCH_NAMES88 ", " "%88, %89, %90, %91, %92, %93, %94, %95"
#define GLA_BENCH_NAMES128 GLA_BENCH_NAMES96 ", " "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, " \
  "%108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, " \
  "%120, %121, %122, %123, %124, %125, %126, %127"
// clang-format on

/// D (+)= A B for one width: both operands in shared memory, or A in registers in the order of the
/// accumulators of an earlier product, packed in pairs. If `add` is false, D is overwritten. A is
/// contiguous along K, unless a_along says otherwise. T is __nv_bfloat16 or __half.
template <int n, typename T>
struct Products;

#define GLA_BENCH_PRODUCTS(n, names, a0, a1, a2, a3, b, add_at, along_at, type, name, ...)      \
  template <>                                                                                   \
  struct Products<n, type> {                                                                    \
    template <int b_along, int a_along = along_k>                                               \
    static __device__ __forceinline__ void shared(float (&d)[n / 2], unsigned long long x,      \
                                                  unsigned long long y, bool add) {             \
      asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, " a2                                   \
                   ", 0;\n\t"                                                                   \
                   "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." name "." name " {" names   \
                   "}, " a0 ", " a1 ", p, 1, 1, " b ", " a3 ";\n\t}"                            \
                   : __VA_ARGS__                                                                \
                   : "l"(x), "l"(y), "r"(static_cast<int>(add)), "n"(b_along), "n"(a_along));   \
    }                                                                                           \
    template <int b_along>                                                                      \
    static __device__ __forceinline__ void registers(float (&d)[n / 2], const unsigned (&x)[4], \
                                                     unsigned long long y, bool add) {          \
      asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, " add_at                               \
                   ", 0;\n\t"                                                                   \
                   "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." name "." name " {" names   \
                   "}, {" a0 ", " a1 ", " a2 ", " a3 "}, " b ", p, 1, 1, " along_at ";\n\t}"    \
                   : __VA_ARGS__                                                                \
                   : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(y),                        \
                     "r"(static_cast<int>(add)), "n"(b_along));                                 \
    }                                                                                           \
  }

GLA_BENCH_PRODUCTS(32, GLA_BENCH_NAMES16, "%16", "%17", "%18", "%19", "%20", "%21", "%22",
                   __nv_bfloat16, "bf16", GLA_BENCH_OUT8(d, 0), GLA_BENCH_OUT8(d, 8));
GLA_BENCH_PRODUCTS(32, GLA_BENCH_NAMES16, "%16", "%17", "%18", "%19", "%20", "%21", "%22", __half,
                   "f16", GLA_BENCH_OUT8(d, 0), GLA_BENCH_OUT8(d, 8));
GLA_BENCH_PRODUCTS(64, GLA_BENCH_NAMES32, "%32", "%33", "%34", "%35", "%36", "%37", "%38",
                   __nv_bfloat16, "bf16", GLA_BENCH_OUT32(d, 0));
GLA_BENCH_PRODUCTS(64, GLA_BENCH_NAMES32, "%32", "%33", "%34", "%35", "%36", "%37", "%38", __half,
                   "f16", GLA_BENCH_OUT32(d, 0));
GLA_BENCH_PRODUCTS(80, GLA_BENCH_NAMES40, "%40", "%41", "%42", "%43", "%44", "%45", "%46",
                   __nv_bfloat16, "bf16", GLA_BENCH_OUT32(d, 0), GLA_BENCH_OUT8(d, 32));
GLA_BENCH_PRODUCTS(80, GLA_BENCH_NAMES40, "%40", "%41", "%42", "%43", "%44", "%45", "%46", __half,
                   "f16", GLA_BENCH_OUT32(d, 0), GLA_BENCH_OUT8(d, 32));
GLA_BENCH_PRODUCTS(96, GLA_BENCH_NAMES48, "%48", "%49", "%50", "%51", "%52", "%53", "%54",
                   __nv_bfloat16, "bf16", GLA_BENCH_OUT32(d, 0), GLA_BENCH_OUT8(d, 32),
                   GLA_BENCH_OUT8(d, 40));
GLA_BENCH_PRODUCTS(96, GLA_BENCH_NAMES48, "%48", "%49", "%50", "%51", "%52", "%53", "%54", __half,
                   "f16", GLA_BENCH_OUT32(d, 0), GLA_BENCH_OUT8(d, 32), GLA_BENCH_OUT8(d, 40));
GLA_BENCH_PRODUCTS(112, GLA_BENCH_NAMES56, "%56", "%57", "%58", "%59", "%60", "%61", "%62",
                   __nv_bfloat16, "bf16", GLA_BENCH_OUT32(d, 0), GLA_BENCH_OUT8(d, 32),
                   GLA_BENCH_OUT8(d, 40), GLA_BENCH_OUT8(d, 48));
GLA_BENCH_PRODUCTS(112, GLA_BENCH_NAMES56, "%56", "%57", "%58", "%59", "%60", "%61", "%62", __half,
                   "f16", GLA_BENCH_OUT32(d, 0), GLA_BENCH_OUT8(d, 32), GLA_BENCH_OUT8(d, 40),
                   GLA_BENCH_OUT8(d, 48));
GLA_BENCH_PRODUCTS(128, GLA_BENCH_NAMES64, "%64", "%65", "%66", "%67", "%68", "%69", "%70",
                   __nv_bfloat16, "bf16", GLA_BENCH_OUT32(d, 0), GLA_BENCH_OUT32(d, 32));
GLA_BENCH_PRODUCTS(128, GLA_BENCH_NAMES64, "%64", "%65", "%66", "%67", "%68", "%69", "%70", __half,
                   "f16", GLA_BENCH_OUT32(d, 0), GLA_BENCH_OUT32(d, 32));
GLA_BENCH_PRODUCTS(160, GLA_BENCH_NAMES80, "%80", "%81", "%82", "%83", "%84", "%85", "%86",
                   __nv_bfloat16, "bf16", GLA_BENCH_OUT32(d, 0), GLA_BENCH_OUT32(d, 32),
                   GLA_BENCH_OUT8(d, 64), GLA_BENCH_OUT8(d, 72));
GLA_BENCH_PRODUCTS(160, GLA_BENCH_NAMES80, "%80", "%81", "%82", "%83", "%84", "%85", "%86", __half,
                   "f16", GLA_BENCH_OUT32(d, 0), GLA_BENCH_OUT32(d, 32), GLA_BENCH_OUT8(d, 64),
                   GLA_BENCH_OUT8(d, 72));
GLA_BENCH_PRODUCTS(176, GLA_BENCH_NAMES88, "%88", "%89", "%90", "%91", "%92", "%93", "%94",
                   __nv_bfloat16, "bf16", GLA_BENCH_OUT32(d, 0), GLA_BENCH_OUT32(d, 32),
                   GLA_BENCH_OUT8(d, 64), GLA_BENCH_OUT8(d, 72), GLA_BENCH_OUT8(d, 80));
GLA_BENCH_PRODUCTS(176, GLA_BENCH_NAMES88, "%88", "%89", "%90", "%91", "%92", "%93", "%94", __half,
                   "f16", GLA_BENCH_OUT32(d, 0), GLA_BENCH_OUT32(d, 32), GLA_BENCH_OUT8(d, 64),
                   GLA_BENCH_OUT8(d, 72), GLA_BENCH_OUT8(d, 80));
GLA_BENCH_PRODUCTS(192, GLA_BENCH_NAMES96, "%96", "%97", "%98", "%99", "%100", "%101", "%102",
                   __nv_bfloat16, "bf16", GLA_BENCH_OUT32(d, 0), GLA_BENCH_OUT32(d, 32),
                   GLA_BENCH_OUT32(d, 64));
GLA_BENCH_PRODUCTS(192, GLA_BENCH_NAMES96, "%96", "%97", "%98", "%99", "%100", "%101", "%102",
                   __half, "f16", GLA_BENCH_OUT32(d, 0), GLA_BENCH_OUT32(d, 32),
                   GLA_BENCH_OUT32(d, 64));
GLA_BENCH_PRODUCTS(256, GLA_BENCH_NAMES128, "%128", "%129", "%130", "%131", "%132", "%133", "%134",
                   __nv_bfloat16, "bf16", GLA_BENCH_OUT32(d, 0), GLA_BENCH_OUT32(d, 32),
                   GLA_BENCH_OUT32(d, 64), GLA_BENCH_OUT32(d, 96));
GLA_BENCH_PRODUCTS(256, GLA_BENCH_NAMES128, "%128", "%129", "%130", "%131", "%132", "%133", "%134",
                   __half, "f16", GLA_BENCH_OUT32(d, 0), GLA_BENCH_OUT32(d, 32),
                   GLA_BENCH_OUT32(d, 64), GLA_BENCH_OUT32(d, 96));

#undef GLA_BENCH_PRODUCTS

/// Rounds two floats to T and packs them, the first in the low half.
template <typename T>
__device__ __forceinline__ unsigned pack_as(float low, float high) {
  if constexpr (is_same<T, __half>) {
    unsigned packed;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
  } else {
    return pack(low, high);
  }
}

}  // namespace gla_bench::device::sm90
