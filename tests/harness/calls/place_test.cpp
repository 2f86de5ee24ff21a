#include "harness/calls/place.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

namespace gla_bench::calls {
namespace {

class PlaceOnHost : public testing::Test {
 protected:
  static Question attention(std::int64_t seq) {
    const std::vector<std::int64_t> extents{1, seq, 2, 8};
    const GivenTensor tensor{"it", DType::float32, extents, {seq * 16, 16, 8, 1}};
    return {"attention",
            Direction::forward,
            {},
            std::nullopt,
            {{"q", tensor}, {"k", tensor}, {"v", tensor}, {"o", tensor}}};
  }

  CallPlace place{PlaceOptions{.backend = BackendId::host, .host = {.threads = 2}}};
};

TEST_F(PlaceOnHost, ChoosesAsAutoDoes) {
  const auto call = place.plan(attention(9), {});
  EXPECT_FALSE(call->is_ready());
  const Json json = call->describe();
  EXPECT_EQ(json["operator"], "attention");
  EXPECT_EQ(json["backend"], "host");
  EXPECT_EQ(json["variant"], call->candidate().variant->name);
  EXPECT_TRUE(json["chosen_by"].is_object());
}

TEST_F(PlaceOnHost, ComputesOnMemoryOfTheCaller) {
  constexpr std::int64_t seq = 4;
  const auto call = place.plan(attention(seq), {.variant = "flash2"});
  EXPECT_TRUE(call->describe()["chosen_by"].is_null());
  EXPECT_THROW(call->run({}, nullptr, nullptr), RunError);
  place.prepare(*call);
  // Queries of zero see all keys up to their own alike: o is the mean of the values so far.
  std::map<std::string, std::vector<float>> memory;
  std::vector<void*> addresses;
  for (const TensorSpec& spec : call->tensors()) {
    auto& values = memory[spec.name];
    values.assign(static_cast<std::size_t>(spec.elements()), 0.0f);
    addresses.push_back(values.data());
  }
  for (std::size_t i = 0; i < memory["v"].size(); ++i) memory["v"][i] = static_cast<float>(i / 16);
  std::vector<std::byte> workspace(call->workspace_bytes() + 256);
  const auto begin = (reinterpret_cast<std::uintptr_t>(workspace.data()) + 255) / 256 * 256;
  call->run(addresses, reinterpret_cast<void*>(begin), nullptr);
  for (std::int64_t t = 0; t < seq; ++t)
    EXPECT_NEAR(memory["o"][static_cast<std::size_t>(16 * t)], 0.5 * static_cast<double>(t), 1e-6);
  addresses.pop_back();
  EXPECT_THROW(call->run(addresses, nullptr, nullptr), InputError);
}

TEST_F(PlaceOnHost, WishesThatCannotBe) {
  const auto error_of = [&](const Wish& wish) -> std::string {
    try {
      place.plan(attention(9), wish);
    } catch (const NoVariant& error) {
      return std::string("none: ") + error.what();
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const auto expect = [&](const Wish& wish, const std::string& part) {
    EXPECT_NE(error_of(wish).find(part), std::string::npos) << error_of(wish);
  };
  expect({.variant = "fastest"}, "found the variant 'fastest', expected auto, materialized");
  expect({.variant = "flash2", .tile = {{"width", 3}}}, "has no tile axis 'width'");
  expect({.tile = {{"block_q", 64}}}, "without a variant");
  expect({.arithmetic = {Arithmetic::bfloat16}}, "none: no variant takes attention forward");
  expect({.variant = "flash2", .arithmetic = {Arithmetic::bfloat16}}, "products are in float32");
}

TEST(CallPlace, ADeviceThatThereIsNot) {
  PlaceOptions options{.backend = BackendId::cuda};
  options.cuda.device = 99;
  EXPECT_THROW(CallPlace{options}, InputError);
}

}  // namespace
}  // namespace gla_bench::calls
