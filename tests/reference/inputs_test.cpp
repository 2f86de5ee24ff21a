// Inputs: the same everywhere, and distributed as their regimes say.

#include "reference/inputs.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>

#include "core/error.hpp"

namespace gla_bench {
namespace {

struct Moments {
  double mean = 0, deviation = 0, least = 0, most = 0;
};

Moments moments(const std::vector<float>& values) {
  Moments m;
  const auto n = static_cast<double>(values.size());
  for (float v : values) m.mean += v / n;
  for (float v : values) m.deviation += (v - m.mean) * (v - m.mean) / n;
  m.deviation = std::sqrt(m.deviation);
  m.least = *std::min_element(values.begin(), values.end());
  m.most = *std::max_element(values.begin(), values.end());
  return m;
}

std::vector<float> gates(std::string_view regime, DType dtype = DType::float32) {
  return draw_gates(regime, 7, "g", 4000, 2, 16, dtype);
}

std::uint64_t hash(const std::vector<float>& values) {
  std::uint64_t h = 1469598103934665603ull;
  for (float v : values) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &v, sizeof bits);
    h = (h ^ bits) * 1099511628211ull;
  }
  return h;
}

TEST(Inputs, NormalHasItsMoments) {
  const std::vector<float> values = draw_normal(stream(3, "q"), 1000000, DType::float32);
  const Moments m = moments(values);
  EXPECT_NEAR(m.mean, 0, 4e-3);
  EXPECT_NEAR(m.deviation, 1, 4e-3);
  EXPECT_TRUE(m.most > 4 && m.most < 6.8);
  EXPECT_TRUE(m.least < -4 && m.least > -6.8);
  const auto within = [&](double x) {
    return static_cast<double>(std::count_if(values.begin(), values.end(),
                                             [&](float v) { return std::abs(v) < x; })) /
           1e6;
  };
  EXPECT_NEAR(within(0.5), 0.382925, 2e-3);
  EXPECT_NEAR(within(1.0), 0.682689, 2e-3);
  EXPECT_NEAR(within(2.0), 0.954500, 1e-3);
  EXPECT_NEAR(within(3.0), 0.997300, 3e-4);
}

TEST(Inputs, NeighboursAndStreamsAreIndependent) {
  const auto a = draw_normal(stream(3, "q"), 200000, DType::float32);
  const auto b = draw_normal(stream(3, "k"), 200000, DType::float32);
  const auto c = draw_normal(stream(4, "q"), 200000, DType::float32);
  double lag1 = 0, lag2 = 0, names = 0, seeds = 0, squares = 0;
  for (std::size_t i = 0; i + 2 < a.size(); ++i) {
    lag1 += a[i] * a[i + 1] / 2e5;
    lag2 += a[i] * a[i + 2] / 2e5;
    names += a[i] * b[i] / 2e5;
    seeds += a[i] * c[i] / 2e5;
    squares += (a[i] * a[i] - 1) * (a[i + 1] * a[i + 1] - 1) / 2e5;
  }
  for (double correlation : {lag1, lag2, names, seeds}) EXPECT_NEAR(correlation, 0, 0.012);
  EXPECT_NEAR(squares, 0, 0.03);
}

TEST(Inputs, SameForEveryNumberOfThreads) {
  const int before = omp_get_max_threads();
  std::set<std::uint64_t> normals, resets;
  for (int threads : {1, 2, 3, 8}) {
    omp_set_num_threads(threads);
    normals.insert(hash(draw_normal(stream(1, "q"), 10001, DType::bfloat16)));
    resets.insert(hash(draw_gates("resets", 1, "g", 100, 3, 20, DType::float16)));
  }
  omp_set_num_threads(before);
  EXPECT_EQ(normals.size(), 1u);
  EXPECT_EQ(resets.size(), 1u);
}

TEST(Inputs, ElementsDoNotDependOnTheCount) {
  const auto few = draw_normal(stream(1, "q"), 33, DType::float32);
  const auto many = draw_normal(stream(1, "q"), 1000, DType::float32);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
  for (std::uint64_t i = 0; i < few.size(); ++i)
    EXPECT_EQ(few[i], static_cast<float>(random_normal(stream(1, "q"), i)));
}

// Guards "identical on all machines": a compiler or library that changed one bit shows here.
TEST(Inputs, BitsAreThese) {
  EXPECT_EQ(random_word(stream(1, "q"), 0), 8792185963341588067ull);
  EXPECT_EQ(hash(draw_normal(stream(1, "q"), 4096, DType::float32)), 13731405948398423661ull);
  std::vector<std::uint64_t> hashes;
  for (const std::string& regime : gate_regimes()) hashes.push_back(hash(gates(regime)));
  EXPECT_EQ(hashes, (std::vector<std::uint64_t>{16652840197807436675ull, 7905704938996479586ull,
                                                6668313965894809186ull, 11401453046515392184ull,
                                                17298297049646149952ull, 11694546244430713314ull,
                                                6868655329561443115ull, 9082302440926525186ull}));
}

TEST(Inputs, RoundedToTheDtype) {
  for (float v : draw_normal(stream(1, "q"), 1000, DType::bfloat16))
    EXPECT_EQ(v, round_to(DType::bfloat16, v));
  const auto wide = gates("rwkv"), narrow = gates("rwkv", DType::float16);
  for (std::size_t i = 0; i < wide.size(); ++i)
    ASSERT_NEAR(narrow[i], wide[i], 1e-3 * std::abs(wide[i]) + 1e-7);
}

TEST(Inputs, RegimesAsDefined) {
  EXPECT_EQ(moments(gates("none")).least, 0);
  EXPECT_EQ(moments(gates("none")).most, 0);
  // E logsigmoid(N(0,1)) = -0.8061, its standard deviation 0.5211 (numerical quadrature).
  const Moments typical = moments(gates("typical"));
  EXPECT_NEAR(typical.mean, -0.8061, 6e-3);
  EXPECT_NEAR(typical.deviation, 0.5211, 8e-3);
  EXPECT_TRUE(typical.least > -7 && typical.most < 0);
  const Moments mild = moments(gates("mild")), strong = moments(gates("strong"));
  EXPECT_NEAR(mild.mean, typical.mean / 16, 1e-6);
  EXPECT_NEAR(strong.mean, typical.mean * 10, 1e-4);
  EXPECT_TRUE(strong.least < -20);
  // The median of exp(N(-3,1.5)) is e^-3, its mean e^(-3+1.5^2/2) = 0.1534.
  auto rwkv = gates("rwkv");
  EXPECT_NEAR(moments(rwkv).mean, -0.1534, 0.012);
  EXPECT_TRUE(moments(rwkv).most < 0);
  std::nth_element(rwkv.begin(), rwkv.begin() + static_cast<std::int64_t>(rwkv.size() / 2),
                   rwkv.end());
  EXPECT_NEAR(rwkv[rwkv.size() / 2], -std::exp(-3.0), 2e-3);
}

/// The share of the tokens' heads (of `heads`) whose channels are all at the value. The other gates
/// are mild.
double struck_share(const std::string& regime, float value, const std::vector<std::size_t>& heads) {
  const auto g = gates(regime), mild = gates("mild");
  int struck = 0, all = 0;
  for (std::size_t token = 0; token < 4000; ++token)
    for (const std::size_t head : heads) {
      const std::size_t first = (token * 2 + head) * 16;
      const bool hit = g[first] == value;
      struck += hit, ++all;
      for (std::size_t i = first; i < first + 16; ++i) EXPECT_EQ(g[i], hit ? value : mild[i]);
    }
  return static_cast<double>(struck) / all;
}

TEST(Inputs, SpikesAndResetsStrikeWholeTokens) {
  EXPECT_NEAR(struck_share("spikes", -30.0f, {0, 1}), 0.10, 0.012);
  const auto g = gates("resets");
  const std::size_t rare = g[0] == 0.0f && g[32] == 0.0f ? 0 : 1;  // channels of tokens 0 and 1
  EXPECT_NEAR(struck_share("resets", -INFINITY, {1 - rare}), 0.05, 0.012);
  for (std::size_t token = 0; token < 4000; ++token)
    for (std::size_t i = 0; i < 16; ++i)
      ASSERT_EQ(g[(token * 2 + rare) * 16 + i], token % 256 == 63 ? -INFINITY : 0.0f) << token;
}

TEST(Inputs, TheSeedSaysWhichHeadsAreResetRarely) {
  std::set<bool> first_is_rare;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto g = draw_gates("resets", seed, "g", 2, 1, 8, DType::float32);
    first_is_rare.insert(std::set<float>(g.begin(), g.end()) == std::set<float>{0.0f});
  }
  EXPECT_EQ(first_is_rare.size(), 2u);
}

TEST(Inputs, PerChannelFixesWholeChannels) {
  const auto g = draw_gates("per_channel", 7, "g", 50, 8, 64, DType::bfloat16);
  int open = 0, shut = 0;
  for (std::size_t channel = 0; channel < 512; ++channel) {
    const float first = g[channel];
    open += first == 0.0f;
    shut += first == -40.0f;
    if (first != 0.0f && first != -40.0f) continue;
    for (std::size_t t = 0; t < 50; ++t) ASSERT_EQ(g[t * 512 + channel], first);
  }
  EXPECT_NEAR(open / 512.0, 0.25, 0.08);
  EXPECT_NEAR(shut / 512.0, 0.25, 0.08);
}

TEST(Inputs, RawGatesAreLogarithmsOfGates) {
  for (const std::string& regime : gate_regimes()) {
    if (!raw_gates_have(regime)) continue;
    const auto raw = draw_raw_gates(regime, 7, "g", 100, 2, 16, DType::float32);
    const auto g = draw_gates(regime, 7, "g", 100, 2, 16, DType::float32);
    for (std::size_t i = 0; i < g.size(); ++i)
      ASSERT_NEAR(-std::exp(static_cast<double>(raw[i])), g[i], 1e-6 * std::abs(g[i])) << regime;
  }
  const Moments m = moments(draw_raw_gates("rwkv", 3, "w", 20000, 1, 16, DType::bfloat16));
  EXPECT_NEAR(m.mean, -3, 0.02);
  EXPECT_NEAR(m.deviation, 1.5, 0.02);
}

TEST(Inputs, PositiveOnesAreFeaturesOfNormals) {
  const auto positive = draw_positive(stream(3, "q"), 1000, DType::float32);
  const auto normal = draw_normal(stream(3, "q"), 1000, DType::float32);
  for (std::size_t i = 0; i < positive.size(); ++i)
    ASSERT_NEAR(positive[i], normal[i] > 0 ? normal[i] + 1 : std::exp(normal[i]), 1e-6);
}

TEST(Inputs, DecaysOfHeads) {
  const auto decays = draw_head_decays("retnet", 1, "log_decay", 64);
  EXPECT_NEAR(decays[0], std::log(1 - 1.0 / 32), 2e-9);
  for (std::size_t h = 0; h < decays.size(); ++h)
    EXPECT_NEAR(decays[h] / std::log1p(-std::ldexp(1.0, -5 - static_cast<int>(h))), 1, 1e-7) << h;
  EXPECT_LT(draw_head_decays("strong", 1, "log_decay", 1000)[7], 0);
  EXPECT_EQ(draw_head_decays("none", 1, "log_decay", 2), (std::vector<float>{0, 0}));
  EXPECT_THROW(draw_head_decays("per_channel", 1, "log_decay", 2), InputError);
}

TEST(Inputs, ConstantResetsTakeTurnsWithHeadsThatForgetNothing) {
  std::set<float> firsts;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto decays = draw_head_decays("resets", seed, "log_decay", 5);
    firsts.insert(decays[0]);
    EXPECT_EQ(std::set<float>(decays.begin(), decays.end()), (std::set<float>{-INFINITY, 0}));
    for (std::size_t h = 1; h < decays.size(); ++h) EXPECT_NE(decays[h], decays[h - 1]);
  }
  EXPECT_EQ(firsts.size(), 2u);
}

TEST(Inputs, BoundariesRiseFromNothingToAllTokens) {
  for (const char* kind : {"uniform", "skewed"})
    for (const std::int64_t tokens : {0, 1, 100, (1 << 24) - 1})
      for (const std::int64_t sequences : {1, 2, 7, 300}) {
        const auto ends = draw_boundaries(kind, 5, "cu_seqlens", tokens, sequences);
        ASSERT_EQ(static_cast<std::int64_t>(ends.size()), sequences + 1);
        EXPECT_EQ(ends.front(), 0);
        EXPECT_EQ(ends.back(), static_cast<float>(tokens));
        EXPECT_TRUE(std::is_sorted(ends.begin(), ends.end()));
        EXPECT_EQ(ends, draw_boundaries(kind, 5, "cu_seqlens", tokens, sequences));
      }
  EXPECT_THROW(draw_boundaries("equal", 5, "cu_seqlens", 9, 2), InputError);
}

TEST(Inputs, SkewedLengthsHaveFewLongAndManyEmptyOnes) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    std::vector<float> lengths;
    const auto ends = draw_boundaries("skewed", seed, "cu_seqlens", 100000, 200);
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) lengths.push_back(ends[i + 1] - ends[i]);
    std::sort(lengths.begin(), lengths.end());
    EXPECT_NEAR(static_cast<double>(std::count(lengths.begin(), lengths.end(), 0.0f)), 50, 22);
    EXPECT_GT(std::accumulate(lengths.end() - 20, lengths.end(), 0.0f), 50000);
    const auto even = draw_boundaries("skewed", seed, "cu_seqlens", 100, 2);
    EXPECT_TRUE(even[1] == 0 || even[1] == 100) << even[1];
  }
}

TEST(Inputs, UnknownRegimeIsNamed) {
  try {
    gates("gentle");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("'gentle'"), std::string::npos);
  }
}

TEST(Inputs, RegimesSayHowFarTheirDecaysReach) {
  for (const char* regime : {"mild", "typical", "rwkv", "strong", "spikes"}) {
    const std::vector<float> gates = draw_gates(regime, 3, "g", 4000, 2, 8, DType::float32);
    double sum = 0;
    for (const float gate : gates) sum += gate;
    const double tokens = -40 * static_cast<double>(gates.size()) / sum;
    EXPECT_NEAR(tokens_until_decayed(regime), tokens, 0.1 * tokens) << regime;
  }
  for (const char* regime : {"none", "per_channel", "normal", "peaked"})
    EXPECT_TRUE(std::isinf(tokens_until_decayed(regime))) << regime;
}

}  // namespace
}  // namespace gla_bench
