#include "harness/backends/gpu_list.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"

namespace gla_bench {
namespace {

TEST(GpuList, NumbersInTheirOrderOrAll) {
  EXPECT_EQ(parse_gpus("0"), (std::vector{0}));
  EXPECT_EQ(parse_gpus("3,0,12"), (std::vector{3, 0, 12}));
  EXPECT_TRUE(parse_gpus("all").empty());
}

TEST(GpuList, AnythingElseIsRefused) {
  for (const std::string text :
       {"", ",", "0,", ",0", "0,,1", "-1", "a", "0 1", "0,0", "1.5", "all,0", "99999999999"})
    EXPECT_THROW(parse_gpus(text), InputError) << text;
}

}  // namespace
}  // namespace gla_bench
