#pragma once
// Tensor core instructions of one warp and the loads that feed them (sm_80 and newer). Lane l
// holds, with g = l / 4 and t = l % 4:
//   C, D [16 x 8]  c0 (g, 2t)  c1 (g, 2t+1)  c2 (g+8, 2t)  c3 (g+8, 2t+1)
//   bfloat16, float16, in pairs:
//     A [16 x 16]: a0 (g, 2t..)  a1 (g+8, 2t..)  a2 (g, 2t+8..)  a3 (g+8, 2t+8..)
//     B [16 x 8]:  b0 (2t.., g)  b1 (2t+8.., g)
//   tf32:
//     A [16 x 8]:  a0 (g, t)  a1 (g+8, t)  a2 (g, t+4)  a3 (g+8, t+4)
//     B [8 x 8]:   b0 (t, g)  b1 (t+4, g)

namespace gla_bench::device {

/// c[16 x 8] += a[16 x 16] b[16 x 8], operands bfloat16.
__device__ __forceinline__ void mma_bfloat16(float (&c)[4], const unsigned (&a)[4],
                                             const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// c[16 x 8] += a[16 x 16] b[16 x 8], operands float16.
__device__ __forceinline__ void mma_float16(float (&c)[4], const unsigned (&a)[4],
                                            const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// c[16 x 8] += a[16 x 8] b[8 x 8], operands tf32. The hardware ignores the low 13 bits of a float,
/// so round first.
__device__ __forceinline__ void mma_tf32(float (&c)[4], const unsigned (&a)[4],
                                         const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// The float rounded to tf32, as the bits of a float.
__device__ __forceinline__ unsigned round_tf32(float x) {
  unsigned y;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
  return y;
}

/// Loads four 8x8 matrices of 16-bit elements from shared memory. Lane 8m + r gives the address of
/// row r of matrix m (16 bytes, aligned). Of each matrix, lane l receives the pair at row l/4,
/// columns 2(l%4)...
__device__ __forceinline__ void load_matrices(unsigned (&r)[4], const void* row) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

/// The same with each matrix transposed: lane l receives the pair at column l/4, rows 2(l%4)...
__device__ __forceinline__ void load_matrices_transposed(unsigned (&r)[4], const void* row) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

}  // namespace gla_bench::device
