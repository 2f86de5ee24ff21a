#include "harness/judge/shares.hpp"

#include <gtest/gtest.h>

namespace gla_bench {
namespace {

Record tried(std::uint64_t seed, Status status, DType dtype = DType::bfloat16,
             const std::string& variant = "chunk") {
  Record record;
  record.problem.op = "gla";
  record.problem.dtype = dtype;
  record.problem.seed = seed;
  record.variant = variant;
  record.tile = {{"chunk", static_cast<int>(seed) + static_cast<int>(status)}};
  record.status = status;
  return record;
}

TEST(Shares, AreOfProblemsByOperatorAndDtype) {
  Results results;
  results.records = {tried(1, Status::measured),
                     tried(1, Status::rejected),  // another tile of it
                     tried(2, Status::rejected),
                     tried(3, Status::wrong),
                     tried(4, Status::left_out),
                     tried(1, Status::rejected, DType::float16),
                     tried(1, Status::verified, DType::bfloat16, "other")};
  results.records.push_back(tried(9, Status::rejected));
  results.records.back().peer = true;
  const std::vector<Share> shares = shares_of(std::span(&results, 1));
  ASSERT_EQ(shares.size(), 3U);
  EXPECT_EQ(describe(shares[0]), "chunk [host] of gla forward bfloat16");
  EXPECT_EQ(shares[0].problems, 4U);
  EXPECT_EQ(shares[0].taken, 3U);
  EXPECT_EQ(shares[0].value(), 0.75);
  EXPECT_EQ(shares[1].variant, "other");
  EXPECT_EQ(shares[1].value(), 1);
  EXPECT_EQ(shares[2].dtype, DType::float16);
  EXPECT_EQ(shares[2].taken, 0U);
  const std::vector<Results> twice{results, results};
  EXPECT_EQ(shares_of(twice)[0].problems, 4U) << "the same problems";
}

}  // namespace
}  // namespace gla_bench
