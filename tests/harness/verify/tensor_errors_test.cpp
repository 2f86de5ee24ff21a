// Error metrics: pure functions of numbers.

#include <gtest/gtest.h>
#include <omp.h>

#include <bit>
#include <cmath>
#include <limits>

#include "harness/verify/verify.hpp"

namespace gla_bench {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

TensorSpec token_spec(std::vector<std::int64_t> extents, DType dtype = DType::float32) {
  return {"o", TensorSpec::Role::output, dtype, std::move(extents), true};
}

std::vector<double> ramp(std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 1.0 + 0.25 * static_cast<double>(i % 7);
  return values;
}

std::vector<float> as_float(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

TEST(TensorErrors, ExactIsZero) {
  const auto spec = token_spec({2, 70, 3, 4});
  const auto expected = ramp(spec.elements());
  const ErrorMetrics m = tensor_errors(spec, as_float(expected), expected);
  EXPECT_EQ(m.rel_l2, 0);
  EXPECT_EQ(m.max_abs, 0);
  EXPECT_EQ(m.worst_chunk_rel_l2, 0);
  EXPECT_EQ(m.elements, 2 * 70 * 3 * 4);
  EXPECT_EQ(m.smallest_chunk, 70 * 4);  // 64 tokens and the ragged 6
}

TEST(TensorErrors, AnElementFarAboveTheRmsIsHeldToItsOwnSize) {
  const auto spec = token_spec({1, 64, 1, 1});
  std::vector<double> expected(64, 0.0);
  expected[3] = 80.0;  // RMS 10
  auto got = as_float(expected);
  got[3] = 80.5f;
  EXPECT_DOUBLE_EQ(tensor_errors(spec, got, expected).max_abs, 0.5 / 80);
  got[4] = 0.5f;  // a small one is held to the RMS
  const ErrorMetrics m = tensor_errors(spec, got, expected);
  EXPECT_DOUBLE_EQ(m.max_abs, 0.05);
  EXPECT_EQ(m.worst.index, (std::vector<std::int64_t>{0, 4, 0, 0}));
}

TEST(TensorErrors, AnElementOfALargeRowIsHeldToItsRow) {
  const auto spec = token_spec({1, 64, 1, 4});
  std::vector<double> expected(256, 1.0);
  for (std::size_t i = 0; i < 4; ++i) expected[i] = i == 2 ? 0.0 : 200.0;  // RMS 173, tensor 21.7
  auto got = as_float(expected);
  got[2] = 1.5f;  // as the row's other elements would be rounded
  EXPECT_NEAR(tensor_errors(spec, got, expected).max_abs, 1.5 / std::sqrt(30000.0), 1e-12);
  got[2] = 100.0f;  // a fault in such a row shows
  const ErrorMetrics m = tensor_errors(spec, got, expected);
  EXPECT_GT(m.max_abs, 0.5);
  EXPECT_EQ(m.worst.index, (std::vector<std::int64_t>{0, 0, 0, 2}));
  got[2] = 0.0f;
  got[7] = 20.0f;  // a small row is still held to the tensor
  EXPECT_NEAR(tensor_errors(spec, got, expected).max_abs, 19 / std::sqrt((3 * 40000.0 + 252) / 256),
              1e-9);
}

TEST(TensorErrors, RowsOfAStateAndOfLseHaveNoSizeOfTheirOwn) {
  std::vector<double> expected(256, 1.0);
  for (std::size_t i = 0; i < 4; ++i) expected[i] = i == 2 ? 0.0 : 200.0;
  auto got = as_float(expected);
  got[2] = 1.5f;
  const double rms = std::sqrt((3 * 40000.0 + 252) / 256);
  EXPECT_NEAR(tensor_errors(token_spec({1, 64, 4}), got, expected).max_abs, 1.5 / rms, 1e-9);
  const TensorSpec state{"s", TensorSpec::Role::output, DType::float32, {1, 64, 2, 2}, false};
  EXPECT_NEAR(tensor_errors(state, got, expected).max_abs, 1.5 / rms, 1e-9);
}

TEST(TensorErrors, OneWrongElementByHand) {
  const auto spec = token_spec({1, 130, 2, 1});
  std::vector<double> expected(260, 2.0);
  auto got = as_float(expected);
  got[2 * 129 + 1] = 2.5f;  // token 129 of head 1: in the chunk of its last 66 tokens
  const ErrorMetrics m = tensor_errors(spec, got, expected);
  EXPECT_DOUBLE_EQ(m.rel_l2, 0.5 / (2.0 * std::sqrt(260.0)));
  EXPECT_DOUBLE_EQ(m.max_abs, 0.25);
  EXPECT_DOUBLE_EQ(m.worst_chunk_rel_l2, 0.5 / (2.0 * std::sqrt(66.0)));
  EXPECT_EQ(m.worst.index, (std::vector<std::int64_t>{0, 129, 1, 0}));
  EXPECT_EQ(m.worst.got, 2.5);
  EXPECT_EQ(m.worst.expected, 2.0);
}

TEST(TensorErrors, HeadsAreChunksOfTheirOwn) {
  const auto spec = token_spec({1, 64, 4, 8});
  const auto expected = ramp(spec.elements());
  auto got = as_float(expected);
  for (std::size_t t = 0; t < 64; ++t)
    for (std::size_t i = 0; i < 8; ++i) got[(t * 4 + 2) * 8 + i] *= 1.1f;
  const ErrorMetrics m = tensor_errors(spec, got, expected);
  EXPECT_NEAR(m.worst_chunk_rel_l2, 0.1, 1e-6);
  EXPECT_NEAR(m.rel_l2, 0.05, 3e-3);
}

TEST(TensorErrors, StatesAreJudgedPerPair) {
  const TensorSpec spec{
      "final_state", TensorSpec::Role::output, DType::float32, {2, 3, 4, 5}, false};
  const auto expected = ramp(spec.elements());
  auto got = as_float(expected);
  for (std::size_t i = 20 * 4; i < 20 * 5; ++i) got[i] *= 2;
  const ErrorMetrics m = tensor_errors(spec, got, expected);
  EXPECT_DOUBLE_EQ(m.worst_chunk_rel_l2, 1.0);
  EXPECT_EQ(m.smallest_chunk, 20);
}

TEST(TensorErrors, AChunkOfAlmostNothingIsMeasuredAgainstTheTensor) {
  const auto spec = token_spec({1, 128, 1, 1});
  std::vector<double> expected(128, 1.0);
  for (std::size_t t = 64; t < 128; ++t) expected[t] = 1e-12;
  auto got = as_float(expected);
  for (std::size_t t = 64; t < 128; ++t) got[t] = 3e-12f;
  const ErrorMetrics m = tensor_errors(spec, got, expected);
  // Of 64 elements, so 1/64 of the tensor's RMS.
  EXPECT_NEAR(m.worst_chunk_rel_l2, 2e-12 / (std::sqrt(0.5) / 64), 1e-13);
}

/// The error of the worse of two chunks of 6400 elements: the first holds 1, the second one
/// `small`, of which 1 % too much was computed.
double error_beside_ones(DType dtype, double small) {
  auto spec = token_spec({1, 128, 1, 100});
  spec.dtype = dtype;
  std::vector<double> expected(6400, 1.0);
  expected.resize(12800, small);
  auto got = as_float(expected);
  std::fill(got.begin() + 6400, got.end(), static_cast<float>(1.01 * small));
  return tensor_errors(spec, got, expected).worst_chunk_rel_l2;
}

TEST(TensorErrors, AChunkOfManySmallNumbersIsMeasuredAgainstItself) {
  EXPECT_NEAR(error_beside_ones(DType::float32, 1e-3), 0.01, 1e-5);
  EXPECT_NEAR(error_beside_ones(DType::float32, 1e-7), 1e-9 / (1 / 6400.0 * std::sqrt(0.5)), 1e-7);
}

TEST(TensorErrors, ASingleNumberNearZeroIsMeasuredAgainstTheTensor) {
  const TensorSpec spec{"lse", TensorSpec::Role::output, DType::float32, {8, 1, 1}, true};
  std::vector<double> expected(8, 1.0);
  expected[5] = 0.001;
  auto got = as_float(expected);
  got[5] += 1e-6f;
  EXPECT_NEAR(tensor_errors(spec, got, expected).worst_chunk_rel_l2, 1e-6 / std::sqrt(7 / 8.0),
              1e-8);
}

TEST(TensorErrors, ASmallChunkOfFloat16CountsAsAHundredthOfTheTensor) {
  EXPECT_NEAR(error_beside_ones(DType::float16, 1e-3), 1e-5 / 0.01 / std::sqrt(0.5), 1e-5);
}

TEST(TensorErrors, ANumberThatIsZeroByChanceCountsAsWhatWasAddedUp) {
  TensorSpec spec{"lse", TensorSpec::Role::output, DType::float32, {2, 1, 1}, true};
  const std::vector<double> expected{0.03, -0.04};
  auto got = as_float(expected);
  got[0] += 1e-6f;
  EXPECT_NEAR(tensor_errors(spec, got, expected).rel_l2, 1e-6 / 0.05, 1e-7);
  spec.sum_size = 2;
  const double size = 2 * (1 + std::sqrt(2.0));  // of two sums
  EXPECT_DOUBLE_EQ(spec.size_of_sums(), size);
  const ErrorMetrics m = tensor_errors(spec, got, expected);
  EXPECT_NEAR(m.rel_l2, 1e-6 / (size * std::sqrt(2.0)), 1e-9);
  EXPECT_NEAR(m.worst_chunk_rel_l2, 1e-6 / size, 1e-9);
  EXPECT_NEAR(m.max_abs, 1e-6 / size, 1e-9);
  spec.extents[0] = 10'000;  // of many the RMS is known
  EXPECT_NEAR(spec.size_of_sums(), 2.04, 1e-12);
  spec.extents[0] = 2;
  spec.sum_size = 0.01;  // smaller than the values themselves
  EXPECT_NEAR(tensor_errors(spec, got, expected).rel_l2, 1e-6 / 0.05, 1e-7);
}

// Of a sequence of one token an output is one product q·k, which may nearly cancel, times a row of
// values.
TEST(TensorErrors, AChunkOfFewRowsCountsAsOneOverTheirNumber) {
  const auto chunk_error = [](std::int64_t tokens, std::int64_t heads) {
    const auto spec = token_spec({2, tokens, heads, 100});
    std::vector<double> expected(static_cast<std::size_t>(spec.elements()), 1.0);
    const std::size_t half = expected.size() / 2;
    std::fill(expected.begin() + static_cast<std::ptrdiff_t>(half), expected.end(), 0.01);
    auto got = as_float(expected);
    for (std::size_t i = half; i < got.size(); ++i) got[i] += 1e-3f;
    return tensor_errors(spec, got, expected).worst_chunk_rel_l2;
  };
  const double rms = std::sqrt((1 + 0.01 * 0.01) / 2);
  EXPECT_NEAR(chunk_error(1, 1), 1e-3 / rms, 1e-6);
  EXPECT_NEAR(chunk_error(1, 3), 1e-3 / (rms / 3), 1e-6);
  EXPECT_NEAR(chunk_error(15, 1), 1e-3 / (rms / 15), 1e-5);
  EXPECT_NEAR(chunk_error(1, 16), 0.1, 1e-5) << "of 16 rows each counts as itself";
  EXPECT_NEAR(chunk_error(64, 1), 0.1, 1e-5);
}

// The chunk in which a running sum passes zero has the error of all that was added before.
TEST(TensorErrors, AChunkOfARunningSumCountsAsItsSequence) {
  TensorSpec spec = token_spec({2, 192, 1, 2});
  std::vector<double> expected(static_cast<std::size_t>(spec.elements()), 4.0);
  const auto first_of = [](int batch, int chunk) { return (batch * 192 + chunk * 64) * 2; };
  std::fill(expected.begin() + first_of(0, 1), expected.begin() + first_of(0, 2), 0.001);
  std::fill(expected.begin() + first_of(1, 0), expected.end(), 0.5);
  auto got = as_float(expected);
  for (int i = first_of(0, 1); i < first_of(0, 2); ++i) got[static_cast<std::size_t>(i)] += 1e-5f;
  const double of_all = std::sqrt((2.0 / 3 * 16 + 0.25) / 2);
  EXPECT_NEAR(tensor_errors(spec, got, expected).worst_chunk_rel_l2, 1e-5 / (of_all / 128), 1e-5);
  spec.running_sum = true;
  const double rms = std::sqrt(2.0 / 3) * 4;
  EXPECT_NEAR(tensor_errors(spec, got, expected).worst_chunk_rel_l2, 1e-5 / rms, 1e-7);
  EXPECT_NEAR(chunk_errors(spec, got, expected).rel_l2[1], 1e-5 / rms, 1e-7);
  // An error in the sequence of smaller numbers counts against those.
  for (int i = first_of(1, 1); i < first_of(1, 2); ++i) got[static_cast<std::size_t>(i)] += 1e-4f;
  EXPECT_NEAR(tensor_errors(spec, got, expected).worst_chunk_rel_l2, 1e-4 / 0.5, 1e-6);
}

TEST(TensorErrors, NothingOverNothing) {
  const auto spec = token_spec({1, 2, 1, 2});
  const std::vector<double> zero(4, 0.0);
  EXPECT_EQ(tensor_errors(spec, as_float(zero), zero).rel_l2, 0);
  EXPECT_EQ(tensor_errors(spec, as_float(zero), zero).worst_chunk_rel_l2, 0);
  const ErrorMetrics m = tensor_errors(spec, std::vector<float>{0, 0, 1e-30f, 0}, zero);
  EXPECT_TRUE(std::isinf(m.rel_l2));
  EXPECT_TRUE(std::isinf(m.max_abs));
  EXPECT_TRUE(std::isinf(m.worst_chunk_rel_l2));
}

TEST(TensorErrors, AnyNaNOrInfinityMakesEveryErrorNaN) {
  const auto spec = token_spec({1, 200, 2, 3});
  const auto expected = ramp(spec.elements());
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    auto got = as_float(expected);
    got[777] = bad;
    got[800] = bad;
    got[3] = 100.0f;
    const ErrorMetrics m = tensor_errors(spec, got, expected);
    EXPECT_TRUE(std::isnan(m.rel_l2) && std::isnan(m.max_abs) && std::isnan(m.worst_chunk_rel_l2));
    EXPECT_EQ(m.not_finite, 2);
    EXPECT_EQ(m.unwritten, 0);
    EXPECT_EQ(m.worst.index, (std::vector<std::int64_t>{0, 129, 1, 0}));
  }
}

TEST(TensorErrors, ANaNInTheReferenceIsNoPass) {
  const auto spec = token_spec({1, 4, 1, 1});
  const std::vector<double> expected{1, NAN, 1, 1};
  EXPECT_TRUE(std::isnan(tensor_errors(spec, std::vector<float>{1, 1, 1, 1}, expected).rel_l2));
}

TEST(TensorErrors, AnExpectedNaNIsRightAndTakesPartInNoNorm) {
  const auto spec = token_spec({1, 70, 2, 3});
  std::vector<double> expected(420, 2.0);
  for (std::size_t i = 0; i < 60; ++i) expected[i] = NAN;
  auto got = as_float(expected);
  got[100] = 2.5f;
  const ErrorMetrics m = tensor_errors(spec, got, expected);
  EXPECT_EQ(m.elements, 360);
  EXPECT_EQ(m.not_finite + m.unwritten, 0);
  EXPECT_NEAR(m.rel_l2, 0.5 / std::sqrt(4.0 * 360), 1e-12);
  EXPECT_NEAR(m.max_abs, 0.25, 1e-12);
}

TEST(TensorErrors, WhatIsNotNaNWhereNaNIsExpectedFails) {
  const auto spec = token_spec({1, 4, 1, 1});
  const std::vector<double> expected{1, NAN, 1, 1};
  for (const std::uint32_t bits : {0xffffffffu, 0xffff0000u, 0xffffe000u}) {
    const std::vector<float> got{1, std::bit_cast<float>(bits), 1, 1};
    const ErrorMetrics m = tensor_errors(spec, got, expected);
    EXPECT_TRUE(std::isnan(m.rel_l2));
    EXPECT_EQ(m.unwritten, 1);
  }
  for (const float wrong : {0.0f, INFINITY, -INFINITY}) {
    const ErrorMetrics m = tensor_errors(spec, std::vector<float>{1, wrong, 1, 1}, expected);
    EXPECT_TRUE(std::isnan(m.rel_l2) && std::isnan(m.max_abs));
    EXPECT_EQ(m.not_finite, 1);
  }
  const std::vector<double> nothing_else(4, NAN);
  EXPECT_EQ(tensor_errors(spec, std::vector<float>(4, NAN), nothing_else).rel_l2, 0);
}

TEST(TensorErrors, PoisonIsCountedInEveryDtype) {
  for (const std::uint32_t bits : {0xffffffffu, 0xffff0000u, 0xffffe000u}) {
    const auto spec = token_spec({1, 4, 1, 1});
    const float poison = std::bit_cast<float>(bits);
    const ErrorMetrics m = tensor_errors(spec, std::vector<float>{1, poison, NAN, poison},
                                         std::vector<double>(4, 1.0));
    EXPECT_EQ(m.unwritten, 2);
    EXPECT_EQ(m.not_finite, 1);
  }
}

TEST(TensorErrors, SameForEveryNumberOfThreads) {
  const auto spec = token_spec({2, 1000, 5, 33});
  const auto expected = ramp(spec.elements());
  auto got = as_float(expected);
  for (std::size_t i = 0; i < got.size(); ++i) got[i] *= 1.0f + 1e-6f * static_cast<float>(i % 13);
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const ErrorMetrics one = tensor_errors(spec, got, expected);
  omp_set_num_threads(7);
  const ErrorMetrics many = tensor_errors(spec, got, expected);
  omp_set_num_threads(before);
  EXPECT_EQ(one.rel_l2, many.rel_l2);
  EXPECT_EQ(one.worst_chunk_rel_l2, many.worst_chunk_rel_l2);
  EXPECT_EQ(one.worst.index, many.worst.index);
}

TEST(TensorErrors, SizesMustFit) {
  const auto spec = token_spec({1, 4, 1, 1});
  EXPECT_THROW(tensor_errors(spec, std::vector<float>(3), std::vector<double>(4)),
               std::invalid_argument);
  EXPECT_THROW(tensor_errors(spec, std::vector<float>(4), std::vector<double>(3)),
               std::invalid_argument);
}

TEST(TensorErrors, ExpectedInfinitiesAreRightAndInNoNorm) {
  const auto spec = token_spec({1, 130, 2});
  std::vector<double> expected(260, 2.0);
  for (std::size_t i = 0; i < 2 * 64; i += 2) expected[i] = -infinity;  // a whole chunk of head 0
  auto got = as_float(expected);
  const ErrorMetrics exact = tensor_errors(spec, got, expected);
  EXPECT_EQ(exact.rel_l2, 0);
  EXPECT_EQ(exact.worst_chunk_rel_l2, 0);
  EXPECT_EQ(exact.not_finite, 0);
  EXPECT_EQ(exact.elements, 260 - 64);
  EXPECT_EQ(exact.smallest_chunk, 64);
  got[259] = 2.5f;
  const ErrorMetrics off = tensor_errors(spec, got, expected);
  EXPECT_DOUBLE_EQ(off.rel_l2, 0.5 / (2.0 * std::sqrt(196.0)));
  EXPECT_DOUBLE_EQ(off.max_abs, 0.25);
}

TEST(TensorErrors, OtherValuesWhereInfinityIsExpectedFail) {
  const auto spec = token_spec({1, 70, 2});
  std::vector<double> expected(140, 2.0);
  expected[6] = -infinity;
  const float poison = std::bit_cast<float>(0xffffffffu);
  for (const float wrong : {-1e38f, 0.0f, INFINITY, NAN, poison}) {
    auto got = as_float(expected);
    got[6] = wrong;
    const ErrorMetrics m = tensor_errors(spec, got, expected);
    EXPECT_TRUE(std::isnan(m.rel_l2)) << wrong;
    EXPECT_TRUE(std::isnan(m.worst_chunk_rel_l2)) << wrong;
    EXPECT_TRUE(std::isnan(m.max_abs)) << wrong;
    EXPECT_EQ(m.not_finite + m.unwritten, 1) << wrong;
    EXPECT_EQ(m.worst.index, (std::vector<std::int64_t>{0, 3, 0})) << wrong;
  }
  auto got = as_float(expected);
  got[7] = -INFINITY;  // infinite where it is not expected
  EXPECT_TRUE(std::isnan(tensor_errors(spec, got, expected).rel_l2));
}

TEST(TensorErrors, NothingButExpectedInfinities) {
  const auto spec = token_spec({1, 3, 1});
  const std::vector<double> expected(3, -infinity);
  const ErrorMetrics m = tensor_errors(spec, as_float(expected), expected);
  EXPECT_EQ(m.rel_l2, 0);
  EXPECT_EQ(m.not_finite, 0);
  EXPECT_EQ(m.elements, 0);
  const Bounds bound = bounds(default_tolerance(), Arithmetic::float32, DType::float32, 0,
                              baseline_error(spec, as_float(expected), expected));
  EXPECT_TRUE(m.rel_l2 <= bound.rel_l2 && m.max_abs <= bound.max_abs);
}

TEST(BaselineError, KnowsTheLargestValueOfARunningSumAlone) {
  auto spec = token_spec({1, 100, 1, 1});
  std::vector<double> expected(100, 0.0);
  expected[40] = -8;
  EXPECT_EQ(baseline_error(spec, as_float(expected), expected).largest_of_sum, 0);
  spec.running_sum = true;
  EXPECT_NEAR(baseline_error(spec, as_float(expected), expected).largest_of_sum, 10, 1e-12);
  expected[60] = -std::numeric_limits<double>::infinity();  // neither a value nor an element
  EXPECT_NEAR(baseline_error(spec, as_float(expected), expected).largest_of_sum, std::sqrt(99.0),
              1e-12);
  expected.assign(100, 0.0);
  EXPECT_EQ(baseline_error(spec, as_float(expected), expected).largest_of_sum, 0);
}

}  // namespace
}  // namespace gla_bench
