// Bounds as numbers, and the policy file.

#include "harness/verify/tolerance.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "core/error.hpp"
#include "harness/support/json.hpp"
#include "tests/support/places.hpp"

namespace gla_bench {
namespace {

const Tolerance& policy() {
  return default_tolerance();
}

TEST(Tolerance, CapsAreThePublishedOnes) {
  EXPECT_EQ(policy().of(Arithmetic::float32).cap, 1e-5);
  EXPECT_EQ(policy().of(Arithmetic::tf32).cap, 1e-3);
  EXPECT_EQ(policy().of(Arithmetic::float16).cap, 2e-3);
  EXPECT_EQ(policy().of(Arithmetic::bfloat16).cap, 4e-3);
}

TEST(Tolerance, CapIsThatOfTheCoarserOfArithmeticAndOutput) {
  EXPECT_EQ(cap(policy(), Arithmetic::float32, DType::float32), 1e-5);
  EXPECT_EQ(cap(policy(), Arithmetic::float32, DType::bfloat16), 4e-3);
  EXPECT_EQ(cap(policy(), Arithmetic::tf32, DType::float16), 2e-3);
  EXPECT_EQ(cap(policy(), Arithmetic::bfloat16, DType::float32), 4e-3);
}

BaselineError large_tensor(double rel_l2, double chunk, double max_abs) {
  const OutputErrors errors{rel_l2, chunk, max_abs};
  return {errors, errors, {}, 1 << 24, 64 * 128};
}

// Bounds of an output that may have three rounded factors.
Bounds bounds_of(Arithmetic arithmetic, DType output, const BaselineError& baseline) {
  return bounds(policy(), arithmetic, output, 3, baseline);
}

// An output in bfloat16: what the plain computation's error is before and after rounding, and what
// rounding alone costs.
BaselineError rounded_tensor(double computed, double stored, double rounding) {
  return {{stored, stored, 10 * stored},
          {computed, computed, 10 * computed},
          {rounding, rounding, 10 * rounding},
          1 << 24,
          64 * 128};
}

TEST(Tolerance, BoundIsTiedToThePlainComputation) {
  const auto& p = policy().of(Arithmetic::tf32);
  const Bounds b = bounds_of(Arithmetic::tf32, DType::float32, large_tensor(2e-4, 3e-4, 4e-3));
  EXPECT_DOUBLE_EQ(b.rel_l2, p.factor * 2e-4);
  EXPECT_DOUBLE_EQ(b.worst_chunk_rel_l2, p.chunk_factor * 3e-4);
  EXPECT_DOUBLE_EQ(b.max_abs, p.max_factor * 4e-3);
}

TEST(Tolerance, BoundIsNeverAboveTheCap) {
  for (const double error : std::initializer_list<double>{1.0, INFINITY, std::nan("")}) {
    const Bounds b =
        bounds_of(Arithmetic::float32, DType::float32, large_tensor(error, error, error));
    EXPECT_EQ(b.rel_l2, 1e-5);
    EXPECT_EQ(b.worst_chunk_rel_l2, 1e-5 * policy().worst_chunk);
    EXPECT_EQ(b.max_abs, 1e-5 * policy().max_abs);
  }
}

// The gradient of strong gates is near zero almost everywhere, and its largest values are a hundred
// root mean squares: what one of them lacks after a rounding stays in the elements that follow.
TEST(Tolerance, TheCapOfOneErrorOfARunningSumIsARoundingOfItsLargestValue) {
  const double cap = 4e-3 * policy().max_abs, u = 0x1p-8;
  BaselineError gradient = large_tensor(2.3e-3, 3e-3, 0.2);
  const auto bound = [&](DType stored) {
    return bounds_of(Arithmetic::bfloat16, stored, gradient).max_abs;
  };
  EXPECT_DOUBLE_EQ(bound(DType::float32), cap);
  gradient.largest_of_sum = 73;
  EXPECT_DOUBLE_EQ(bound(DType::float32), 73 * u);
  EXPECT_DOUBLE_EQ(bound(DType::bfloat16), 73 * u);
  gradient.stored.max_abs = 0.03;  // A small error of the plain computation counts as ever.
  EXPECT_DOUBLE_EQ(bound(DType::float32), 4 * 0.03);
  gradient.stored.max_abs = 0.2, gradient.largest_of_sum = 20;
  EXPECT_DOUBLE_EQ(bound(DType::float32), cap);
  EXPECT_EQ(bounds_of(Arithmetic::float32, DType::float32, gradient).max_abs,
            1e-5 * policy().max_abs);
}

TEST(Tolerance, AnExactPlainComputationLeavesAFloor) {
  const auto& p = policy().of(Arithmetic::float32);
  const Bounds large = bounds_of(Arithmetic::float32, DType::float32, large_tensor(0, 0, 0));
  EXPECT_NEAR(large.rel_l2, 0x1p-24 * p.steady, 0x1p-24 * 0.01);
  EXPECT_DOUBLE_EQ(large.max_abs,
                   0x1p-24 * (p.steady + p.small) * std::sqrt(2 * 24 * std::log(2.0)));
  const Bounds one = bounds_of(Arithmetic::float32, DType::float32, {});
  EXPECT_DOUBLE_EQ(one.rel_l2, 0x1p-24 * (p.steady + p.small));
  // One element rounded once to bfloat16 may be 2^-8 off, which the cap leaves room for.
  const Bounds rounded = bounds_of(Arithmetic::bfloat16, DType::bfloat16, {});
  EXPECT_GE(rounded.rel_l2, 0x1p-8);
  EXPECT_LE(rounded.rel_l2, 4e-3);
}

TEST(Tolerance, AFloat32ComputationHasToRoundItsOutputToNearest) {
  const Bounds b =
      bounds_of(Arithmetic::float32, DType::bfloat16, rounded_tensor(2e-7, 1.66e-3, 1.66e-3));
  EXPECT_TRUE(b.as_float32);
  EXPECT_GT(b.rel_l2, 1.66e-3);
  EXPECT_LT(b.rel_l2, 1.67e-3);
  EXPECT_LT(b.worst_chunk_rel_l2, 1.67e-3);
  EXPECT_LT(b.max_abs, 1.67e-2);
  EXPECT_LT(b.rel_l2, 0.0033) << "which is the error of truncation";
}

TEST(Tolerance, AnOutputWithoutRoundedFactorsIsHeldToFloat32) {
  const BaselineError lse = large_tensor(8e-8, 9e-8, 8e-7);
  EXPECT_LT(bounds(policy(), Arithmetic::bfloat16, DType::float32, 0, lse).rel_l2, 2e-6);
  EXPECT_GT(bounds(policy(), Arithmetic::bfloat16, DType::float32, 1, lse).rel_l2, 2e-3);
  EXPECT_GT(bounds(policy(), Arithmetic::tf32, DType::float32, 0, lse).rel_l2, 4e-4)
      << "tf32 rounds the inputs as well";
}

TEST(Tolerance, ARoundedFactorLeavesNoRoomForASecondRoundingOfAFloat32Output) {
  const Bounds state =
      bounds(policy(), Arithmetic::bfloat16, DType::float32, 1, large_tensor(1e-7, 1e-7, 1e-6));
  EXPECT_FALSE(state.as_float32);
  EXPECT_GT(state.rel_l2, 0.0019) << "decayed keys rounded to nearest have 0.00166 and some more";
  EXPECT_LT(state.rel_l2, std::hypot(0.00166, 0.00166));
  const Bounds o = bounds(policy(), Arithmetic::bfloat16, DType::bfloat16, 1,
                          rounded_tensor(1.66e-3, 2.35e-3, 1.66e-3));
  EXPECT_GT(o.rel_l2, 2.5e-3);
}

TEST(Tolerance, ValuesOfAStatesRowShareTheRoundingOfTheirKey) {
  TensorSpec state{"final_state", TensorSpec::Role::output, DType::float32, {1, 1, 16, 128}};
  state.rounded_factors = 1;
  BaselineError baseline;
  baseline.elements = baseline.smallest_chunk = state.elements();
  const auto bound = [&] {
    return bounds(default_tolerance(), Arithmetic::bfloat16, state, baseline);
  };
  const double apart = bound().rel_l2, unit = 0.53 / 256;
  EXPECT_NEAR(apart, unit * (1 + 4 / std::sqrt(2048.0)), 1e-9);
  state.alike = 128;
  EXPECT_NEAR(bound().rel_l2, std::min(0.004, unit * (1 + 4 / std::sqrt(16.0))), 1e-9);
  EXPECT_GT(bound().worst_chunk_rel_l2, apart);
  state.extents[1] = 4096;  // of many rows it makes no difference
  baseline.elements = state.elements();
  EXPECT_NEAR(bound().rel_l2, unit, 0.02 * unit);
}

TEST(Tolerance, NoBoundIsLooserThanTheOneBySize) {
  for (const Arithmetic arithmetic : {Arithmetic::float32, Arithmetic::tf32, Arithmetic::bfloat16})
    for (const DType output : {DType::float32, DType::bfloat16, DType::float16})
      for (int factors = 0; factors < 4; ++factors)
        for (const double error : {0.0, 1e-7, 1e-3, 1e-2}) {
          const BaselineError baseline = rounded_tensor(error, error, error);
          const Bounds b = bounds(policy(), arithmetic, output, factors, baseline);
          EXPECT_LE(b.rel_l2, cap(policy(), arithmetic, output));
          EXPECT_LE(b.rel_l2, bounds(policy(), arithmetic, output, 9, baseline).rel_l2 * 1.0001);
        }
}

TEST(Tolerance, BoundsGrowWithTheError) {
  double last = 0;
  for (const double error : {0.0, 1e-8, 1e-7, 3e-7, 1e-6, 1e-5, 1e-4}) {
    const double bound =
        bounds_of(Arithmetic::float32, DType::float32, large_tensor(error, error, error)).rel_l2;
    EXPECT_GE(bound, last);
    last = bound;
  }
}

std::string file_text() {
  return read_text_file(std::string(places::source_dir) + "/configs/tolerance.json");
}

TEST(Tolerance, TheFileIsWhatTheProgramHolds) {
  const Tolerance file =
      load_tolerance(std::string(places::source_dir) + "/configs/tolerance.json");
  EXPECT_EQ(file.worst_chunk, policy().worst_chunk);
  EXPECT_EQ(file.max_abs, policy().max_abs);
  for (const auto& [arithmetic, p] : file.arithmetic) {
    EXPECT_EQ(p.cap, policy().of(arithmetic).cap);
    EXPECT_EQ(p.factor, policy().of(arithmetic).factor);
    EXPECT_EQ(p.steady, policy().of(arithmetic).steady);
  }
  EXPECT_EQ(file.one_rounding, policy().one_rounding);
  EXPECT_EQ(file.slack, policy().slack);
  EXPECT_EQ(file.sigmas, policy().sigmas);
  EXPECT_EQ(file.arithmetic.size(), 4u);
}

void expect_complaint(std::string text, const std::string& from, const std::string& to,
                      const std::vector<std::string>& parts) {
  const auto at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  try {
    parse_tolerance(text, "my.json");
    FAIL() << "accepted " << to;
  } catch (const InputError& error) {
    for (const std::string& part : parts)
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Tolerance, ComplaintsNameThePlace) {
  expect_complaint(file_text(), "\"cap\": 1e-5", "\"cap\": -1",
                   {"my.json", "/arithmetic/float32/cap", "-1"});
  expect_complaint(file_text(), "\"cap\": 1e-5", "\"cap\": \"small\"",
                   {"/arithmetic/float32/cap", "small"});
  expect_complaint(file_text(), "\"cap\": 1e-5", "\"cup\": 1e-5", {"/arithmetic/float32", "cup"});
  expect_complaint(file_text(), "\"factor\": 8", "\"factor\": 0.5",
                   {"/arithmetic/float32/factor", "0.5"});
  expect_complaint(file_text(), "\"tf32\"", "\"tf33\"", {"/arithmetic", "tf32"});
  expect_complaint(file_text(), "\"schema_version\": 1", "\"schema_version\": 2",
                   {"/schema_version"});
  expect_complaint(file_text(), "\"sigmas\": 6", "\"sigmas\": 0", {"/sigmas", "0"});
  expect_complaint(file_text(), "\"slack\": 1.25", "\"slack\": \"some\"", {"/slack", "some"});
  expect_complaint(file_text(), "{", "", {"my.json"});
  EXPECT_THROW(load_tolerance("/nonexistent/tolerance.json"), InputError);
}

}  // namespace
}  // namespace gla_bench
