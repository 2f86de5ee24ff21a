// What all variants of the family bind: workspace regions into the parameters' few places.

#include "kernels/softmax_attention/family.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <iterator>
#include <stdexcept>

namespace gla_bench::softmax_attention {
namespace {

Problem problem_of(std::string_view op) {
  Problem problem;
  problem.op = op;
  problem.shape = {1, 8, 1, 16, 16};
  if (op == "softmax") problem.shape.columns = 16;
  return problem;
}

std::vector<Region> regions_of(std::size_t count) {
  std::vector<Region> regions;
  for (std::size_t i = 0; i < count; ++i) regions.push_back({"region " + std::to_string(i), 4});
  return regions;
}

/// Bytes of the heap, one behind the other, in the order of the regions.
char heap[64];
void* address_of(std::string_view name) {
  if (!name.starts_with("region ")) return nullptr;
  return heap + std::stoi(std::string(name.substr(7)));
}

template <class Params>
void expect_all_places_in_order(std::string_view op) {
  const std::size_t places = std::size(Params{}.work);
  const ParamBytes bytes = softmax_attention::bind(problem_of(op), address_of, regions_of(places));
  Params params{};
  ASSERT_EQ(bytes.size(), sizeof params);
  std::memcpy(&params, bytes.data(), sizeof params);
  for (std::size_t i = 0; i < places; ++i) EXPECT_EQ(params.work[i], heap + i) << op << " " << i;
}

TEST(SoftmaxAttentionFamily, FillsEveryPlaceForARegion) {
  expect_all_places_in_order<SoftmaxParams>("softmax");
  for (const char* op : {"attention", "decay_attention"})
    expect_all_places_in_order<AttentionParams>(op);
}

TEST(SoftmaxAttentionFamily, RefusesARegionTooMany) {
  for (const char* op : {"softmax", "attention", "decay_attention"}) {
    const std::size_t places = op == std::string_view("softmax")
                                   ? std::size(SoftmaxParams{}.work)
                                   : std::size(AttentionParams{}.work);
    EXPECT_NO_THROW(softmax_attention::bind(problem_of(op), address_of, regions_of(places))) << op;
    try {
      softmax_attention::bind(problem_of(op), address_of, regions_of(places + 1));
      ADD_FAILURE() << op << ": no error";
    } catch (const std::logic_error& error) {
      EXPECT_EQ(std::string(error.what()), std::to_string(places + 1) +
                                               " regions, parameters have places for " +
                                               std::to_string(places));
    }
  }
}

}  // namespace
}  // namespace gla_bench::softmax_attention
