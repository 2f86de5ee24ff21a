#include <gtest/gtest.h>

#include "kernels/softmax_attention/variants.hpp"
#include "tests/kernels/softmax_attention/backward/problems.hpp"

namespace gla_bench::softmax_attention {
namespace {

std::vector<Variant> both() {
  return {backward_materialized("attention"), backward_materialized("decay_attention")};
}

/// The last element that an operand reads or writes, of the buffer's elements.
std::int64_t last_element(const MatrixOperand& x, std::int64_t rows, std::int64_t columns,
                          std::int64_t batch) {
  if (x.transposed) std::swap(rows, columns);
  return x.offset + (batch - 1) * x.stride + (rows - 1) * x.ld + columns - 1;
}

TEST(BackwardMaterialized, RejectsByNameAndNeverThrows) {
  for (const Variant& variant : both()) {
    expect_backward_reject(variant);
    const auto reason =
        variant.reject(backward_problem(variant.op, DType::float16, {1, 64, 1, 64, 64}),
                       {{"tf32", 1}}, backward_h200());
    ASSERT_TRUE(reason);
    EXPECT_NE(reason->find("tf32=1"), std::string::npos);
  }
}

TEST(BackwardMaterialized, AcceptedTilesFitTheLimits) {
  for (const Variant& variant : both()) expect_backward_launches(variant);
}

TEST(BackwardMaterialized, DoesAtLeastTheOperatorsWork) {
  for (const Variant& variant : both()) expect_backward_work(variant);
}

TEST(BackwardMaterialized, ProductsStayInsideTheirBuffers) {
  for (const Variant& variant : both())
    for_each_accepted(variant, [&](const Problem& problem, const Tile& tile) {
      std::map<std::string, std::int64_t> bytes;
      for (const TensorSpec& spec : find_operator(problem.op)->tensors(problem))
        bytes[spec.name] = spec.bytes();
      for (const Region& region : variant.workspace(problem, tile))
        bytes[region.name] = static_cast<std::int64_t>(region.bytes);
      std::map<std::string, std::int64_t> furthest;
      for (const Step& step : std::get<0>(variant.code)(problem, tile).steps) {
        const auto* p = std::get_if<MatrixProduct>(&step);
        if (p == nullptr) continue;
        const auto see = [&](const MatrixOperand& x, std::int64_t rows, std::int64_t columns) {
          const std::int64_t end = (last_element(x, rows, columns, p->batch) + 1) *
                                   static_cast<std::int64_t>(size_of(x.dtype));
          EXPECT_LE(end, bytes.at(x.buffer)) << x.buffer << " " << describe(problem);
          furthest[x.buffer] = std::max(furthest[x.buffer], end);
        };
        see(p->a, p->m, p->k);
        see(p->b, p->k, p->n);
        see(p->c, p->m, p->n);
      }
      // Every tensor is read, and the results are written, to the last element.
      for (const char* name : {"q", "k", "v", "do", "results"})
        EXPECT_EQ(furthest.at(name), bytes.at(name)) << name << " " << describe(problem);
    });
}

TEST(BackwardMaterialized, AGroupsGradientsAreAddedUp) {
  Problem problem = backward_problem("attention", DType::bfloat16, {2, 64, 6, 32, 48, 0, 2});
  const Variant variant = backward_materialized("attention");
  const Tile tile = backward_default(variant);
  int first = 0, further = 0;
  for (const Step& step : std::get<0>(variant.code)(problem, tile).steps)
    if (const auto* p = std::get_if<MatrixProduct>(&step)) (p->beta > 0 ? further : first)++;
  // Per sequence and place in the group 5 products; dk and dv add from the second place on.
  EXPECT_EQ(first + further, 2 * 3 * 5);
  EXPECT_EQ(further, 2 * 2 * 2);
}

TEST(BackwardMaterialized, HeadFirstSequencesShareAProduct) {
  Problem problem = backward_problem("attention", DType::bfloat16, {8, 64, 4, 32, 32});
  problem.layout = Layout::head_first;
  const Variant variant = backward_materialized("attention");
  int products = 0;
  for (const Step& step : std::get<0>(variant.code)(problem, backward_default(variant)).steps)
    if (const auto* p = std::get_if<MatrixProduct>(&step)) {
      ++products;
      EXPECT_EQ(p->batch, 32);
    }
  EXPECT_EQ(products, 5);
}

TEST(BackwardMaterialized, ScoresOfFloat32AreNeverRoundedToTf32) {
  const Variant variant = backward_materialized("attention");
  const Problem problem = backward_problem("attention", DType::float32, {1, 64, 1, 64, 64});
  EXPECT_EQ(variant.arithmetic(problem, {{"tf32", 1}}), Arithmetic::tf32);
  for (const Step& step : std::get<0>(variant.code)(problem, {{"tf32", 1}}).steps)
    if (const auto* p = std::get_if<MatrixProduct>(&step)) {
      EXPECT_EQ(p->arithmetic, p->c.buffer == "scores" ? Arithmetic::float32 : Arithmetic::tf32);
    }
}

}  // namespace
}  // namespace gla_bench::softmax_attention
