// Kernels ask for tensors and for regions of their workspace by name.

#include <gtest/gtest.h>

#include <string>

#include "core/catalog.hpp"
#include "core/error.hpp"
#include "core/variant.hpp"
#include "harness/engine/assignment.hpp"
#include "tests/harness/config/draws/drawn_sweeps.hpp"

namespace gla_bench {
namespace {

/// Every variant of a backend for drawn problems of every operator and direction.
std::size_t names_of_drawn_problems(BackendId backend, const Limits& limits) {
  const Place place{
      .backend = backend, .limits = limits, .device = "", .source_hash = [](const Variant&) {
        return std::string();
      }};
  std::size_t count = 0;
  for (const Operator& op : operators())
    for (const Direction direction : op.directions) {
      Config config = drawn::config_of(
          R"({"operator": ")" + op.name + R"(", "direction": ")" + std::string(name(direction)) +
          R"(", "variants": "all", "random": {"problems": 60}, "max_tiles": 3, "seed": 5})");
      config.backend = backend;
      for (const Assignment& work : assignments(config, program_catalog(), place))
        for (const Candidate& candidate : work.accepted) {
          EXPECT_NO_THROW(workspace_of(candidate)) << describe(candidate);
          ++count;
        }
    }
  return count;
}

TEST(WorkspaceNames, NoRegionOfACudaVariantIsNamedAsATensor) {
  EXPECT_GT(names_of_drawn_problems(BackendId::cuda, {90, 232448, 0, 132}), 1000u);
}

TEST(WorkspaceNames, NoRegionOfAHostVariantIsNamedAsATensor) {
  EXPECT_GT(names_of_drawn_problems(BackendId::host, {}), 500u);
}

// Its normalizers between once lay in a region that was named as they are.
TEST(WorkspaceNames, RecurrentsNormalizersAreNotThoseBetween) {
  Problem problem;
  problem.op = "linear_attention";
  problem.shape = {1, 64, 1, 32, 104};
  problem.gate = "none";
  problem.initial_state = true;
  problem.options = {{"normalize", "true"}, {"in_place", "true"}, {"states_every", "16"}};
  const Variant& variant = *find_variant("linear_attention", "recurrent", BackendId::cuda);
  const Tile tile{{"block_v", 16}, {"columns", 2}, {"lanes", 8}, {"stages", 3}, {"tokens", 8}};
  EXPECT_EQ(workspace_of({&variant, problem, tile}).size(), 1u);
}

TEST(WorkspaceNames, ARegionNamedAsATensorIsAnError) {
  Problem problem;
  problem.op = "gla";
  problem.shape = {1, 16, 1, 16, 16};
  Variant variant = *find_variant("gla", "recurrent", BackendId::host);
  const Candidate candidate{&variant, problem, {}};
  variant.workspace = [](const Problem&, const Tile&) { return std::vector<Region>{{"kept", 4}}; };
  EXPECT_EQ(workspace_of(candidate).size(), 1u);
  variant.workspace = [](const Problem&, const Tile&) {
    return std::vector<Region>{{"kept", 4}, {"final_state", 4}};
  };
  try {
    workspace_of(candidate);
    FAIL() << "accepted";
  } catch (const BuildError& error) {
    EXPECT_NE(std::string(error.what()).find("'final_state' has the name of a tensor"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace gla_bench
