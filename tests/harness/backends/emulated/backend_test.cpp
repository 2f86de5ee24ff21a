// The emulator is asked for times, which it has none of.

#include "harness/backends/emulated/backend.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/catalog.hpp"
#include "core/error.hpp"
#include "core/tile.hpp"
#include "tests/support/run_program.hpp"

namespace gla_bench::emulated {
namespace {

TEST(EmulatedBackend, ThereIsNoTimeToSample) {
  Problem problem;
  problem.op = "softmax";
  problem.shape.batch = 1;
  problem.shape.columns = 8;
  const Variant* const variant =
      program_catalog().find_variant("softmax", "three_pass", BackendId::cuda, Direction::forward);
  ASSERT_NE(variant, nullptr);
  const auto backend = make_emulated_backend({});
  EXPECT_EQ(backend->clock_mhz(), std::nullopt);
  EXPECT_FALSE(backend->measure_ceilings());
  const auto plan = backend->build({variant, problem, all_tiles(variant->space).front()});
  for (const CacheState state : {CacheState::cold, CacheState::hot}) {
    try {
      plan->sample(state, 1);
      ADD_FAILURE() << "a time";
    } catch (const RunError& error) {
      EXPECT_EQ(std::string(error.what()),
                "the time of an emulated kernel says nothing: verify it");
    }
  }
}

TEST(EmulatedBackend, WhatTakesTimesDoesNotTakeIt) {
  const std::string config = " " + std::string(places::source_dir) + "/configs/quick.json";
  for (const std::string& command : {"run" + config, std::string("tune"), "bench" + config}) {
    const Outcome outcome = program(command + " --emulate");
    EXPECT_EQ(outcome.code, 2) << outcome.text;
    EXPECT_TRUE(outcome.has("argument")) << outcome.text;
    EXPECT_TRUE(outcome.has("--emulate")) << outcome.text;
  }
}

}  // namespace
}  // namespace gla_bench::emulated
