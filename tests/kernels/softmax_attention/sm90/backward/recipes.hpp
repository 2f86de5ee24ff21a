#pragma once
// Problems, tiles and recipes of flash_sm90's backward, for its tests.

#include <string>
#include <variant>
#include <vector>

#include "kernels/softmax_attention/sm90/backward/flash_sm90.hpp"
#include "tests/kernels/softmax_attention/backward/problems.hpp"

namespace gla_bench::softmax_attention {

inline const Variant& flash_backward(std::string_view op = "attention") {
  static const Variant plain = backward_flash_sm90("attention"),
                       decaying = backward_flash_sm90("decay_attention");
  return op == "attention" ? plain : decaying;
}

inline Problem gradients_of(const Shape& shape, DType dtype = DType::bfloat16) {
  return backward_problem("attention", dtype, shape);
}

inline Problem gradients_with_decay(const Shape& shape, const std::string& decay = "per_token",
                                    DType dtype = DType::bfloat16) {
  Problem problem = backward_problem("decay_attention", dtype, shape);
  problem.options["decay"] = decay;
  return problem;
}

inline Tile steps_of(int block_m, int stages) {
  Tile t = backward_default(flash_backward());
  t["block_m"] = block_m, t["stages"] = stages;
  return t;
}

inline Recipe backward_recipe(const Problem& problem, const Tile& tile) {
  return std::get<0>(flash_backward(problem.op).code)(problem, tile);
}

/// The recipe's launches and what it zeroes, in order, with the unit that they are of.
inline std::vector<std::string> steps_by_name(const Recipe& recipe) {
  const char* of[] = {"", " of sums.cuh", " of first_tiles.cuh"};
  std::vector<std::string> list;
  for (const Step& step : recipe.steps) {
    if (const auto* zero = std::get_if<Zero>(&step)) list.push_back("zero " + zero->buffer);
    if (const auto* launch = std::get_if<KernelLaunch>(&step))
      list.push_back(launch->entry + of[launch->module]);
  }
  return list;
}

}  // namespace gla_bench::softmax_attention
