#include <gtest/gtest.h>

#include <array>
#include <string>

#include "core/error.hpp"
#include "tests/harness/config/draws/drawn_sweeps.hpp"

namespace gla_bench {
namespace {

TEST(DrawnConfig, DimsThatAreNeverDrawnAreRefused) {
  for (const auto& [op, dims, complaint] :
       {std::array{"gla_layer", R"("key_dim": [40, 24])",
                   "key_dim/1: found 24, expected an integer from 32 to"},
        std::array{"attention", R"("value_dim": [257])",
                   "value_dim/0: found 257, expected an integer from 2 to 256"},
        std::array{"gla", R"("value_dim": [1])",
                   "value_dim/0: found 1, expected an integer from 2 to"}}) {
    try {
      drawn::sweep_of(op, std::string(R"("problems": 1, )") + dims);
      ADD_FAILURE() << op;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(complaint), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace gla_bench
