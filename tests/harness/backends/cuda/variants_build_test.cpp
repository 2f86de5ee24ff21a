// Every CUDA variant builds: its first tile that each architecture allows, in every dtype.

#include <gtest/gtest.h>

#include <algorithm>

#include "core/extents.hpp"
#include "harness/backends/backend.hpp"
#include "harness/backends/cuda/run/plan.hpp"
#include "harness/backends/sources/compile.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench::cuda {
namespace {

Problem problem_of(const Variant& variant, DType dtype, std::int64_t seq) {
  Problem problem;
  problem.op = variant.op;
  problem.direction = variant.direction;
  problem.dtype = dtype;
  problem.shape = {2, seq, 3, 64, 64};
  for (const std::string& extent : find_operator(variant.op)->extents)
    if (const ExtentAxis& axis = extent_axis(extent); axis.stated == Stated::where_given)
      problem.shape.*axis.extent = 96;
  return problem;
}

std::optional<Tile> first_tile(const Variant& variant, const Problem& problem,
                               const Limits& limits) {
  for (const Tile& tile : all_tiles(variant.space))
    if (!variant.reject(problem, tile, limits)) return tile;
  return std::nullopt;
}

/// The first candidate that the limits allow, in bfloat16 if there is one: for many tokens, else
/// for a few (decoding).
std::optional<Candidate> first_candidate(const Variant& variant, const Limits& limits) {
  for (const DType dtype : {DType::bfloat16, DType::float16, DType::float32})
    for (const std::int64_t seq : {300, 3, 1}) {
      const Problem problem = problem_of(variant, dtype, seq);
      if (auto tile = first_tile(variant, problem, limits))
        return Candidate{&variant, problem, *tile};
    }
  return std::nullopt;
}

void expect_clean_builds(Backend& backend, const std::vector<Candidate>& candidates) {
  const auto results = compile_candidates(backend, candidates);
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_TRUE(results[i].build) << results[i].error;
    if (results[i].build) {
      EXPECT_EQ(results[i].build->warnings, "") << describe(candidates[i]);
    }
  }
}

// The oldest architecture here, and sm_90a for what takes no other; every dtype of configs/ci.json
// for sm_90a end to end.
TEST(CudaVariants, BuildWithoutWarnings) {
  const TemporaryFolder folder;
  CudaOptions options;
  options.cache_dir = folder.file("cache");
  options.arch = 80;
  const auto oldest = make_cuda_backend(options);
  options.arch = 90;
  const auto hopper = make_cuda_backend(options);
  std::vector<Candidate> everywhere, hopper_alone;
  for (const Variant& variant : variants()) {
    if (variant.backend != BackendId::cuda) continue;
    if (const auto candidate = first_candidate(variant, oldest->limits())) {
      everywhere.push_back(*candidate);
      continue;
    }
    const auto candidate = first_candidate(variant, hopper->limits());
    EXPECT_TRUE(candidate) << variant.op << " " << variant.name << " refuses everything";
    if (candidate) hopper_alone.push_back(*candidate);
  }
  // chunk_sm90 of each recurrence, flash_sm90 of attention with and without decay, both directions,
  // flash_decoding_sm90 of both, and cluster of softmax
  EXPECT_EQ(hopper_alone.size(), 5u + 4u + 2u + 1u);
  expect_clean_builds(*oldest, everywhere);
  expect_clean_builds(*hopper, hopper_alone);
}

}  // namespace
}  // namespace gla_bench::cuda
