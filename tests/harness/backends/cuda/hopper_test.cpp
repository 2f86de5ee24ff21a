// The Hopper kernels as they are compiled: by their PTX they use what the architecture is there
// for, and by the assembler's account no tile that the headline problems are offered spills, but
// for those of which it is known.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "harness/backends/cuda/build/nvrtc.hpp"
#include "harness/backends/sources/architecture.hpp"
#include "harness/backends/sources/compile.hpp"
#include "harness/backends/sources/prologue.hpp"
#include "harness/backends/sources/source_store.hpp"
#include "harness/config/sweep.hpp"
#include "tests/support/own_process.hpp"
#include "tests/support/places.hpp"

namespace gla_bench::cuda {
namespace {

constexpr const char* hopper_variant = "chunk_sm90";

/// Tiles of the variant that configs/h200/headline.json asks for, one for each form of the code:
/// how many chunks lie in shared memory and into how many parts beyond two a sequence goes are
/// bounds of loops, which cost no registers.
std::vector<Candidate> headline_candidates() {
  const Config config = load_config(std::string(places::source_dir) + "/configs/h200/headline.json",
                                    program_catalog());
  std::vector<Candidate> list;
  std::set<std::string> forms;
  for (const Point& point : points(config))
    for (const Request& request : point.requests) {
      if (request.variant != hopper_variant) continue;
      const Variant& variant = *find_variant(point.problem.op, hopper_variant, BackendId::cuda);
      const auto found = candidates(variant, point.problem, request.narrowing, limits_of(90));
      for (const Candidate& candidate : found.accepted) {
        Candidate form = candidate;
        form.tile.erase("stages");
        if (const auto segments = form.tile.find("segments"); segments != form.tile.end())
          segments->second = std::min(segments->second, 2);
        const Shape& shape = form.problem.shape;
        form.problem.shape = {1, 1, 1, shape.key_dim, shape.value_dim};
        form.problem.gate.clear();
        if (forms.insert(describe(form)).second) list.push_back(candidate);
      }
    }
  return list;
}

/// Tiles of flash_sm90 for the shapes of the headline, and one with a decay in each direction.
std::vector<Candidate> attention_candidates() {
  const auto candidate = [](const char* op, Direction direction, std::int64_t dim,
                            const std::map<std::string, std::vector<int>>& axes) {
    Problem problem;
    problem.op = op;
    problem.direction = direction;
    problem.dtype = DType::bfloat16;
    problem.shape = {2, 8192, 16, dim, dim};
    const Variant& variant = *find_variant(op, "flash_sm90", BackendId::cuda, direction);
    Narrowing narrowing;
    narrowing.axes = axes;
    const auto found = candidates(variant, problem, narrowing, limits_of(90), 1).accepted;
    EXPECT_EQ(found.size(), 1u) << describe(problem);
    return found.at(0);
  };
  const auto forward = [&](const char* op, std::int64_t dim, int block_m, int block_n) {
    return candidate(op, Direction::forward, dim,
                     {{"block_m", {block_m}}, {"block_n", {block_n}}, {"stages", {2}}});
  };
  const auto backward = [&](const char* op, std::int64_t dim) {
    return candidate(op, Direction::backward, dim, {{"stages", {2}}});
  };
  return {forward("attention", 64, 192, 128), forward("attention", 128, 128, 128),
          forward("attention", 256, 128, 80), forward("decay_attention", 128, 128, 128),
          backward("attention", 64),          backward("attention", 128),
          backward("decay_attention", 128)};
}

/// The PTX of a candidate's own source, quickly: what it uses is there before anything is
/// optimised, and machine code is not asked for. To be asked for in a process of its own
/// (compile_with_nvrtc()).
std::string ptx_of(const Candidate& candidate) {
  const SourceStore store;
  const Unit unit = units_of(candidate).front();
  std::vector<Header> headers;
  for (const Source& part : store.closure(std::vector{unit.source}))
    headers.push_back({std::string(part.path), store.with_full_includes(part)});
  return compile_with_nvrtc(unit.text, headers, 90, Depth::ptx).ptx;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Hopper, KernelsUseWarpgroupProductsAndBulkTensorCopies) {
  in_a_process_of_its_own([] {
    std::set<std::string> operators;
    for (const Candidate& candidate : headline_candidates()) {
      if (!operators.insert(candidate.problem.op).second) continue;
      const std::string ptx = ptx_of(candidate);
      EXPECT_TRUE(has(ptx, ".target sm_90a")) << describe(candidate);
      EXPECT_TRUE(has(ptx, "wgmma.mma_async")) << describe(candidate);
      EXPECT_TRUE(has(ptx, "cp.async.bulk.tensor")) << describe(candidate);
    }
    EXPECT_EQ(operators.size(), 4u) << "gla, rwkv6, linear_attention, simple_gla";
  });
}

TEST(Hopper, AttentionUsesThemToo) {
  in_a_process_of_its_own([] {
    for (const Candidate& candidate : attention_candidates()) {
      const std::string ptx = ptx_of(candidate);
      EXPECT_TRUE(has(ptx, ".target sm_90a")) << describe(candidate);
      EXPECT_TRUE(has(ptx, "wgmma.mma_async")) << describe(candidate);
      EXPECT_TRUE(has(ptx, "cp.async.bulk.tensor")) << describe(candidate);
      EXPECT_TRUE(has(ptx, "setmaxnreg")) << describe(candidate);
      EXPECT_FALSE(has(ptx, "mma.sync")) << describe(candidate);
    }
  });
}

TEST(Hopper, APortableKernelHasNeither) {
  in_a_process_of_its_own([] {
    const Variant& variant = *find_variant("gla", "chunk_fused", BackendId::cuda);
    Problem problem;
    problem.op = "gla";
    problem.dtype = DType::bfloat16;
    problem.shape = {2, 256, 2, 64, 64};
    const auto found = candidates(variant, problem, {}, limits_of(90), 1).accepted;
    ASSERT_EQ(found.size(), 1u);
    const std::string ptx = ptx_of(found[0]);
    EXPECT_TRUE(has(ptx, "mma.sync"));
    EXPECT_FALSE(has(ptx, "wgmma.mma_async"));
    EXPECT_FALSE(has(ptx, "cp.async.bulk.tensor"));
  });
}

/// Bytes of stores and loads that a tile may spill: a few words, and most of them of a walk's begin
/// or of strong chunks. Two groups that hold two tiles of state each leave 88 registers to prepare,
/// three that prepare have 104; rwkv6 has its bonus in registers besides.
int known_spills(const Candidate& candidate) {
  const auto is = [&](const char* name, int value) {
    const auto at = candidate.tile.find(name);
    return at != candidate.tile.end() && at->second == value;
  };
  const bool many_keys = candidate.problem.shape.key_dim >= 128;
  if (many_keys && is("value_groups", 2) && is("value_tiles", 2)) return 200;
  const bool rwkv6 = candidate.problem.op == "rwkv6";
  if (!many_keys) return is("preparers", 3) ? 16 : 0;
  if (is("preparers", 2) || rwkv6) return 36;
  return is("value_tiles", 2) ? 16 : 0;
}

TEST(Hopper, NoTileOfTheHeadlineSpillsButThoseThatAreKnown) {
  CudaOptions options;  // the user's cache: only what changed is compiled again
  options.arch = 90;
  const auto backend = make_cuda_backend(options);
  const auto list = headline_candidates();
  EXPECT_GT(list.size(), 10u);
  const auto compiled = compile_candidates(*backend, list);
  for (std::size_t i = 0; i < list.size(); ++i) {
    ASSERT_TRUE(compiled[i].build) << compiled[i].error;
    EXPECT_LE(compiled[i].build->spill_bytes, known_spills(list[i])) << describe(list[i]);
    EXPECT_GT(compiled[i].build->registers, 0) << describe(list[i]);
    // Among them that its wgmma run one at a time, for want of registers: no spill shows that.
    EXPECT_EQ(compiled[i].build->warnings, "") << describe(list[i]);
  }
}

/// Likewise, of flash_sm90: three groups that multiply have 160 registers each, and 256 columns of
/// outputs take 128 of 240. A decay takes registers for sums and biases in tiles near the diagonal.
int known_spills_of_attention(const Candidate& candidate) {
  const bool decay = candidate.problem.op == "decay_attention";
  if (candidate.problem.direction == Direction::backward) return decay ? 120 : 0;
  if (decay) return 328;
  if (candidate.problem.shape.key_dim == 256) return 104;
  return candidate.tile.at("block_m") == 192 ? 52 : 0;
}

TEST(Hopper, NoTileOfAttentionSpillsButThoseThatAreKnown) {
  CudaOptions options;
  options.arch = 90;
  const auto backend = make_cuda_backend(options);
  const auto list = attention_candidates();
  const auto compiled = compile_candidates(*backend, list);
  for (std::size_t i = 0; i < list.size(); ++i) {
    ASSERT_TRUE(compiled[i].build) << compiled[i].error;
    EXPECT_LE(compiled[i].build->spill_bytes, known_spills_of_attention(list[i]))
        << describe(list[i]);
    EXPECT_EQ(compiled[i].build->warnings, "") << describe(list[i]);
  }
}

}  // namespace
}  // namespace gla_bench::cuda
