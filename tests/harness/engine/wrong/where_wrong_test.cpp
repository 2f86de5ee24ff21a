#include "harness/engine/wrong/where_wrong.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>

namespace gla_bench {
namespace {

TensorSpec output_with_tokens(std::int64_t seq = 200) {
  TensorSpec spec;
  spec.name = "o";
  spec.role = TensorSpec::Role::output;
  spec.extents = {2, seq, 3, 4};
  spec.tokens = true;
  return spec;
}

std::vector<double> ones(const TensorSpec& spec) {
  return std::vector<double>(static_cast<std::size_t>(spec.elements()), 1.0);
}

std::vector<float> as_float(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

std::size_t at(const TensorSpec& spec, std::int64_t b, std::int64_t t, std::int64_t h,
               std::int64_t d) {
  return static_cast<std::size_t>(
      ((b * spec.extents[1] + t) * spec.extents[2] + h) * spec.extents[3] + d);
}

TEST(WhereWrong, SaysNothingOfWhatIsWithinItsBound) {
  const TensorSpec spec = output_with_tokens();
  const std::vector<double> expected = ones(spec);
  std::vector<float> got = as_float(expected);
  EXPECT_EQ(where_wrong(spec, 1e-3, got, expected), "");
  got[at(spec, 1, 70, 2, 1)] = 1.0001f;
  EXPECT_EQ(where_wrong(spec, 1e-3, got, expected), "");
}

TEST(WhereWrong, NamesTheEarliestChunkAndItsFirstWrongToken) {
  const TensorSpec spec = output_with_tokens();
  const std::vector<double> expected = ones(spec);
  std::vector<float> got = as_float(expected);
  // The first in memory is not the earliest, and the largest error is neither.
  got[at(spec, 0, 130, 0, 0)] = 1.5f;
  got[at(spec, 1, 64, 2, 0)] = 1.0001f;
  got[at(spec, 1, 90, 2, 1)] = 1.125f;
  got[at(spec, 1, 90, 2, 3)] = 1.25f;
  got[at(spec, 1, 91, 2, 0)] = 1.375f;
  EXPECT_EQ(where_wrong(spec, 1e-3, got, expected),
            "'o' is wrong in 2 of 18 chunks, first in tokens 64 to 127 of batch 1, head 2: "
            "[1,90,2,3] is 1.25, expected 1");
}

TEST(WhereWrong, TellsWhatIsUnwrittenOrNotANumber) {
  const TensorSpec spec = output_with_tokens();
  const std::vector<double> expected = ones(spec);
  std::vector<float> got = as_float(expected);
  got[at(spec, 0, 199, 1, 2)] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(where_wrong(spec, 1e-3, got, expected),
            "'o' is wrong in 1 of 18 chunks, first in tokens 128 to 199 of batch 0, head 1: "
            "[0,199,1,2] is inf, expected 1");
  got[at(spec, 0, 3, 1, 0)] = std::bit_cast<float>(0xffffffffu);  // is_poison()
  EXPECT_NE(where_wrong(spec, 1e-3, got, expected).find("[0,3,1,0] is unwritten, expected 1"),
            std::string::npos);
}

TEST(WhereWrong, OfFewTokensAndOfStatesItNamesWhatAChunkIsThere) {
  const TensorSpec few = output_with_tokens(5);
  std::vector<float> got = as_float(ones(few));
  got[at(few, 1, 4, 0, 0)] = 2.0f;
  EXPECT_EQ(where_wrong(few, 1e-3, got, ones(few)),
            "'o' is wrong in 1 of 2 chunks, first in tokens 0 to 4 of batch 1, all heads: "
            "[1,4,0,0] is 2, expected 1");
  TensorSpec state;
  state.name = "final_state";
  state.extents = {2, 3, 4, 4};
  got = as_float(ones(state));
  got[static_cast<std::size_t>(1 * 48 + 2 * 16 + 7)] = 0.0f;
  EXPECT_EQ(where_wrong(state, 1e-3, got, ones(state)),
            "'final_state' is wrong in 1 of 6 chunks, first in batch 1, head 2: [1,2,1,3] is 0, "
            "expected 1");
}

TEST(WhereWrong, ALseHasChunksOfAllHeads) {
  TensorSpec lse = output_with_tokens();
  lse.extents.pop_back();
  std::vector<float> got = as_float(ones(lse));
  got[static_cast<std::size_t>((200 + 64) * 3)] = 3.0f;
  const std::string text = where_wrong(lse, 1e-3, got, ones(lse));
  EXPECT_NE(text.find("first in tokens 64 to 127 of batch 1: [1,64,0] is 3, expected 1"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace gla_bench
