#include "harness/backends/other_inputs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "harness/tensors/staging.hpp"

namespace gla_bench {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

std::vector<std::string> names_of(const std::string& op, const std::string& option = "",
                                  const std::string& value = "",
                                  Direction direction = Direction::forward) {
  Problem problem;
  problem.op = op;
  problem.shape = {1, 8, 1, 4, 4};
  problem.gate = "mild";
  problem.initial_state = op != "attention";
  problem.direction = direction;
  if (!option.empty()) problem.options[option] = value;
  std::vector<std::string> names;
  for (const TensorSpec& spec : signed_inputs(*find_operator(op), problem))
    names.push_back(spec.name);
  return names;
}

TEST(OtherInputs, GatesAndWhatFollowsFromOtherInputsStay) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_of("gla"), (Names{"q", "k", "v", "initial_state"}));
  EXPECT_EQ(names_of("rwkv6"), (Names{"q", "k", "v", "u", "initial_state"}));
  EXPECT_EQ(names_of("linear_attention", "normalize", "true"), (Names{"v", "initial_state"}))
      << "the quotient is of positive numbers";
  EXPECT_EQ(names_of("attention"), (Names{"q", "v"}));
  EXPECT_EQ(names_of("attention", "", "", Direction::backward), (Names{"do"}))
      << "o and lse follow from q, k and v";
  EXPECT_EQ(names_of("gla", "", "", Direction::backward),
            (Names{"q", "k", "v", "initial_state", "do", "dfinal_state"}));
  EXPECT_EQ(names_of("gla", "", "", Direction::training),
            names_of("gla", "", "", Direction::backward));
  EXPECT_EQ(names_of("linear_attention", "normalize", "true", Direction::backward),
            (Names{"v", "initial_state", "do", "dfinal_state", "dfinal_normalizer"}));
}

TEST(OtherInputs, EveryOperatorHasSome) {
  for (const Operator& op : operators()) {
    Problem problem;
    problem.op = op.name;
    problem.shape = {1, 8, 1, 4, 4};
    problem.shape.columns = 8;
    problem.shape.model_dim = 8;
    for (const Direction direction : op.directions) {
      problem.direction = direction;
      EXPECT_FALSE(signed_inputs(op, problem).empty()) << op.name;
    }
  }
}

TEST(OtherInputs, HalfOfTheSignsFlipAndTwiceIsNothing) {
  const std::size_t count = 100000;
  std::vector<float> values(count, 1.5f);
  values[7] = -inf;
  values[8] = std::numeric_limits<float>::quiet_NaN();
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    std::vector<std::byte> stored(count * size_of(dtype));
    encode(dtype, values, stored);
    const std::vector<std::byte> before = stored;
    std::set<std::vector<float>> seen;
    for (const std::uint64_t pattern : {1, 2})
      for (const char* tensor : {"q", "k"}) {
        flip_signs(dtype, {pattern, tensor}, stored);
        std::vector<float> read(count);
        decode(dtype, stored, read);
        EXPECT_EQ(read[7], -inf);
        EXPECT_TRUE(std::isnan(read[8]) && !std::signbit(read[8]));
        const auto flips = std::count(read.begin(), read.end(), -1.5f);
        EXPECT_NEAR(static_cast<double>(flips), 0.5 * count, 1000);
        read[8] = 0;
        EXPECT_TRUE(seen.insert(read).second) << "each pattern and tensor has its own signs";
        flip_signs(dtype, {pattern, tensor}, stored);
        EXPECT_EQ(stored, before);
      }
  }
  std::vector<std::byte> indices(16);
  EXPECT_THROW(flip_signs(DType::int32, {1, "i"}, indices), std::logic_error);
}

TEST(OtherInputs, AWorksetHasThoseOfTheHostInEveryLayout) {
  const Operator& op = *find_operator("gla");
  const auto backend = make_host_backend({.threads = 1});
  for (const Layout layout : {Layout::seq_first, Layout::head_first}) {
    Problem problem;
    problem.op = "gla";
    problem.shape = {2, 5, 3, 4, 6};
    problem.gate = "mild";
    problem.layout = layout;
    const HostTensors given = op.draw(problem);
    const HostTensors others = flipped(op, problem, given, verified_pattern);
    EXPECT_EQ(others.at("g"), given.at("g"));
    Variant copies = *find_variant("gla", "recurrent", BackendId::host);
    std::vector<float> seen;
    copies.bind = [&](const Problem& p, const Tile&, const Address& address) {
      const auto* q = static_cast<const float*>(address("q"));
      const auto count = op.tensors(p).front().elements();
      ParamBytes bytes(sizeof q);
      std::memcpy(bytes.data(), &q, sizeof q);
      seen.resize(static_cast<std::size_t>(count));
      return bytes;
    };
    copies.code = [&](const HostCall& call) {
      const float* q = nullptr;
      std::memcpy(&q, call.params.data(), sizeof q);
      std::copy_n(q, seen.size(), seen.begin());
    };
    const auto workset = backend->stage(op, problem, given);
    const auto plan = backend->build({&copies, problem, {}});
    plan->prepare(*workset);
    const TensorSpec spec = op.tensors(problem).front();
    {
      const FlippedSigns signs(*workset, verified_pattern);
      EXPECT_TRUE(signs.any());
      plan->run();
      EXPECT_EQ(to_logical_order(spec, layout, seen), others.at("q"));
    }
    plan->run();
    EXPECT_EQ(to_logical_order(spec, layout, seen), given.at("q"));
    EXPECT_EQ(workset->damage(), std::nullopt);
  }
}

}  // namespace
}  // namespace gla_bench
