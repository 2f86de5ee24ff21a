// What the CUDA backend does without a device.

#include "harness/backends/backend.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "harness/backends/cuda/build/compiler.hpp"
#include "harness/backends/cuda/device/helpers.hpp"
#include "harness/backends/cuda/run/plan.hpp"
#include "harness/backends/sources/compile.hpp"
#include "harness/backends/sources/prologue.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench::cuda {
namespace {

CudaOptions options_in(const TemporaryFolder& folder) {
  CudaOptions options;
  options.cache_dir = folder.file("cache");
  options.compile_threads = 2;
  options.warn = [](const std::string& text) { ADD_FAILURE() << text; };
  return options;
}

Code code_of(int registers, int shared_bytes) {
  Code code;
  code.kernels = {
      {"first", registers, 8, shared_bytes}, {"second", 20, 4, 0}, {"unused", 255, 99, 0}};
  return code;
}

std::vector<CodePtr> codes_of(const Code& code) {
  return {std::make_shared<const Code>(code)};
}

KernelLaunch launch_of(const std::string& entry, unsigned threads, std::size_t shared_bytes = 0) {
  return {entry, {10, 2, 1}, {threads, 1, 1}, shared_bytes};
}

Recipe recipe_of(std::vector<Step> steps) {
  return {"x.cuh", {}, std::move(steps)};
}

const Limits hopper{90, 227 * 1024, 0, 0};

TEST(CheckRecipe, AccountsForTheKernelsThatAreLaunched) {
  const Recipe recipe = recipe_of({launch_of("first", 128, 1000), Zero{"scores"},
                                   launch_of("second", 256), launch_of("first", 128, 5000)});
  const BuildInfo info = check_recipe(recipe, codes_of(code_of(100, 64)), hopper);
  EXPECT_EQ(info.registers, 100);
  EXPECT_EQ(info.shared_bytes, 5064);
  EXPECT_EQ(info.spill_bytes, 12);
  ASSERT_EQ(info.kernels.size(), 2u);
  EXPECT_EQ(info.kernels[0].entry, "first");
  EXPECT_EQ(info.kernels[1].entry, "second");
}

TEST(CheckRecipe, RefusesWhatTheArchitectureCanNotLaunch) {
  const auto refused = [](const KernelLaunch& launch, const Code& code, const char* reason) {
    try {
      check_recipe(recipe_of({launch}), codes_of(code), hopper);
      FAIL() << "accepted: " << reason;
    } catch (const BuildError& error) {
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
  };
  EXPECT_NO_THROW(check_recipe(recipe_of({launch_of("first", 512, 227 * 1024)}),
                               codes_of(code_of(128, 0)), hopper));
  refused(launch_of("first", 512, 227 * 1024), code_of(128, 1), "shared memory");
  refused(launch_of("first", 544), code_of(128, 0), "registers");
  refused(launch_of("first", 1056), code_of(32, 0), "threads");
  refused(launch_of("first", 0), code_of(32, 0), "empty");
  refused(launch_of("third", 32), code_of(32, 0), "no kernel 'third'");
  KernelLaunch tall = launch_of("first", 32);
  tall.grid.y = 65536;
  refused(tall, code_of(32, 0), "grid");
}

TEST(CheckRecipe, AccountsForImports) {
  Recipe recipe = recipe_of({launch_of("first", 128, 1000), launch_of("first", 128, 9000)});
  std::get<KernelLaunch>(recipe.steps[1]).module = 1;
  recipe.imports.resize(1);
  Code own = code_of(100, 64), import = code_of(120, 0);
  own.seconds = 1;
  own.cached = true;
  own.cubin = import.cubin = "machine code";
  import.seconds = 2;
  import.warnings = "odd";
  const std::vector<CodePtr> codes{codes_of(own)[0], codes_of(import)[0]};
  const BuildInfo info = check_recipe(recipe, codes, hopper);
  EXPECT_EQ(info.registers, 120);
  EXPECT_EQ(info.shared_bytes, 9000);
  EXPECT_EQ(info.spill_bytes, 16);
  ASSERT_EQ(info.kernels.size(), 2u);
  EXPECT_EQ(info.kernels[0].shared_bytes, 1064);
  EXPECT_EQ(info.kernels[1].shared_bytes, 9000);
  EXPECT_EQ(info.seconds, 3);
  EXPECT_FALSE(info.cached);
  EXPECT_EQ(info.warnings, "odd");
  EXPECT_TRUE(info.assembled);
  import.cubin.clear();
  const std::vector<CodePtr> partly{codes_of(own)[0], codes_of(import)[0]};
  EXPECT_FALSE(check_recipe(recipe, partly, hopper).assembled);

  std::get<KernelLaunch>(recipe.steps[1]).module = 2;
  EXPECT_THROW(check_recipe(recipe, codes, hopper), BuildError);
}

TEST(CheckRecipe, TensorMapsAreOfModulesThatExist) {
  Recipe recipe = recipe_of({launch_of("first", 128)});
  recipe.imports.resize(1);
  recipe.tensor_maps.resize(1);
  const std::vector<CodePtr> codes{codes_of(code_of(32, 0))[0], codes_of(code_of(32, 0))[0]};
  for (const int module : {0, 1}) {
    recipe.tensor_maps[0].module = module;
    EXPECT_NO_THROW(check_recipe(recipe, codes, hopper));
  }
  for (const int module : {-1, 2}) {
    recipe.tensor_maps[0].module = module;
    EXPECT_THROW(check_recipe(recipe, codes, hopper), BuildError);
  }
}

TEST(CheckRecipe, RefusesAStepWithoutAStageAmongStages) {
  KernelLaunch named = launch_of("first", 128);
  named.stage = "gla";
  const auto codes = codes_of(code_of(32, 0));
  EXPECT_NO_THROW(check_recipe(recipe_of({named, Zero{"scores", "gla"}}), codes, hopper));
  EXPECT_THROW(check_recipe(recipe_of({named, Zero{"scores"}}), codes, hopper), BuildError);
}

TEST(CheckRecipe, ALaunchOverlapsOneOfItsStageAlone) {
  const KernelLaunch plain = launch_of("first", 128);
  KernelLaunch early = plain;
  early.overlaps = true;
  const auto codes = codes_of(code_of(32, 0));
  EXPECT_NO_THROW(check_recipe(recipe_of({plain, early}), codes, hopper));
  EXPECT_THROW(check_recipe(recipe_of({early, plain}), codes, hopper), BuildError);
  EXPECT_THROW(check_recipe(recipe_of({plain, Zero{"scores"}, early}), codes, hopper), BuildError);
  KernelLaunch before = plain, behind = early;
  before.stage = "gates", behind.stage = "gla";
  EXPECT_THROW(check_recipe(recipe_of({before, behind}), codes, hopper), BuildError);
}

TEST(CheckRecipe, RefusesAProductThatCanNotBe) {
  MatrixProduct product;
  product.c.transposed = true;
  EXPECT_THROW(check_recipe(recipe_of({product}), codes_of(code_of(32, 0)), hopper), BuildError);
}

TEST(CudaSources, TheBackendsOwnKernelsCompile) {
  const TemporaryFolder folder;
  Compiler compiler(options_in(folder), {});
  for (int arch : {80, 90}) {
    const CodePtr code = compiler.get(Helpers::text(), Helpers::source(), arch);
    EXPECT_EQ(code->kernels.size(), 13u);
    EXPECT_EQ(code->warnings, "");
    for (const KernelBuild& kernel : code->kernels)
      EXPECT_EQ(kernel.spill_bytes, 0) << kernel.entry;
  }
}

CodePtr reference_code(Compiler& compiler, const Problem& problem,
                       std::optional<Arithmetic> arithmetic, int arch) {
  const DeviceReference& reference = *find_operator(problem.op)->device_reference;
  const Unit unit = unit_of(*reference.recipe(problem, arithmetic), arithmetic);
  return compiler.get(unit.text, unit.source, arch);
}

TEST(CudaSources, TheRecurrenceCompilesForEveryMemberAndKindOfKeyExtent) {
  const TemporaryFolder folder;
  Compiler compiler(options_in(folder), {});
  const auto compile = [&](Problem problem, int key_dim, std::optional<Arithmetic> arithmetic) {
    problem.shape.key_dim = key_dim;
    const auto code = reference_code(compiler, problem, arithmetic, arithmetic ? 80 : 90);
    ASSERT_EQ(code->kernels.size(), has_gradients(problem.direction) ? 4u : 1u);
    for (const KernelBuild& kernel : code->kernels) {
      EXPECT_LE(kernel.shared_bytes, 48 * 1024) << kernel.entry << describe(problem);
      // At 512 keys a block's 512 threads leave 128 registers, and the state takes 64 of them.
      if (key_dim < 512 || kernel.entry == "linear_recurrence") {
        EXPECT_LE(kernel.spill_bytes, 64) << kernel.entry << describe(problem);
      }
    }
    EXPECT_EQ(code->warnings, "");
  };
  Problem problem;
  for (const char* name : {"linear_attention", "retention", "simple_gla", "gla", "rwkv6"}) {
    problem.op = name;
    problem.shape.sequences = problem.op == "gla" ? 0 : 3;
    if (problem.op == "rwkv6") problem.options = {{"gate_input", "raw"}};
    if (problem.op == "linear_attention")
      problem.options = {{"normalize", "true"}, {"feature_map", "elu_plus_one"}};
    for (int key_dim : {1, 100, 128, 512}) compile(problem, key_dim, std::nullopt);
    compile(problem, 128, Arithmetic::bfloat16);
    problem.options.clear();
  }
  for (Arithmetic arithmetic : {Arithmetic::float32, Arithmetic::tf32})
    compile(problem, 128, arithmetic);
  problem.direction = Direction::training;
  for (const char* name : {"linear_attention", "retention", "simple_gla", "gla", "rwkv6"}) {
    problem.op = name;
    compile(problem, 100, std::nullopt);
  }
  compile(problem, 512, std::nullopt);
  compile(problem, 128, Arithmetic::bfloat16);
}

TEST(CudaSources, AttentionCompilesInEachArithmetic) {
  const TemporaryFolder folder;
  Compiler compiler(options_in(folder), {});
  const auto expect_clean = [&](std::optional<Arithmetic> arithmetic, int arch) {
    Problem problem;
    problem.op = "attention";
    const CodePtr code = reference_code(compiler, problem, arithmetic, arch);
    EXPECT_EQ(code->warnings, "");
    ASSERT_EQ(code->kernels.size(), 3u);
    for (const KernelBuild& kernel : code->kernels) {
      EXPECT_LE(kernel.shared_bytes, 48 * 1024) << kernel.entry;
      EXPECT_EQ(kernel.spill_bytes, 0) << kernel.entry;
    }
  };
  expect_clean(std::nullopt, 90);
  expect_clean(Arithmetic::float32, 90);
  expect_clean(Arithmetic::bfloat16, 80);
}

TEST(CudaBackend, CompilesForAnArchitectureWithoutADevice) {
  const TemporaryFolder folder;
  CudaOptions options = options_in(folder);
  options.arch = 80;
  const auto backend = make_cuda_backend(options);
  ASSERT_NE(backend, nullptr);
  EXPECT_EQ(backend->limits().arch, 80);
  EXPECT_EQ(backend->limits().shared_per_block, 163u * 1024);
  EXPECT_EQ(backend->environment().at("architecture"), "sm_80");
  EXPECT_FALSE(backend->environment().at("nvrtc").empty());

  Variant variant;
  variant.name = "helpers";
  variant.backend = BackendId::cuda;
  const auto recipe_with = [](std::string source, std::string entry) {
    return [=](const Problem&, const Tile&) {
      return Recipe{source, {}, {KernelLaunch{entry, {}, {32, 1, 1}, 0}}};
    };
  };
  variant.code = recipe_with("harness/backends/cuda/device/helpers.cuh", "checksum");
  Variant broken = variant;
  broken.code = recipe_with("harness/backends/cuda/absent.cuh", "checksum");
  const std::vector<Candidate> candidates{{&variant, {}, {}}, {&broken, {}, {}}};
  std::size_t finished = 0;
  const auto results = compile_candidates(*backend, candidates, [&](std::size_t) { ++finished; });
  EXPECT_EQ(finished, 2u);
  ASSERT_TRUE(results[0].build) << results[0].error;
  EXPECT_GT(results[0].build->registers, 0);
  EXPECT_FALSE(results[1].build);
  EXPECT_NE(results[1].error.find("absent.cuh"), std::string::npos) << results[1].error;
}

TEST(CudaBackend, SaysWhyItCanNotRun) {
  const TemporaryFolder folder;
  CudaOptions options = options_in(folder);
  options.arch = 80;
  const auto backend = make_cuda_backend(options);
  if (backend->can_run()) GTEST_SKIP() << "the device here is an sm_80";
  Operator op;
  try {
    backend->stage(op, Problem{}, {});
    FAIL() << "staged without a device";
  } catch (const RunError& error) {
    EXPECT_NE(std::string(error.what()).find("no CUDA device to run on"), std::string::npos);
  }
  EXPECT_FALSE(backend->reference(op, Problem{}, {}));
  EXPECT_FALSE(backend->measure_ceilings());
}

TEST(CudaBackend, DescribesTheToolkit) {
  EXPECT_EQ(cuda_build_description().substr(0, 5), "CUDA ");
  EXPECT_NE(cuda_build_description().find("NVRTC"), std::string::npos);
}

}  // namespace
}  // namespace gla_bench::cuda
