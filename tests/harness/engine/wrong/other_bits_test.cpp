#include "harness/engine/wrong/other_bits.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "tests/harness/verify/faulty_variant.hpp"

namespace gla_bench {
namespace {

RepeatedCalls calls_of(const Fault& fault, int calls, int at_most = 8) {
  Bench bench(small_problem());
  const Variant variant = faulty(fault);
  bench.stage(variant);
  return call_repeatedly(bench.truth.op(), {&variant, bench.truth.problem(), {}}, *bench.workset,
                         *bench.plan, calls, at_most);
}

TEST(OtherBits, TheSameBitsInEveryCall) {
  int call = 0;
  const RepeatedCalls result = calls_of([&](const LinearRecurrenceParams&) { ++call; }, 10);
  EXPECT_EQ(call, 10);
  EXPECT_EQ(result.calls, 10);
  EXPECT_EQ(result.others, 0);
  EXPECT_TRUE(result.told.empty());
}

TEST(OtherBits, ACallIsToldWithItsElements) {
  int call = 0;
  const RepeatedCalls result = calls_of(
      [&](const LinearRecurrenceParams& p) {
        if (++call != 4) return;
        row(p, 1, 64, 1)[3] += 0.5f;
        row(p, 1, 100, 0)[0] += 0.25f;
      },
      6);
  EXPECT_EQ(result.others, 1);
  ASSERT_EQ(result.told.size(), 1u);
  EXPECT_EQ(result.told[0].call, 4);
  EXPECT_EQ(result.told[0].elements, 2);
  EXPECT_EQ(result.told[0].rows, 2);
  EXPECT_EQ(result.told[0].first, "[1,64,1,3]");
  EXPECT_EQ(result.told[0].last, "[1,100,0,0]");
  EXPECT_NEAR(result.told[0].largest, 0.5, 1e-3);
  EXPECT_NE(
      describe(result.told[0])
          .find(
              "call 4: 'o' has other bits in 2 elements of 2 rows, from [1,64,1,3] to [1,100,0,0]"),
      std::string::npos);
}

TEST(OtherBits, NoMoreCallsAreDescribedThanAsked) {
  int call = 0;
  const RepeatedCalls result = calls_of(
      [&](const LinearRecurrenceParams& p) {
        if (++call > 1) output(p)[0] = std::numeric_limits<float>::quiet_NaN();
      },
      9, 3);
  EXPECT_EQ(result.others, 8);
  ASSERT_EQ(result.told.size(), 3u);
  EXPECT_TRUE(std::isnan(result.told[0].largest));
}

TEST(OtherBits, ADamagedInputIsAnError) {
  EXPECT_THROW(calls_of(
                   [](const LinearRecurrenceParams& p) {
                     static_cast<float*>(const_cast<void*>(p.v))[0] += 1;
                   },
                   3),
               RunError);
}

}  // namespace
}  // namespace gla_bench
