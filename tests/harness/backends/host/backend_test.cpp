// The host as a backend: staging, guard zones, timing, what it says of itself.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "core/error.hpp"
#include "harness/backends/backend.hpp"
#include "harness/backends/guarded_buffer.hpp"
#include "harness/backends/host/leftovers.hpp"
#include "harness/backends/host/machine.hpp"
#include "harness/backends/other_inputs.hpp"
#include "harness/tensors/staging.hpp"
#include "kernels/linear_recurrence/params.h"

namespace gla_bench {
namespace {

Problem tiny() {
  Problem problem;
  problem.op = "gla";
  problem.shape = {2, 5, 3, 4, 6};
  return problem;
}

TEST(GuardedBuffer, StartsPoisonedAndWhole) {
  for (const std::size_t bytes : {0u, 1u, 63u, 4096u}) {
    GuardedBuffer buffer("x", bytes);
    EXPECT_EQ(buffer.bytes().size(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.bytes().data()) % 64, 0u);
    for (const std::byte byte : buffer.bytes()) EXPECT_EQ(byte, std::byte{0xff});
    EXPECT_EQ(buffer.damage(), std::nullopt);
  }
}

TEST(GuardedBuffer, NamesTheFirstByteHit) {
  GuardedBuffer buffer("x", 10);
  const std::byte whole = buffer.bytes().data()[10 + 12];
  buffer.bytes().data()[10 + 12] = std::byte{0};
  EXPECT_EQ(buffer.damage(), "guard zone behind 'x' overwritten at byte 12");
  buffer.bytes().data()[10 + 12] = whole;
  buffer.bytes().data()[-3] = std::byte{0};
  EXPECT_EQ(buffer.damage(), "guard zone before 'x' overwritten 3 bytes before its start");
}

TEST(GuardedBuffer, EveryByteOfBothZonesCounts) {
  GuardedBuffer buffer("x", 8);
  const auto guard = static_cast<std::ptrdiff_t>(GuardedBuffer::guard_bytes);
  for (const std::ptrdiff_t at : {-guard, std::ptrdiff_t{-1}, std::ptrdiff_t{8}, 8 + guard - 1}) {
    std::byte& byte = buffer.bytes().data()[at];
    const std::byte whole = byte;
    for (const std::byte other : {std::byte{1}, std::byte{0xff}}) {
      byte = other;
      EXPECT_NE(buffer.damage(), std::nullopt) << at;
    }
    byte = whole;
    EXPECT_EQ(buffer.damage(), std::nullopt);
  }
}

TEST(GuardedBuffer, ZonesReadAsNaNInEveryDtype) {
  for (const std::size_t bytes : {6u, 8u, 10u}) {
    const GuardedBuffer buffer("x", bytes);
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16})
      for (const std::ptrdiff_t at : {std::ptrdiff_t{-8}, static_cast<std::ptrdiff_t>(bytes)}) {
        std::vector<float> read(8 / size_of(dtype));
        decode(dtype, {buffer.bytes().data() + at, 8}, read);
        for (const float value : read) EXPECT_TRUE(std::isnan(value)) << bytes << " " << at;
      }
  }
}

TEST(GuardedBuffer, TooLargeIsARunError) {
  EXPECT_THROW(GuardedBuffer("x", std::size_t{1} << 60), RunError);
}

// What an earlier call left on the stack where this one has a variable that it does not set.
[[gnu::noinline]] unsigned char left_on_the_stack() {
  std::array<unsigned char, 16384> bytes;
  asm volatile("" : : "r"(bytes.data()) : "memory");  // might be set, for all that is known
  return bytes[256];
}

// The same of memory: a block so large that it always comes from the system.
float left_in_memory() {
  const std::unique_ptr<float[]> memory(new float[std::size_t{1} << 24]);
  asm volatile("" : : "r"(memory.get()) : "memory");
  return memory[12345];
}

TEST(Leftovers, AreNoZerosWhereAVerifiedCallLooks) {
  {
    const PoisonedLeftovers poisoned;
    const unsigned char on_the_stack = left_on_the_stack();
    EXPECT_EQ(on_the_stack, 0xff);
    EXPECT_GT(std::abs(left_in_memory()), 1e30f);
  }
  EXPECT_EQ(left_in_memory(), 0) << "no longer, and new pages are zero";
}

TEST(HostBackend, OnlyTheFirstRunAfterPoisoningFindsPoison) {
  const Operator& op = *find_operator("gla");
  const auto backend = make_host_backend({.threads = 1});
  Variant variant = *find_variant("gla", "recurrent", BackendId::host);
  float seen = 0;
  variant.code = [&](const HostCall&) { seen = left_in_memory(); };
  const auto workset = backend->stage(op, tiny(), op.draw(tiny()));
  const auto plan = backend->build({&variant, tiny(), {}});
  plan->prepare(*workset);
  plan->poison_workspace();
  plan->run();
  EXPECT_GT(std::abs(seen), 1e30f);
  plan->run();
  EXPECT_EQ(seen, 0) << "warming up";
  plan->poison_workspace();
  plan->sample(CacheState::cold, 1);
  EXPECT_EQ(seen, 0) << "the clock runs";
}

TEST(HostBackend, LoadRunsBesideTheWorkAndEnds) {
  const auto backend = make_host_backend();
  int calls = 0;
  backend->beside_load([&] { ++calls; });
  EXPECT_EQ(calls, 1);
  EXPECT_THROW(backend->beside_load([] { throw RunError("the work's own"); }), RunError);
}

TEST(HostBackend, CopiesHaveTheirOwnTensorsWithTheSameInputs) {
  const Operator& op = *find_operator("gla");
  const auto backend = make_host_backend({.threads = 1});
  const Variant& variant = *find_variant("gla", "recurrent", BackendId::host);
  const auto workset = backend->stage(op, tiny(), op.draw(tiny()));
  const auto plan = backend->build({&variant, tiny(), {{"block_v", 64}}});
  plan->prepare(*workset);
  workset->poison_outputs();
  plan->run();
  const std::uint64_t right = workset->outputs_fingerprint();
  std::vector<std::unique_ptr<Workset>> copies;
  std::vector<Workset*> all{workset.get()};
  for (int i = 0; i < 2; ++i) all.push_back(copies.emplace_back(workset->copy()).get());
  for (Workset* each : all) each->poison_outputs();
  EXPECT_NE(all[1]->outputs_fingerprint(), right) << "not written yet";
  EXPECT_GT(plan->sustained(all, 3), 0);
  for (Workset* each : all) {
    EXPECT_EQ(each->outputs_fingerprint(), right);
    EXPECT_EQ(each->damage(), std::nullopt);
  }
  workset->poison_outputs();
  EXPECT_EQ(all[1]->outputs_fingerprint(), right);
  plan->run();
  EXPECT_EQ(workset->outputs_fingerprint(), right) << "the plan stays with its own";
}

TEST(HostBackend, OutputsStartAsNaN) {
  const Operator& op = *find_operator("gla");
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    Problem problem = tiny();
    problem.dtype = dtype;
    const auto workset = make_host_backend()->stage(op, problem, op.draw(problem));
    workset->poison_outputs();
    const HostTensors outputs = workset->download_outputs();
    EXPECT_EQ(outputs.size(), 2u);
    for (const auto& [name, values] : outputs)
      for (const float value : values) EXPECT_TRUE(std::isnan(value)) << name;
    EXPECT_EQ(workset->damage(), std::nullopt);
  }
}

TEST(HostBackend, SamplesTakeTime) {
  const Operator& op = *find_operator("gla");
  const auto backend = make_host_backend({.threads = 1});
  EXPECT_EQ(backend->id(), BackendId::host);
  EXPECT_TRUE(backend->can_run());
  const auto workset = backend->stage(op, tiny(), op.draw(tiny()));
  const auto plan = backend->build(
      {find_variant("gla", "recurrent", BackendId::host), tiny(), {{"block_v", 64}}});
  EXPECT_THROW(plan->run(), RunError);  // not prepared
  plan->prepare(*workset);
  EXPECT_GT(plan->sample(CacheState::hot, 3), 0.0);
  EXPECT_GT(plan->sample(CacheState::cold, 1), 0.0);
  EXPECT_LT(plan->sample(CacheState::hot, 100), 1.0);
}

TEST(HostBackend, TimesTheStagesThatTheCallNames) {
  const auto backend = make_host_backend({.threads = 1});
  const Operator& op = *find_operator("gla");
  Variant variant = *find_variant("gla", "recurrent", BackendId::host);
  const auto workset = backend->stage(op, tiny(), op.draw(tiny()));
  const auto times_of = [&] {
    const auto plan = backend->build({&variant, tiny(), {{"block_v", 64}}});
    plan->prepare(*workset);
    return plan->stage_times(CacheState::cold);
  };
  EXPECT_TRUE(times_of().empty());
  variant.code = [](const HostCall& call) {
    const auto wait = [](int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
    wait(1);
    call.end_stage("short");
    wait(20);
    call.end_stage("long");
    wait(1);
    call.end_stage("short");
  };
  const std::vector<StageTime> times = times_of();
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].name, "short");
  EXPECT_GE(times[0].seconds, 2e-3);
  EXPECT_EQ(times[1].name, "long");
  EXPECT_GE(times[1].seconds, 20e-3);
  EXPECT_LT(times[0].seconds, times[1].seconds);
}

// The neighbours of a slice are NaN, and a write to them is found.
TEST(HostBackend, KnowsWhatLiesBetweenTheTokensOfASlice) {
  const auto backend = make_host_backend({.threads = 1});
  const Operator& op = *find_operator("gla");
  Problem problem = tiny();
  problem.options["packed"] = "true";
  const auto workset = backend->stage(op, problem, op.draw(problem));
  for (const char* input : {"q", "k", "v"}) {
    Variant variant = *find_variant("gla", "recurrent", BackendId::host);
    variant.code = [&](const HostCall& call) {
      LinearRecurrenceParams p;
      std::memcpy(&p, call.params.data(), sizeof p);
      const void* tensor = input[0] == 'q' ? p.q : input[0] == 'k' ? p.k : p.v;
      const long long behind = 3 * (input[0] == 'v' ? 6 : 4);
      auto* neighbour = const_cast<float*>(static_cast<const float*>(tensor)) + behind;
      if (input[0] == 'v') neighbour -= 3 * 6 + 1;  // behind the last slice the row ends
      EXPECT_TRUE(std::isnan(*neighbour)) << input;
      const float before = *neighbour;
      *neighbour = 0.0f;
      EXPECT_EQ(workset->damage(), "input '" + std::string(input) + "' changed");
      std::memcpy(neighbour, &before, sizeof before);
    };
    const auto plan = backend->build({&variant, problem, {{"block_v", 64}}});
    plan->prepare(*workset);
    plan->run();
    EXPECT_EQ(workset->damage(), std::nullopt) << input;
  }
  EXPECT_TRUE(workset->flip_signs(verified_pattern));  // what lies between is NaN before and after
  EXPECT_EQ(workset->damage(), std::nullopt);
}

TEST(HostBackend, OnlyHostVariantsBuild) {
  Variant variant = *find_variant("gla", "recurrent", BackendId::host);
  variant.code = [](const Problem&, const Tile&) { return Recipe{}; };
  EXPECT_THROW(make_host_backend()->build({&variant, tiny(), {{"block_v", 64}}}), BuildError);
}

TEST(HostBackend, SaysWhatItIs) {
  const auto backend = make_host_backend({.threads = 2});
  EXPECT_EQ(backend->limits().arch, 0);
  EXPECT_GT(backend->limits().memory_bytes, std::size_t{1} << 28);
  const Environment environment = backend->environment();
  for (const char* key : {"device", "cores", "threads", "memory_bytes", "compiler", "blas"})
    EXPECT_FALSE(environment.at(key).empty()) << key;
  EXPECT_EQ(environment.at("threads"), "2");
}

void expect_ceilings(const char* matrix) {
  const auto ceilings = make_host_backend()->measure_ceilings();
  ASSERT_TRUE(ceilings.has_value());
  EXPECT_GT(ceilings->copy_gb_per_s, 0.1);
  EXPECT_LT(ceilings->copy_gb_per_s, 5000);
  EXPECT_GT(ceilings->matrix_tflop_per_s, 1e-4);
  EXPECT_LT(ceilings->matrix_tflop_per_s, 100);
  EXPECT_EQ(ceilings->matrix, matrix);
}

// A processor newer than OpenBLAS would get the kernels of any x86-64.
TEST(HostBackend, AsksForKernelsWhereOpenBlasDoesNotKnowTheProcessor) {
  EXPECT_EQ(blas_kernels_to_ask_for("Prescott", true, true), "SkylakeX");
  EXPECT_EQ(blas_kernels_to_ask_for("Prescott", true, false), "Haswell");
  EXPECT_EQ(blas_kernels_to_ask_for("Prescott", false, false), std::nullopt) << "there is no more";
  EXPECT_EQ(blas_kernels_to_ask_for("Haswell", true, true), std::nullopt) << "it chose";
}

/// Entries of ctest ask for rough measurements; a user does not, and has them in full.
class Roughness : public testing::Test {
 protected:
  Roughness() {
    if (const char* asked = std::getenv(rough_variable)) before_ = asked;
  }
  ~Roughness() override {
    if (before_)
      setenv(rough_variable, before_->c_str(), 1);
    else
      unsetenv(rough_variable);
  }

 private:
  std::optional<std::string> before_;
};

TEST_F(Roughness, IsAskedForAndNamedInRecords) {
  unsetenv(rough_variable);
  expect_ceilings("float32 2048^3 (OpenBLAS)");
  EXPECT_FALSE(host_environment(1).contains("rough"));
  const std::size_t in_full = CacheFlush::bytes();
  setenv(rough_variable, "1", 1);
  expect_ceilings("float32 512^3 (OpenBLAS)");
  EXPECT_EQ(host_environment(1).at("rough"), "yes");
  EXPECT_EQ(CacheFlush::bytes(), std::size_t{64} << 20);
  EXPECT_GE(in_full, CacheFlush::bytes());
}

}  // namespace
}  // namespace gla_bench
