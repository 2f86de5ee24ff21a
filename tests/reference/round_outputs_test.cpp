#include "reference/round_outputs.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace gla_bench {
namespace {

TEST(RoundOutputs, RoundsEachToItsDtypeAndLeavesInputsAlone) {
  using Role = TensorSpec::Role;
  const std::vector<TensorSpec> specs{{"q", Role::input, DType::bfloat16, {2}},
                                      {"o", Role::output, DType::bfloat16, {2}},
                                      {"final_state", Role::output, DType::float32, {1}}};
  const float fine = 1.0F + 0x1p-20F;
  HostTensors outputs{{"o", {fine, -3.0F}}, {"final_state", {fine}}};
  round_outputs(specs, outputs);
  EXPECT_EQ(outputs, (HostTensors{{"o", {1.0F, -3.0F}}, {"final_state", {fine}}}));
  outputs.erase("o");
  EXPECT_THROW(round_outputs(specs, outputs), std::out_of_range);
}

}  // namespace
}  // namespace gla_bench
