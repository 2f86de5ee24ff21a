#include "harness/config/part.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"

namespace gla_bench {
namespace {

Sweep sweep(const char* op, std::vector<std::string> variants, std::vector<DType> dtypes) {
  Sweep s;
  s.op = op;
  s.variants = std::move(variants);
  s.dtypes = std::move(dtypes);
  s.tiles["fast"].axes = {{"chunk", {1}}};
  return s;
}

Config config() {
  Config c;
  c.sweeps = {sweep("red", {"fast", "slow"}, {DType::float32, DType::bfloat16}),
              sweep("blue", {"slow"}, {DType::float16})};
  return c;
}

std::string refusal(const Config& whole, const ConfigPart& part) {
  try {
    part_of(whole, part);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(ConfigPart, NothingAskedKeepsEverything) {
  const Config kept = part_of(config(), {});
  EXPECT_EQ(kept.sweeps.size(), 2u);
  EXPECT_EQ(kept.sweeps[0].variants.size(), 2u);
}

TEST(ConfigPart, KeepsWhatIsNamed) {
  const Config variants = part_of(config(), {.operators = {}, .variants = {"fast"}, .dtypes = {}});
  ASSERT_EQ(variants.sweeps.size(), 1u);
  EXPECT_EQ(variants.sweeps[0].variants, std::vector<std::string>{"fast"});
  EXPECT_EQ(variants.sweeps[0].tiles.size(), 1u);
  const Config slow = part_of(config(), {.operators = {"red"}, .variants = {"slow"}, .dtypes = {}});
  ASSERT_EQ(slow.sweeps.size(), 1u);
  EXPECT_TRUE(slow.sweeps[0].tiles.empty());  // of a variant that is not asked any more
  const Config dtypes =
      part_of(config(), {.operators = {}, .variants = {}, .dtypes = {"bfloat16"}});
  ASSERT_EQ(dtypes.sweeps.size(), 1u);
  EXPECT_EQ(dtypes.sweeps[0].dtypes, std::vector<DType>{DType::bfloat16});
}

TEST(ConfigPart, KeepsADirection) {
  Config whole = config();
  const ConfigPart back{{}, {}, {}, {"backward"}};
  EXPECT_EQ(refusal(whole, back),
            "--directions: found \"backward\", expected some of what the config has: forward");
  whole.sweeps[1].direction = Direction::backward;
  const Config kept = part_of(whole, back);
  ASSERT_EQ(kept.sweeps.size(), 1u);
  EXPECT_EQ(kept.sweeps[0].op, "blue");
  EXPECT_EQ(part_of(whole, {{}, {}, {}, {"forward"}}).sweeps[0].op, "red");
}

TEST(ConfigPart, NamesThatTheConfigLacksAreRefused) {
  EXPECT_EQ(refusal(config(), {.operators = {"green"}, .variants = {}, .dtypes = {}}),
            "--operators: found \"green\", expected some of what the config has: blue, red");
  EXPECT_NE(refusal(config(), {.operators = {}, .variants = {"auto"}, .dtypes = {}})
                .find("--variants: found \"auto\""),
            std::string::npos);
  EXPECT_NE(refusal(config(), {.operators = {}, .variants = {}, .dtypes = {"int32"}})
                .find("--dtypes: found \"int32\""),
            std::string::npos);
  EXPECT_NE(refusal(config(), {.operators = {"blue"}, .variants = {"fast"}, .dtypes = {}})
                .find("no sweep of the config has all of them"),
            std::string::npos);
}

TEST(ConfigPart, TheDtypeOfAFileIsNotAChoice) {
  Config c = config();
  c.sweeps[0].tensors = TensorSource{"q.safetensors", {}};
  EXPECT_NE(refusal(c, {.operators = {}, .variants = {}, .dtypes = {"float16"}})
                .find("inputs from q.safetensors"),
            std::string::npos);
}

}  // namespace
}  // namespace gla_bench
