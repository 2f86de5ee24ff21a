#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "core/error.hpp"
#include "tests/harness/backends/cuda/gpu_fixture.hpp"

namespace gla_bench::cuda {
namespace {

bool all_nan(const HostTensors& outputs) {
  const std::vector<float>& y = outputs.at("y");
  return std::all_of(y.begin(), y.end(), [](float value) { return std::isnan(value); });
}

class GpuBackend : public GpuFixture {
 protected:
  // What a run of the kernel damages, workset first.
  std::string damage_of(const std::string& entry) {
    const Variant v = variant(entry);
    const auto workset = backend_->stage(op_, problem_, inputs());
    const auto plan = backend_->build({&v, problem_, {}});
    plan->prepare(*workset);
    EXPECT_EQ(workset->damage(), std::nullopt) << "before the run";
    EXPECT_EQ(plan->damage(), std::nullopt) << "before the run";
    plan->run();
    if (const auto text = workset->damage()) return *text;
    return plan->damage().value_or("");
  }
};

TEST_F(GpuBackend, RunsInEveryDtypeAndLayout) {
  for (DType dtype : {DType::float32, DType::bfloat16, DType::float16})
    for (Layout layout : {Layout::seq_first, Layout::head_first}) {
      problem_.dtype = dtype;
      problem_.layout = layout;
      const Variant v = variant("twice");
      const auto workset = backend_->stage(op_, problem_, inputs());
      const auto plan = backend_->build({&v, problem_, {}});
      plan->prepare(*workset);
      ASSERT_TRUE(all_nan(workset->download_outputs()));
      plan->run();
      const auto x = inputs().at("x");
      const auto y = workset->download_outputs().at("y");
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], 2 * x[i]) << i;
      workset->poison_outputs();
      ASSERT_TRUE(all_nan(workset->download_outputs()));
      EXPECT_EQ(workset->damage(), std::nullopt);
    }
}

TEST_F(GpuBackend, OutputsAreToldApartWhereTheyLie) {
  for (DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    problem_.dtype = dtype;
    const Variant v = variant("twice"), nan = variant("reads_behind");
    const auto workset = backend_->stage(op_, problem_, inputs());
    const auto plan = backend_->build({&v, problem_, {}});
    const auto other = backend_->build({&nan, problem_, {}});
    plan->prepare(*workset);
    EXPECT_TRUE(workset->poison_left()) << name(dtype);
    plan->run();
    EXPECT_FALSE(workset->poison_left()) << name(dtype);
    const std::uint64_t right = workset->outputs_fingerprint();
    workset->poison_outputs();
    EXPECT_NE(workset->outputs_fingerprint(), right) << name(dtype);
    plan->run();
    EXPECT_EQ(workset->outputs_fingerprint(), right) << name(dtype);
    other->prepare(*workset);
    other->run();  // changes the first element
    EXPECT_NE(workset->outputs_fingerprint(), right) << name(dtype);
    EXPECT_FALSE(workset->poison_left()) << "a NaN, but none that was put there";
  }
}

TEST_F(GpuBackend, DamageIsFoundAndNamed) {
  problem_.dtype = DType::bfloat16;
  EXPECT_EQ(damage_of("twice"), "");
  EXPECT_EQ(damage_of("behind"), "guard zone behind 'y' overwritten at byte 6");
  EXPECT_EQ(damage_of("before"), "guard zone before 'y' overwritten 2 bytes ahead of it");
  EXPECT_EQ(damage_of("changes_input"), "input 'x' changed");
  EXPECT_EQ(damage_of("work_overrun"), "guard zone behind 'work' overwritten at byte 0");
}

TEST_F(GpuBackend, WhatIsReadBehindATensorIsNaN) {
  for (DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    problem_.dtype = dtype;
    const Variant v = variant("reads_behind");
    const auto workset = backend_->stage(op_, problem_, inputs());
    const auto plan = backend_->build({&v, problem_, {}});
    plan->prepare(*workset);
    // Not poison either: put a number there first.
    const Variant number = variant("twice");
    const auto first = backend_->build({&number, problem_, {}});
    first->prepare(*workset);
    first->run();
    ASSERT_FALSE(std::isnan(workset->download_outputs().at("y")[0]));
    plan->run();
    EXPECT_TRUE(std::isnan(workset->download_outputs().at("y")[0])) << name(dtype);
  }
}

TEST_F(GpuBackend, ManySharedBytesAreAllowed) {
  const Variant v = variant("needs_much_shared", 80000);
  const auto workset = backend_->stage(op_, problem_, inputs());
  const auto plan = backend_->build({&v, problem_, {}});
  EXPECT_EQ(plan->info().shared_bytes, 80000);
  plan->prepare(*workset);
  EXPECT_NO_THROW(plan->run());
}

TEST_F(GpuBackend, ParametersOfAnotherSizeAreRefused) {
  Variant v = variant("twice");
  v.bind = [](const Problem&, const Tile&, const Address&) { return ParamBytes(8); };
  const auto workset = backend_->stage(op_, problem_, inputs());
  const auto plan = backend_->build({&v, problem_, {}});
  EXPECT_THROW(plan->prepare(*workset), BuildError);
}

TEST_F(GpuBackend, TooLargeATensorIsAnErrorWithItsName) {
  op_.tensors = [](const Problem&) {
    return std::vector<TensorSpec>{
        {"huge", TensorSpec::Role::output, DType::float32, {std::int64_t{1} << 42}, false}};
  };
  try {
    backend_->stage(op_, problem_, {});
    FAIL() << "16 TiB were allocated";
  } catch (const RunError& error) {
    EXPECT_NE(std::string(error.what()).find("'huge'"), std::string::npos) << error.what();
  }
}

TEST_F(GpuBackend, AnIllegalAddressLosesTheDevice) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto run_wild = [this] {
    const Variant v = variant("wild");
    const auto workset = backend_->stage(op_, problem_, inputs());
    const auto plan = backend_->build({&v, problem_, {}});
    plan->prepare(*workset);
    try {
      plan->run();
    } catch (const DeviceLost& error) {
      const bool named = std::string(error.what()).find("wild [cuda]") != std::string::npos;
      std::_Exit(named ? 42 : 43);
    }
    std::_Exit(44);
  };
  EXPECT_EXIT(run_wild(), testing::ExitedWithCode(42), "");
}

TEST_F(GpuBackend, TimesTheKernelAndNotTheLaunch) {
  const Variant v = variant("takes_200_us");
  problem_.shape = {1, 1, 1, 1, 1};
  const auto workset = backend_->stage(op_, problem_, inputs());
  const auto plan = backend_->build({&v, problem_, {}});
  plan->prepare(*workset);
  for (CacheState cache : {CacheState::cold, CacheState::hot})
    for (int calls : {1, 3, 400}) {
      if (cache == CacheState::cold && calls > 3) continue;
      const double seconds = plan->sample(cache, calls);
      EXPECT_GT(seconds, 199e-6) << calls;
      EXPECT_LT(seconds, 215e-6) << calls;
    }
}

TEST_F(GpuBackend, TimesStages) {
  Variant v = variant("twice");
  problem_.shape = {1, 1, 1, 1, 1};
  v.code = [](const Problem&, const Tile&) {
    const auto launch = [](const std::string& entry, const std::string& stage) {
      return KernelLaunch{entry, {1, 1, 1}, {32, 1, 1}, 0, 0, stage};
    };
    return Recipe{"map.cuh",
                  {},
                  {launch("takes_200_us", "once"), launch("takes_200_us", "twice"),
                   launch("takes_200_us", "twice"), launch("twice", "short")}};
  };
  const auto workset = backend_->stage(op_, problem_, inputs());
  const auto plan = backend_->build({&v, problem_, {}});
  plan->prepare(*workset);
  for (CacheState cache : {CacheState::cold, CacheState::hot}) {
    const std::vector<StageTime> times = plan->stage_times(cache);
    ASSERT_EQ(times.size(), 3u);
    EXPECT_EQ(times[0].name, "once");
    EXPECT_NEAR(times[0].seconds, 205e-6, 10e-6);
    EXPECT_EQ(times[1].name, "twice");
    EXPECT_NEAR(times[1].seconds, 410e-6, 20e-6);
    EXPECT_LT(times[2].seconds, 20e-6);
  }
}

TEST_F(GpuBackend, LaunchesAnImportWithParametersOfItsOwn) {
  std::ofstream(folder_.path() / "kernels" / "add.cuh") << R"(
struct Params { io_t* y; int count; };
extern "C" __global__ void add(const __grid_constant__ Params p) {
  for (int i = threadIdx.x; i < p.count; i += blockDim.x)
    p.y[i] = static_cast<io_t>(static_cast<float>(p.y[i]) + static_cast<float>(constants::addend));
}
)";
  backend_ = make_cuda_backend(options_);  // reads the folder anew
  Variant v = variant("twice");
  const auto own = std::get<0>(v.code);
  v.code = [own](const Problem& problem, const Tile& tile) {
    struct AddParams {
      void* y;
      int count;
    };
    Recipe recipe = own(problem, tile);
    recipe.imports.push_back({"add.cuh", {{"constants", "addend", 3}}, [problem](const Address& a) {
                                const AddParams params{a("y"), static_cast<int>(elements(problem))};
                                ParamBytes bytes(sizeof params);
                                std::memcpy(bytes.data(), &params, sizeof params);
                                return bytes;
                              }});
    recipe.steps.push_back(KernelLaunch{"add", {1, 1, 1}, {64, 1, 1}, 0, 1});
    return recipe;
  };
  const auto workset = backend_->stage(op_, problem_, inputs());
  const auto plan = backend_->build({&v, problem_, {}});
  plan->prepare(*workset);
  plan->run();
  const auto x = inputs().at("x");
  const auto y = workset->download_outputs().at("y");
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], 2 * x[i] + 3) << i;
}

TEST_F(GpuBackend, ColdIsSlowerThanHotWhereTheCacheHoldsTheProblem) {
  const Variant v = variant("waits_for_memory");
  problem_.shape = {1, 1024, 16, 128, 128};  // 8 MiB in, 8 MiB out
  const auto workset = backend_->stage(op_, problem_, inputs());
  const auto plan = backend_->build({&v, problem_, {}});
  plan->prepare(*workset);
  plan->run();
  double cold = 0, hot = 0;
  for (int i = 0; i < 20; ++i) {
    cold += plan->sample(CacheState::cold, 1);
    hot += plan->sample(CacheState::hot, 20);
  }
  EXPECT_GT(cold, 1.2 * hot);
}

TEST_F(GpuBackend, CeilingsAndClockAreMeasured) {
  const auto ceilings = backend_->measure_ceilings();
  ASSERT_TRUE(ceilings);
  EXPECT_GT(ceilings->copy_gb_per_s, 100);
  EXPECT_LT(ceilings->copy_gb_per_s, 20000);
  EXPECT_GT(ceilings->matrix_tflop_per_s, 10);
  EXPECT_LT(ceilings->matrix_tflop_per_s, 10000);
  EXPECT_GT(ceilings->least_call_us, 1);
  EXPECT_LT(ceilings->least_call_us, 20);
  if (const auto mhz = backend_->clock_mhz()) {
    EXPECT_GT(*mhz, 100);
    EXPECT_LT(*mhz, 5000);
  }
}

}  // namespace
}  // namespace gla_bench::cuda
