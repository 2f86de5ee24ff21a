#include <gtest/gtest.h>

#include <map>

#include "kernels/softmax_attention/variants.hpp"
#include "tests/kernels/softmax_attention/forward_problems.hpp"

namespace gla_bench::softmax_attention {
namespace {

using Buffers = std::map<std::string, std::vector<double>>;

/// The product itself, element by element; every access inside its buffer.
void multiply(const MatrixProduct& p, Buffers& buffers) {
  const auto at = [&](const MatrixOperand& operand, std::int64_t batch, std::int64_t row,
                      std::int64_t column) -> double& {
    if (operand.transposed) std::swap(row, column);
    const std::int64_t index = operand.offset + batch * operand.stride + row * operand.ld + column;
    return buffers.at(operand.buffer).at(static_cast<std::size_t>(index));
  };
  for (std::int64_t b = 0; b < p.batch; ++b)
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < p.k; ++l) sum += at(p.a, b, i, l) * at(p.b, b, l, j);
        at(p.c, b, i, j) = p.alpha * sum;
      }
}

std::int64_t offset(const TokenStrides& strides, std::int64_t b, std::int64_t t, std::int64_t h) {
  return b * strides.batch + t * strides.seq + h * strides.heads;
}

// float32, where scores and probabilities have the same places: the softmax left out, O = Q K^T V.
void expect_products(const Shape& shape, Layout layout) {
  Problem problem = forward_problem("attention", DType::float32, shape);
  problem.layout = layout;
  problem.scale = 0.5;
  const Variant variant = materialized("attention");
  const Tile tile = forward_default(variant);
  const AttentionParams p = attention_params(problem, [](std::string_view) { return nullptr; }, {});
  Buffers buffers;
  for (const TensorSpec& spec : find_operator("attention")->tensors(problem)) {
    std::vector<double>& data = buffers[spec.name];
    for (std::int64_t i = 0; i < spec.elements(); ++i)
      data.push_back(static_cast<double>((i * 7 + static_cast<std::int64_t>(spec.name[0])) % 11) -
                     5);
  }
  for (const Region& region : variant.workspace(problem, tile))
    buffers[region.name].assign(region.bytes / 4, 0.0);
  for (const Step& step : std::get<0>(variant.code)(problem, tile).steps)
    if (const auto* product = std::get_if<MatrixProduct>(&step)) multiply(*product, buffers);
  const std::int64_t members = shape.heads / shape.keys_heads();
  std::int64_t wrong = 0;
  for (std::int64_t b = 0; b < shape.batch; ++b)
    for (std::int64_t h = 0; h < shape.heads; ++h)
      for (std::int64_t i = 0; i < shape.seq; ++i)
        for (std::int64_t v = 0; v < shape.value_dim; ++v) {
          double expected = 0;
          for (std::int64_t j = 0; j < shape.keys_seq(); ++j) {
            double score = 0;
            for (std::int64_t k = 0; k < shape.key_dim; ++k)
              score +=
                  buffers["q"][static_cast<std::size_t>(offset(p.query_strides, b, i, h) + k)] *
                  buffers["k"]
                         [static_cast<std::size_t>(offset(p.key_strides, b, j, h / members) + k)];
            expected +=
                0.5 * score *
                buffers["v"]
                       [static_cast<std::size_t>(offset(p.value_strides, b, j, h / members) + v)];
          }
          const double got =
              buffers["o"][static_cast<std::size_t>(offset(p.output_strides, b, i, h) + v)];
          if (!(std::abs(got - expected) <= 1e-9)) ++wrong;
        }
  EXPECT_EQ(wrong, 0) << describe(problem);
}

TEST(Materialized, ProductsMeetTheRightHeadsAndRows) {
  for (const Layout layout : {Layout::seq_first, Layout::head_first}) {
    expect_products({1, 5, 4, 3, 2, 7, 2}, layout);  // batches over key heads
    expect_products({3, 4, 2, 3, 5, 6, 1}, layout);  // over sequences
    expect_products({2, 9, 3, 4, 4}, layout);
  }
}

TEST(Materialized, BatchesAreOverWhateverLeavesFewerProducts) {
  const Variant variant = materialized("attention");
  const auto products = [&](const Shape& shape) {
    const Problem problem = forward_problem("attention", DType::bfloat16, shape);
    std::size_t count = 0;
    for (const Step& step : std::get<0>(variant.code)(problem, forward_default(variant)).steps)
      count += std::holds_alternative<MatrixProduct>(step) ? 1 : 0;
    return count;
  };
  EXPECT_EQ(products({2, 64, 16, 64, 64}), 4u);
  EXPECT_EQ(products({64, 64, 4, 64, 64}), 8u);
  EXPECT_EQ(products({1, 64, 32, 64, 64, 64, 8}), 8u);
}

TEST(Materialized, HoldsRowsThatFitAndReadsTheOthersTwice) {
  const Variant variant = materialized("attention");
  const Tile tile = forward_default(variant);
  const auto reads = [&](std::int64_t length) {
    Problem problem = forward_problem("attention", DType::float32, {1, length, 1, 1, 1});
    problem.options["causal"] = "false";
    const auto size = static_cast<double>(length);
    return (variant.traffic(problem, tile).read_bytes / 4 - 3 * size) / (size * size);
  };
  EXPECT_DOUBLE_EQ(reads(8192), 2.0);  // scores, probabilities
  EXPECT_DOUBLE_EQ(reads(8193), 3.0);
}

TEST(Materialized, RefusesScoresBeyondTheMemoryWithTheirSize) {
  const Variant variant = materialized("attention");
  const Problem problem = forward_problem("attention", DType::bfloat16, {8, 32768, 16, 128, 128});
  expect_reason(variant, problem, forward_default(variant), forward_h200(), "MiB of workspace");
}

}  // namespace
}  // namespace gla_bench::softmax_attention
