// A kernel from outside compiles as the program's own do, here and now, without a GPU.

#include "harness/backends/sources/compile.hpp"
#include "tests/harness/config/candidates/example.hpp"

namespace gla_bench::cuda {
namespace {

class CandidateBuild : public testing::Test {
 protected:
  CandidateBuild() {
    CudaOptions options;
    options.cache_dir = folder_.file("cache");
    options.compile_threads = 2;
    options.arch = 90;
    backend_ = make_cuda_backend(options);
  }

  // What became of the example's first tile.
  Compiled compile(const example::Files& files, const Problem& problem = example::problem()) {
    catalogs_.push_back(files.catalog());
    const Variant& variant = example::Files::variant(catalogs_.back());
    const Candidate candidate{&variant, problem, {{"block_v", 32}}};
    return compile_candidates(*backend_, std::span(&candidate, 1)).at(0);
  }

  TemporaryFolder folder_;
  std::unique_ptr<Backend> backend_;
  std::vector<Catalog> catalogs_;
};

TEST_F(CandidateBuild, TheExampleCompilesInEveryDtype) {
  for (const DType dtype : problem_dtypes) {
    Problem problem = example::problem();
    problem.dtype = dtype;
    const Compiled compiled = compile(example::Files(), problem);
    ASSERT_TRUE(compiled.build) << compiled.error;
    EXPECT_EQ(compiled.build->warnings, "");
    EXPECT_EQ(compiled.build->spill_bytes, 0);
    EXPECT_GT(compiled.build->registers, 40) << "a column of the state";
    EXPECT_EQ(compiled.build->kernels.at(0).entry, "naive_gla");
  }
}

// The largest state that it takes must not spill, or the message of its condition would be wrong.
TEST_F(CandidateBuild, TheExamplesLargestStateIsInRegisters) {
  Problem problem = example::problem();
  problem.shape.key_dim = 128;
  const Compiled compiled = compile(example::Files(), problem);
  ASSERT_TRUE(compiled.build) << compiled.error;
  EXPECT_EQ(compiled.build->spill_bytes, 0);
}

TEST_F(CandidateBuild, SourcesOfOnePathAreToldApart) {
  const std::string text = example::source();
  const Compiled first = compile(example::Files());
  const Compiled again = compile(example::Files());
  const Compiled other = compile(
      example::Files(example::manifest(),
                     "__device__ float more[4096];\n" + text +
                         "extern \"C\" __global__ void other() { more[threadIdx.x] = 1; }\n"));
  ASSERT_TRUE(first.build && again.build && other.build) << other.error;
  EXPECT_FALSE(first.build->cached);
  EXPECT_EQ(first.build->registers, again.build->registers);
  EXPECT_FALSE(other.build->cached);
}

TEST_F(CandidateBuild, HeadersAreFound) {
  const example::Files files(example::changed("/headers", {"rows.cuh"}),
                             "#include \"rows.cuh\"\n" + example::source());
  files.write("rows.cuh", "constexpr int rows = 4;\n");
  EXPECT_TRUE(compile(files).build);
}

TEST_F(CandidateBuild, AnErrorNamesTheAuthorsFileAndLine) {
  const Compiled compiled =
      compile(example::Files(example::manifest(), "int twice = absent;\n" + example::source()));
  ASSERT_FALSE(compiled.build);
  EXPECT_NE(compiled.error.find("naive_gla.cu(1)"), std::string::npos) << compiled.error;
  EXPECT_NE(compiled.error.find("absent"), std::string::npos) << compiled.error;
}

TEST_F(CandidateBuild, AMangledNameIsShown) {
  std::string text = example::source();
  text.erase(text.find("extern \"C\" "), 11);
  const Compiled compiled = compile(example::Files(example::manifest(), text));
  ASSERT_FALSE(compiled.build);
  EXPECT_NE(
      compiled.error.find("no kernel 'naive_gla' (extern \"C\" keeps a kernel's name); it has "
                          "_Z9naive_gla"),
      std::string::npos)
      << compiled.error;
}

}  // namespace
}  // namespace gla_bench::cuda
