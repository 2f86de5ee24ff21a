// The planted kernel compiles with each of its faults, here and now, without a GPU.

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "harness/backends/sources/compile.hpp"
#include "harness/backends/sources/source_hash.hpp"
#include "harness/selftest/planted.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench::cuda {
namespace {

TEST(PlantedKernel, CompilesWithEachFault) {
  const TemporaryFolder folder;
  CudaOptions options;
  options.cache_dir = folder.file("cache");
  options.compile_threads = 2;
  options.arch = 90;
  const auto backend = make_cuda_backend(options);
  const Catalog catalog = planted::catalog();
  std::vector<Candidate> candidates;
  for (const Variant& variant : catalog.variants)
    if (variant.backend == BackendId::cuda)
      candidates.push_back({&variant, planted::problem(variant.name), {{"chunk", 32}}});
  EXPECT_EQ(candidates.size(), planted::faults().size() - 1 + planted::controls().size());
  const auto results = compile_candidates(*backend, candidates, [](std::size_t) {});
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_TRUE(results[i].build) << candidates[i].variant->name << ": " << results[i].error;
    EXPECT_EQ(results[i].build->warnings, "") << candidates[i].variant->name;
    EXPECT_EQ(results[i].build->spill_bytes, 0) << candidates[i].variant->name;
    EXPECT_FALSE(source_hash(*candidates[i].variant).empty());
  }
}

}  // namespace
}  // namespace gla_bench::cuda
