// The mean of signed errors and the bits that a float32 output keeps, with numbers.

#include "harness/verify/value_tests.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <vector>

#include "core/rounding.hpp"
#include "harness/verify/host_comparison.hpp"
#include "reference/inputs.hpp"

namespace gla_bench {
namespace {

constexpr double bfloat16_rounding = 0.00166;

TensorSpec tokens(std::int64_t batch, std::int64_t seq, std::int64_t heads, std::int64_t dim,
                  DType dtype = DType::bfloat16) {
  return {"o", TensorSpec::Role::output, dtype, {batch, seq, heads, dim}, true};
}

std::vector<double> normals(const TensorSpec& spec, std::uint64_t seed) {
  const std::vector<float> drawn =
      draw_normal(stream(seed, "values"), spec.elements(), DType::float32);
  return {drawn.begin(), drawn.end()};
}

std::vector<float> stored(const std::vector<double>& values,
                          const std::function<float(double)>& store) {
  std::vector<float> result;
  for (const double value : values) result.push_back(store(value));
  return result;
}

float to_nearest(double value) {
  return round_to(DType::bfloat16, value);
}
float truncated(double value) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) &
                              0xffff0000u);
}
float downwards(double value) {
  const float towards_zero = truncated(value);
  if (!(value < towards_zero)) return towards_zero;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(towards_zero) + 0x10000u);
}

Bounds of_float32() {
  Bounds bounds;
  bounds.computed = 1e-6;
  bounds.rounding = bfloat16_rounding;
  bounds.as_float32 = true;
  bounds.common = {2e-6, 2e-6};
  return bounds;
}

Bounds of_rounded_factors() {
  Bounds bounds;
  bounds.computed = 0.0036;
  bounds.rounding = 0.0021;
  return bounds;
}

bool passes(const TensorSpec& spec, const std::vector<float>& got,
            const std::vector<double>& expected, const Bounds& bounds) {
  const SignedMean mean = signed_mean(spec, got, expected, bounds, 6);
  return std::abs(mean.value) <= mean.bound;
}

TEST(SignedMean, RoundingToNearestPassesAndTruncationDoesNot) {
  for (const std::int64_t seq : {2, 9, 130, 700})
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const TensorSpec spec = tokens(1, seq, 2, 64);
      const std::vector<double> expected = normals(spec, seed);
      EXPECT_TRUE(passes(spec, stored(expected, to_nearest), expected, of_float32())) << seq;
      EXPECT_FALSE(passes(spec, stored(expected, truncated), expected, of_float32())) << seq;
      EXPECT_FALSE(passes(spec, stored(expected, downwards), expected, of_float32())) << seq;
      if (seq < 130) continue;
      EXPECT_TRUE(passes(spec, stored(expected, to_nearest), expected, of_rounded_factors()));
      EXPECT_FALSE(passes(spec, stored(expected, truncated), expected, of_rounded_factors()));
    }
}

// Chunk forms round a factor that a whole row shares, or a state that a chunk of tokens reads.
TEST(SignedMean, ErrorsThatRowsShareHaveRoom) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const TensorSpec spec = tokens(1, 200, 1, 16);
    const std::vector<double> expected = normals(spec, seed);
    std::vector<float> got;
    for (std::int64_t i = 0; i < spec.elements(); ++i) {
      const std::int64_t row = i / 16;
      const double shared = 2 * random_uniform(stream(seed, "rows"), row) - 1;
      got.push_back(to_nearest(expected[i] * (1 + 0.0039 * shared)));
    }
    EXPECT_TRUE(passes(spec, got, expected, of_rounded_factors())) << seed;
  }
}

// Values on float16's grid times a decay just below 1 round back to the values, in every batch.
TEST(SignedMean, DecaysThatRoundAwayHaveRoomAndTruncatedOnesHaveNone) {
  const TensorSpec spec = tokens(4, 700, 8, 64);
  const double decay = 1 - std::exp2(-13);
  std::vector<double> expected = normals(spec, 1);
  std::vector<float> rounded, cut;
  for (double& value : expected) {
    const float on_grid = round_to(DType::float16, value);
    value = on_grid * decay;
    rounded.push_back(round_to(DType::float16, value));
    cut.push_back(static_cast<float>(on_grid * (1 - 2 * std::exp2(-13))));
    ASSERT_EQ(rounded.back(), on_grid);
  }
  BaselineError baseline;
  baseline.elements = spec.elements();
  TensorSpec state = spec;
  state.dtype = DType::float32;
  const auto of = [&](int decayed_factors) {
    state.decayed_factors = decayed_factors;
    return bounds(default_tolerance(), Arithmetic::float16, state, baseline);
  };
  EXPECT_TRUE(passes(state, rounded, expected, of(1)));
  EXPECT_FALSE(passes(state, rounded, expected, of(0)));
  EXPECT_FALSE(passes(state, cut, expected, of(1)));
  EXPECT_EQ(of(1).outwards, std::exp2(-13));
  EXPECT_EQ(of(2).outwards, std::exp2(-12));
  EXPECT_EQ(of(2).inwards, 0);
  // Where a head's tokens share the decay, all of it may be rounded towards zero as well.
  const auto shrunk = [&](double by) {
    return stored(expected, [by](double value) { return static_cast<float>(value * (1 - by)); });
  };
  EXPECT_FALSE(passes(state, shrunk(std::exp2(-12.5)), expected, of(2)));
  state.decays_alike = true;
  EXPECT_EQ(of(2).inwards, of(2).outwards);
  EXPECT_TRUE(passes(state, shrunk(std::exp2(-12.5)), expected, of(2)));
  EXPECT_FALSE(passes(state, shrunk(std::exp2(-11.5)), expected, of(2)));
}

// An error of the gradient of a token's decay stays in those of all tokens before it.
TEST(SignedMean, ErrorsOfARunningSumAreOneDrawOfAHead) {
  int failed = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    TensorSpec spec{"dg", TensorSpec::Role::output, DType::float32, {1, 12800, 4}, true};
    const std::vector<double> expected = normals(spec, seed);
    std::vector<float> got;
    for (std::int64_t i = 0; i < spec.elements(); ++i) {
      const double shared = 2 * random_uniform(stream(seed, "heads"), i % 4) - 1;
      got.push_back(static_cast<float>(expected[i] * (1 + 0.0036 * shared)));
    }
    Bounds bounds = of_rounded_factors();
    bounds.rounding = 0;
    failed += passes(spec, got, expected, bounds) ? 0 : 1;
    spec.running_sum = true;
    EXPECT_TRUE(passes(spec, got, expected, bounds)) << seed;
    const std::vector<float> cut =
        stored(expected, [](double x) { return static_cast<float>(x * (1 - 0.0125)); });
    EXPECT_FALSE(passes(spec, cut, expected, bounds)) << seed;
  }
  EXPECT_GT(failed, 5);
}

// A tensor core's sums lose half a unit of float32's last place at each of their steps.
TEST(SignedMean, LongSumsMayShrinkByTheirSteps) {
  TensorSpec spec = tokens(4, 700, 8, 64);
  spec.dtype = DType::float32;
  spec.longest_sum = 16 * 1024;
  const std::vector<double> expected = normals(spec, 1);
  const auto scaled = [&](double by) {
    return stored(expected, [by](double value) { return static_cast<float>(value * by); });
  };
  BaselineError baseline;
  baseline.elements = spec.elements();
  const Bounds bound = bounds(default_tolerance(), Arithmetic::bfloat16, spec, baseline);
  EXPECT_EQ(bound.inwards, std::exp2(-14));
  EXPECT_EQ(bounds(default_tolerance(), Arithmetic::tf32, spec, baseline).inwards, std::exp2(-13));
  EXPECT_EQ(bounds(default_tolerance(), Arithmetic::float32, spec, baseline).inwards, 0);
  // Independent errors have 1.5e-4 on both sides.
  EXPECT_TRUE(passes(spec, scaled(1 - 1.8e-4), expected, bound));
  EXPECT_FALSE(passes(spec, scaled(1 - 2.5e-4), expected, bound));
  EXPECT_FALSE(passes(spec, scaled(1 + 1.8e-4), expected, bound));
}

TEST(SignedMean, WhatThePlainComputationHasIsNoFault) {
  const TensorSpec spec = tokens(1, 700, 2, 64);
  const std::vector<double> expected = normals(spec, 1);
  const std::vector<float> got =
      stored(expected, [](double value) { return to_nearest(value * 1.001); });
  Bounds bounds = of_rounded_factors();
  EXPECT_FALSE(passes(spec, got, expected, bounds));
  const SignedMeans means = signed_means(spec, DType::bfloat16, got, expected);
  EXPECT_NEAR(means.along, 0.001, 2e-5);
  bounds.common = {3 * means.along, 3 * means.plain};
  EXPECT_TRUE(passes(spec, got, expected, bounds));
}

TEST(SignedMean, ANumberThatIsZeroByChanceCountsAsWhatWasAddedUp) {
  TensorSpec spec{"lse", TensorSpec::Role::output, DType::float32, {1, 1, 1}, true};
  const std::vector<double> expected{0.01};
  const std::vector<float> got{0.01f + 1e-7f};
  Bounds bounds = of_float32();
  bounds.rounding = 0;
  const SignedMean small = signed_mean(spec, got, expected, bounds, 6);
  EXPECT_GT(std::abs(small.value), small.bound);
  spec.sum_size = 1;
  const SignedMean beside_a_score = signed_mean(spec, got, expected, bounds, 6);
  EXPECT_NEAR(beside_a_score.value, 1e-7 / 3, 1e-9);  // of one score three times its RMS
  EXPECT_LE(std::abs(beside_a_score.value), beside_a_score.bound);
}

TEST(SignedMean, OneLargeElementDecidesNothing) {
  const TensorSpec spec = tokens(1, 200, 1, 16);
  std::vector<double> expected = normals(spec, 1);
  expected[5] = 1e5;
  std::vector<float> got = stored(expected, to_nearest);
  got[5] = static_cast<float>(1e5 * (1 - 0.003));
  EXPECT_TRUE(passes(spec, got, expected, of_rounded_factors()));
}

TEST(SignedMean, NothingToCompareIsNoError) {
  const TensorSpec spec = tokens(1, 3, 1, 2);
  const std::vector<double> zeros(6, 0.0), infinite(6, -INFINITY);
  EXPECT_EQ(signed_mean(spec, std::vector<float>(6, 0.0f), zeros, of_float32(), 6).value, 0);
  EXPECT_EQ(signed_mean(spec, std::vector<float>(6, -INFINITY), infinite, of_float32(), 6).value,
            0);
  EXPECT_THROW(signed_mean(spec, std::vector<float>(5), zeros, of_float32(), 6),
               std::invalid_argument);
}

TEST(KeptBits, AFloat32OutputThatWasStoredInFewerBitsIsSeen) {
  const TensorSpec spec = tokens(1, 20, 1, 8, DType::float32);
  const std::vector<double> expected = normals(spec, 3);
  const auto kept = [&](const std::function<float(double)>& store) {
    return kept_bits(spec, stored(expected, store), expected, {});
  };
  EXPECT_EQ(kept([](double x) { return static_cast<float>(x); }), std::nullopt);
  EXPECT_EQ(kept(to_nearest), 8);
  EXPECT_EQ(kept([](double x) { return round_to(DType::float16, x); }), 11);
  EXPECT_EQ(kept([](double x) { return round_mantissa<10>(static_cast<float>(x)); }), 11);
}

// A sum of three keys that a 16-bit product has rounded has few bits in any right kernel.
TEST(KeptBits, APlainComputationOfFewBitsExplainsThem) {
  const TensorSpec spec = tokens(1, 20, 1, 8, DType::float32);
  const std::vector<double> expected = normals(spec, 3);
  const std::vector<float> got = stored(expected, to_nearest);
  EXPECT_EQ(kept_bits(spec, got, expected, coarse_shares(got)), std::nullopt);
  EXPECT_EQ(coarse_shares(got).bfloat16, 1.0);
  EXPECT_EQ(kept_bits(spec, got, expected, {0.1, 0.1}), 8);
}

TEST(KeptBits, WhatThePlainComputationExplainsIsTakenOff) {
  const TensorSpec spec = tokens(1, 20, 1, 8, DType::float32);
  const std::vector<double> expected = normals(spec, 3);
  std::vector<float> got = stored(expected, [](double x) { return static_cast<float>(x); });
  for (std::size_t i = 0; i < got.size() * 6 / 10; ++i) got[i] = to_nearest(expected[i]);
  EXPECT_EQ(kept_bits(spec, got, expected, {}), 8);
  EXPECT_EQ(kept_bits(spec, got, expected, {0.2, 0.2}), std::nullopt);
}

TEST(KeptBits, WhatIsLeftOfCancellingTermsDoesNotCount) {
  const TensorSpec spec = tokens(1, 20, 1, 8, DType::float32);
  const std::vector<double> expected(160, 0.0);
  const std::vector<float> multiples(160, 0x3p-24f), allowed(160, 0x1p-20f), none(160, 0.0f);
  HostComparison cancelled(spec, multiples, expected, allowed);
  EXPECT_EQ(kept_bits(spec, cancelled, {}), std::nullopt);
  HostComparison wrong(spec, multiples, expected, none);
  EXPECT_EQ(kept_bits(spec, wrong, {}), 8);
}

TEST(KeptBits, AReferenceOfFewBitsExplainsThem) {
  const TensorSpec spec = tokens(1, 20, 1, 8, DType::float32);
  std::vector<double> expected = normals(spec, 3);
  for (double& value : expected) value = to_nearest(value);
  EXPECT_EQ(kept_bits(spec, stored(expected, to_nearest), expected, {}), std::nullopt);
  const TensorSpec small = tokens(1, 3, 1, 8, DType::float32);
  expected.resize(24);
  EXPECT_EQ(kept_bits(small, stored(normals(small, 1), to_nearest), normals(small, 1), {}),
            std::nullopt);
  const TensorSpec sixteen = tokens(1, 20, 1, 8);
  EXPECT_EQ(kept_bits(sixteen, stored(normals(sixteen, 1), to_nearest), normals(sixteen, 1), {}),
            std::nullopt);
}

}  // namespace
}  // namespace gla_bench
