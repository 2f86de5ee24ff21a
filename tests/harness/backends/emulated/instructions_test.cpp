// Instructions whose emulation no simpler test reaches, run as kernels use them: through the
// functions of kernels/device/.

#include <gtest/gtest.h>

#include <string>

#include "tests/harness/backends/emulated/run_text.hpp"

namespace gla_bench::emulated {
namespace {

TEST(EmulatedInstructions, AMatrixIsTransposedBetweenLanes) {
  EXPECT_EQ(outcome_of(R"(
      const unsigned lane = threadIdx.x, row = lane / 4, column = lane % 4 * 2;
      unsigned result;
      asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;"
                   : "=r"(result)
                   : "r"((8 * row + column + 1) << 16 | (8 * row + column)));
      if (result != ((8 * (column + 1) + row) << 16 | (8 * column + row)))
        asm volatile("found.another.element;");)"),
            "none");
}

/// Multiplies two operands both ways and compares all accumulators.
std::string products_of(const std::string& a_along, const std::string& b_along, int columns) {
  const std::string n = std::to_string(columns);
  const std::string operands = "::template shared<" + b_along + ", " + a_along + ">(";
  return R"({
      float by_group[)" +
         n + R"( / 2], by_warps[)" + n + R"( / 2];
      for (int step = 0; step < 4; ++step) {
        const unsigned a = begin + step * ()" +
         a_along + R"( == along_k ? 32 : 2048);
        const unsigned b = begin + 8192 + step * ()" +
         b_along + R"( == along_k ? 32 : 2048);
        products_fence();
        ByWarpgroup::Of<)" +
         n + ">" + operands + R"(
            by_group, operand(a), operand(b, 8192), step > 0);
        products_commit();
        products_wait<0>();
        ByWarps::Of<)" +
         n + ">" + operands + R"(
            by_warps, operand(a), operand(b, 8192), step > 0);
      }
      for (int i = 0; i < )" +
         n + R"( / 2; ++i)
        if (by_group[i] != by_warps[i]) asm volatile("found.another.product;");
    })";
}

// Three tiles of 64 rows of 64 elements hold small whole numbers, whose products are exact.
TEST(EmulatedInstructions, WarpsMultiplyLikeTheirWarpgroup) {
  const std::string fill = R"(
      using namespace gla_bench::device::sm90;
      extern __shared__ unsigned char memory[];
      const unsigned begin = (shared_address(memory) + 1023u) & ~1023u;
      for (unsigned i = threadIdx.x; i < 3 * 64 * 32; i += 128) {
        const unsigned row = i / 32 % 64, word = i % 32, tile = i / 2048;
        store_shared(begin + 8192 * tile + swizzled(row, 4 * word),
                     pack(static_cast<float>((7 * row + 5 * word + 3 * tile) % 17) - 8.0f,
                          static_cast<float>((3 * row + 11 * word + tile) % 13) - 6.0f));
      }
      __syncthreads();)";
  EXPECT_EQ(
      outcome_of(
          fill + products_of("along_k", "along_k", 64) + products_of("along_k", "along_mn", 64) +
              products_of("along_mn", "along_k", 64) + products_of("along_mn", "along_mn", 128),
          {.before = "#include \"device/warp_products.cuh\"\n",
           .threads = 128,
           .shared_bytes = 32768,
           .device_functions = true}),
      "none");
}

}  // namespace
}  // namespace gla_bench::emulated
