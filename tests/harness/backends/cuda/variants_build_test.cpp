// Every CUDA variant takes a problem, and builds with the first tile that the architecture allows.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/extents.hpp"
#include "harness/backends/backend.hpp"
#include "harness/backends/cuda/run/plan.hpp"
#include "harness/backends/sources/architecture.hpp"
#include "harness/backends/sources/compile.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench::cuda {
namespace {

Problem problem_of(const Variant& variant, DType dtype, std::int64_t seq) {
  Problem problem;
  problem.op = variant.op;
  problem.direction = variant.direction;
  problem.dtype = dtype;
  problem.shape = {2, seq, 4, 64, 64};
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

/// A candidate of each CUDA variant, by the oldest architecture that takes one.
struct Takers {
  std::vector<Candidate> everywhere, hopper_alone;
};

Takers takers(const Limits& oldest, const Limits& hopper) {
  Takers found;
  for (const Variant& variant : variants()) {
    if (variant.backend != BackendId::cuda) continue;
    if (const auto candidate = first_candidate(variant, oldest)) {
      found.everywhere.push_back(*candidate);
      continue;
    }
    const auto candidate = first_candidate(variant, hopper);
    EXPECT_TRUE(candidate) << variant.op << " " << variant.name << " refuses everything";
    if (candidate) found.hopper_alone.push_back(*candidate);
  }
  return found;
}

TEST(CudaVariants, TakeAProblemOnTheOldestArchitectureOrOnHopper) {
  std::map<std::string, int> hopper_alone;
  for (const Candidate& candidate : takers(limits_of(80), limits_of(90)).hopper_alone)
    ++hopper_alone[candidate.variant->name];
  // chunk_sm90 of each recurrence, forward and of four backward and in training; flash_sm90 of
  // attention with and without decay, both directions, backward also in a fixed order;
  // flash_decoding_sm90 of both; cluster of softmax in both directions
  EXPECT_EQ(hopper_alone, (std::map<std::string, int>{{"chunk_sm90", 5 + 5 + 5},
                                                      {"flash_sm90", 4},
                                                      {"flash_sm90_deterministic", 2},
                                                      {"flash_decoding_sm90", 2},
                                                      {"cluster", 2}}));
}

// The path of the program on the oldest architecture. Every variant is compiled for it by nvcc, and
// for sm_90a by NVRTC: EndToEnd.CompileEachKernelWithNvcc and EndToEnd.CompileEveryVariant.
TEST(CudaVariants, BuildForTheOldestArchitecture) {
  const TemporaryFolder folder;
  CudaOptions options;
  options.cache_dir = folder.file("cache");
  options.arch = 80;
  const auto oldest = make_cuda_backend(options);
  std::vector<Candidate> candidates = takers(limits_of(80), limits_of(90)).everywhere;
  std::erase_if(candidates, [](const Candidate& candidate) {
    return candidate.problem.op != "gla" || candidate.problem.direction != Direction::forward;
  });
  EXPECT_GE(candidates.size(), 5u);
  expect_clean_builds(*oldest, candidates);
}

}  // namespace
}  // namespace gla_bench::cuda
