#include "harness/commands/shared/drawn_table.hpp"

#include <nlohmann/json.hpp>

#include "harness/config/draws/problem_space.hpp"
#include "harness/support/table.hpp"
#include "harness/support/text.hpp"

namespace gla_bench::commands {
namespace {

std::string of(std::size_t part, std::size_t whole) {
  return std::to_string(part) + " of " + std::to_string(whole);
}

std::string title(const Sweep& sweep) {
  return sweep.op + " " + std::string(name(sweep.direction));
}

}  // namespace

std::string drawn_table(const Config& config) {
  Table table{{{"drawn"},
               {"problems", true},
               {"kernels", true},
               {"pairs covered", true},
               {"not to be had", true}},
              {}};
  for (const Sweep& sweep : config.sweeps) {
    if (!sweep.random) continue;
    const DrawnProblems& drawn = sweep.drawn;
    const bool covers = sweep.random->cover != Cover::none;
    table.rows.push_back({title(sweep), std::to_string(drawn.problems.size()),
                          covers ? std::to_string(drawn.kernels) : "",
                          covers ? of(drawn.covered, drawn.pairs - drawn.refused.size()) : "",
                          covers ? std::to_string(drawn.refused.size()) : ""});
  }
  return table.rows.empty() ? "" : table.text();
}

std::string covered_tiles_table(const Config& config, const std::vector<CoveredTiles>& covered) {
  Table table{{{"tiles of"}, {"variant"}, {"values covered", true}, {"pairs covered", true}}, {}};
  for (const CoveredTiles& one : covered)
    table.rows.push_back({title(config.sweeps[one.sweep]), one.variant->name,
                          of(one.coverage.values_covered, one.coverage.values),
                          of(one.coverage.pairs_covered, one.coverage.pairs)});
  return table.rows.empty() ? "" : table.text();
}

std::string drawn_axes(const Catalog& catalog, const Operator& op, Direction direction) {
  const Json document{{"sweeps",
                       {{{"operator", op.name},
                         {"direction", name(direction)},
                         {"variants", "all"},
                         {"random", {{"cover", name(Cover::pairs)}}}}}}};
  const Config config = read_config(JsonNode(document, "list"), catalog, "");
  const Sweep& sweep = config.sweeps.front();
  const DrawnProblems& drawn = sweep.drawn;
  std::string text = "  drawn " + std::string(name(direction)) + ": " +
                     std::to_string(drawn.problems.size()) + " problems have " +
                     of(drawn.covered, drawn.pairs) + " pairs of these values, " +
                     std::to_string(drawn.refused.size()) + " can not be had\n";
  const ProblemSpace space(sweep, op);
  for (const Factor& factor : space.factors())
    text += "    " + factor.name + ": " + join(factor.levels) + "\n";
  return text;
}

}  // namespace gla_bench::commands
