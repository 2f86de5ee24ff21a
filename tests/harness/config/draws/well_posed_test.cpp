// Problems that no arithmetic can get right are not drawn.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/operator.hpp"
#include "tests/harness/config/draws/drawn_sweeps.hpp"

namespace gla_bench {
namespace {

using drawn::free_problems;

/// The gradients of a query whose weight lies on one key are zero, and what rounding leaves of them
/// says nothing of a kernel.
TEST(WellPosedProblems, OfGradientsOfFewQueriesSpreadTheirWeights) {
  int few = 0;
  for (const Problem& p : free_problems("attention", 400, 7, R"(, "direction": "backward")")) {
    const std::int64_t keys = p.shape.keys_seq();
    const auto causal = p.options.find("causal");
    const bool all = causal != p.options.end() && causal->second == "false";
    if ((all ? p.shape.seq : std::min(p.shape.seq, keys)) >= 16) continue;
    ++few;
    const double size = p.gate == "peaked" ? 32 : 1;
    const double logits = size * std::abs(scale_of(*find_operator(p.op), p)) *
                          std::sqrt(static_cast<double>(p.shape.key_dim));
    EXPECT_LE(logits, 2 * std::sqrt(2 * std::log(std::max(8.0, static_cast<double>(keys)))))
        << describe(p);
    EXPECT_TRUE(p.dtype != DType::float32 || keys >= 8) << describe(p);
  }
  EXPECT_GT(few, 10);
}

/// A tf32 candidate of large logits errs by more than tf32's cap, however it computes.
TEST(WellPosedProblems, OfAForwardInFloat32HaveLogitsThatTf32Resolves) {
  int scaled = 0;
  for (const Problem& p : free_problems("attention", 600, 11, R"(, "dtypes": ["float32"])")) {
    ASSERT_EQ(p.dtype, DType::float32);
    const double logits = std::abs(scale_of(*find_operator(p.op), p)) *
                          std::sqrt(static_cast<double>(p.shape.key_dim));
    EXPECT_LE(logits, 6) << describe(p);
    scaled += p.scale == 1 ? 1 : 0;
  }
  EXPECT_GT(scaled, 10) << "the scale is drawn all the same";
}

/// What is far below float16's normal numbers keeps few bits in any arithmetic.
TEST(WellPosedProblems, OfSoftmaxHaveOutputsThatFloat16Resolves) {
  int long_rows = 0;
  for (const Problem& p : free_problems("softmax", 2000, 7, R"(, "dtypes": ["float16"])")) {
    if (p.shape.columns < 100000) continue;
    ++long_rows;
    EXPECT_FALSE(p.shape.columns > 131000 && std::abs(p.scale.value_or(1)) < 0.5) << describe(p);
  }
  EXPECT_GT(long_rows, 10);
}

/// Running sums of what sums to zero, whose sizes differ a hundredfold over a sequence.
TEST(WellPosedProblems, OfGradientsOfDecaysHaveQueriesAndDecays) {
  int gradients = 0;
  for (const Problem& p :
       free_problems("decay_attention", 1000, 7, R"(, "direction": "backward")")) {
    const Operator& op = *find_operator(p.op);
    for (const TensorSpec& spec : op.tensors(p)) {
      if (spec.name != "dlog_decay" || !spec.tokens || spec.dtype != DType::float32) continue;
      ++gradients;
      EXPECT_GE(std::min(p.shape.seq, p.shape.keys_seq()), 16) << describe(p);
      EXPECT_TRUE(p.gate != "none" || p.shape.seq < 128) << describe(p);
    }
  }
  EXPECT_GT(gradients, 50);
}

/// Without decays the gradients of the gate's weights may be beyond their cap, those of a plain
/// computation as well.
TEST(WellPosedProblems, OfGradientsOfTheLayerForget) {
  int gradients = 0;
  for (const Problem& p : free_problems("gla_layer", 300, 7, R"(, "direction": "backward")")) {
    ++gradients;
    EXPECT_NE(p.gate, "none") << describe(p);
  }
  EXPECT_GT(gradients, 50);
}

/// The first channel of shifted keys cancels in gradients, but for the rounding of the outputs.
TEST(WellPosedProblems, OfShiftedGradientsHaveOtherChannels) {
  int shifted = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed)  // each has twelve pairs of dimensions
    for (const Problem& p : free_problems("attention", 200, seed, R"(, "direction": "backward")")) {
      if (p.gate != "shifted" || p.dtype != DType::bfloat16) continue;
      ++shifted;
      EXPECT_GE(p.shape.key_dim, 16) << describe(p);
    }
  EXPECT_GT(shifted, 20);
}

/// With one channel q cancels in the output over the normaliser, and its gradient is zero.
TEST(WellPosedProblems, OfNormalizedGradientsHaveTwoChannelsOfKeysAndValuesToAverage) {
  int normalized = 0, plain = 0, few = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed)  // each has a dozen pairs of dimensions
    for (const Problem& p :
         free_problems("linear_attention", 40, seed, R"(, "direction": "backward")")) {
      if (!flag(p, "normalize")) {
        plain += p.shape.key_dim == 1;
        continue;
      }
      ++normalized;
      EXPECT_GE(p.shape.key_dim, 2) << describe(p);
      const std::int64_t values = p.shape.batch * p.shape.heads * p.shape.value_dim;
      EXPECT_TRUE(values >= 8 || !p.initial_state) << describe(p);
      few += values < 8 && !p.initial_state;
    }
  EXPECT_GT(few, 0) << "few values are drawn where no normalizer has a gradient";
  EXPECT_GT(normalized, 100);
  EXPECT_GT(plain, 0) << "single channels are drawn where they are no quotient's";
}

/// What tf32 leaves of terms that cancel in a first query's gradient is large beside the gradients
/// of many later queries, and of a final state's gradient in bfloat16 it hides what tokens add.
TEST(WellPosedProblems, OfNormalizedGradientsInFloat32AreWhatTf32Resolves) {
  int few = 0, begun = 0, coarse = 0, sixteen_bits = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed)
    for (const Problem& p :
         free_problems("linear_attention", 100, seed, R"(, "direction": "backward")")) {
      if (!flag(p, "normalize")) continue;
      const bool many = p.shape.seq > 128;
      const bool coarse_states = p.final_state && option(p, "state_dtype") == "bfloat16";
      if (p.dtype != DType::float32) {
        sixteen_bits += many && !p.initial_state;
        continue;
      }
      EXPECT_TRUE(!many || p.initial_state) << describe(p);
      EXPECT_TRUE(!coarse_states || p.shape.key_dim <= 128) << describe(p);
      few += !many && !p.initial_state;
      begun += many && p.initial_state;
      coarse += coarse_states;
    }
  EXPECT_GT(few, 10);
  EXPECT_GT(begun, 10) << "a normalizer that is given leaves no query alone";
  EXPECT_GT(coarse, 10);
  EXPECT_GT(sixteen_bits, 10) << "16-bit products of 16-bit inputs are exact";
}

/// The gradient of an initial normalizer is a single sum for each head, near zero by chance, unless
/// that of a final one is added to it.
TEST(WellPosedProblems, OfGradientsOfNormalizersHaveThatOfTheFinalOne) {
  int normalizers = 0, without = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    for (const Problem& p :
         free_problems("linear_attention", 100, seed, R"(, "direction": "backward")")) {
      if (!p.initial_state) continue;
      normalizers += flag(p, "normalize");
      without += !p.final_state;
      EXPECT_TRUE(!flag(p, "normalize") || p.final_state) << describe(p);
    }
  EXPECT_GT(normalizers, 10);
  EXPECT_GT(without, 10) << "drawn where no normalizer has a gradient";
}

/// Beside the outputs of a large state the gradient of a final normalizer is too small to keep that
/// of the initial one from zero. Among those of several heads it may be.
TEST(WellPosedProblems, OfNormalizersBesideLargeStatesHaveSeveralHeads) {
  int many = 0, few_of_small = 0, few_without = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    for (const Problem& p :
         free_problems("linear_attention", 100, seed, R"(, "direction": "backward")")) {
      if (!p.initial_state) continue;
      const bool large = option(p, "state_size") != "1";
      const bool few = std::max(p.shape.batch, p.shape.sequences) * p.shape.heads < 8;
      if (!flag(p, "normalize")) {
        few_without += large && few;
        continue;
      }
      EXPECT_FALSE(large && few) << describe(p);
      many += large;
      few_of_small += few;
    }
  EXPECT_GT(many, 5);
  EXPECT_GT(few_of_small, 10)
      << "a state of size 1 leaves the gradient of a final normalizer its part";
  EXPECT_GT(few_without, 10) << "drawn where no normalizer has a gradient";
}

/// Gradients that are zero are judged beside those of other heads, as chunks of few tokens are.
TEST(WellPosedProblems, OfConstantResetsHaveGradientsOfFewTokens) {
  int constant = 0;
  for (const Problem& p :
       free_problems("decay_attention", 2000, 7, R"(, "direction": "backward")")) {
    const auto decay = p.options.find("decay");
    if (decay == p.options.end() || decay->second != "constant") continue;
    ++constant;
    EXPECT_TRUE(p.gate != "resets" || std::max(p.shape.seq, p.shape.keys_seq()) < 16)
        << describe(p);
  }
  EXPECT_GT(constant, 40);
}

/// The norm of a head's outputs makes those near zero as large as all others, errors included.
TEST(WellPosedProblems, OfLayersHaveHeadsOfManyColumns) {
  for (const Problem& p : free_problems("gla_layer", 300)) {
    EXPECT_GE(p.shape.value_dim, 32) << describe(p);
    EXPECT_GE(p.shape.key_dim, 32) << describe(p);
  }
}

}  // namespace
}  // namespace gla_bench
