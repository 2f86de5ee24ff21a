#include "harness/config/draws/read_random.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/config/draws/problem_space.hpp"
#include "harness/config/lists.hpp"

namespace gla_bench {
namespace {

constexpr std::int64_t most_drawn_tokens = 1 << 20;
constexpr std::int64_t most_tokens_of_cover = 2400;
constexpr std::array<std::optional<double>, 4> drawn_scales{std::nullopt, 1.0, 0.3, -0.7};

std::vector<std::int64_t> read_dims(const JsonNode& node, const Operator& op,
                                    const std::string& extent) {
  if (std::find(op.extents.begin(), op.extents.end(), extent) == op.extents.end())
    node.fail("no " + extent + ", which " + op.name + " lacks");
  const DrawnSizes drawn = drawn_sizes(op, extent);
  std::vector<std::int64_t> dims;
  for (const JsonNode& item : few_items(node))
    dims.push_back(item.integer(drawn.least, drawn.most));
  return without_duplicates(dims);
}

RandomDraw read_random_draw(const JsonNode& node, const Operator& op) {
  node.expect_keys({"cover", "problems", "kernels", "least_tokens", "most_tokens", "key_dim",
                    "value_dim", "digest"});
  RandomDraw random;
  if (const auto cover = node.find("cover")) {
    cover->one_of({std::string(name(Cover::pairs))}, "what is to be covered");
    random.cover = Cover::pairs;
    random.kernels = 0;
    random.most_tokens = most_tokens_of_cover;
  }
  if (random.cover == Cover::none || node.find("problems"))
    random.problems = static_cast<int>(node.at("problems").integer(1, most_problems));
  if (const auto kernels = node.find("kernels"))
    random.kernels = static_cast<int>(kernels->integer(1, 1000));
  if (const auto least = node.find("least_tokens"))
    random.least_tokens = least->integer(1, most_drawn_tokens);
  if (const auto most = node.find("most_tokens"))
    random.most_tokens = most->integer(random.least_tokens, most_drawn_tokens);
  if (const auto dims = node.find("key_dim")) random.key_dims = read_dims(*dims, op, "key_dim");
  if (const auto dims = node.find("value_dim"))
    random.value_dims = read_dims(*dims, op, "value_dim");
  if (const auto digest = node.find("digest")) random.digest = digest->text();
  return random;
}

/// Options that are drawn only where a sweep names them: few variants take them, and all others
/// would refuse what is drawn.
constexpr std::array<std::string_view, 1> drawn_by_name{"page_size"};

/// Options that no covering draw takes unless the config names them. Most variants refuse them, and
/// would be left with few of the problems that hold all pairs of values.
constexpr std::array<std::string_view, 1> covered_if_named{"states_every"};

bool is_drawn(const OptionAxis& axis, const RandomDraw& random) {
  const auto is_in = [&](const auto& names) {
    return std::find(names.begin(), names.end(), axis.name) != names.end();
  };
  return !is_in(drawn_by_name) && (random.cover == Cover::none || !is_in(covered_if_named));
}

}  // namespace

void read_random(const JsonNode& sweep_node, const JsonNode& node, const Operator& op,
                 Sweep& sweep) {
  if (const auto shapes = sweep_node.find("shapes"))
    shapes->fail("no \"shapes\" beside \"random\": they are drawn");
  sweep.random = read_random_draw(node, op);
  sweep.scales.assign(drawn_scales.begin(), drawn_scales.end());
  sweep.dtypes.assign(problem_dtypes.begin(), problem_dtypes.end());
  sweep.layouts = {Layout::seq_first, Layout::head_first};
  sweep.gates = op.gates;
  sweep.initial_state = sweep.final_state = {false, true};
  sweep.max_tiles = 1;
  sweep.refusals_allowed = true;
  for (const OptionAxis& axis : op.options)
    if (is_drawn(axis, *sweep.random)) sweep.options[axis.name] = axis.values;
}

}  // namespace gla_bench
