// The references of an operator that contains another.

#include "harness/backends/inner_references.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/toy_backend.hpp"

namespace gla_bench {
namespace {

// Computes what it has on the host, and notes what it was asked for.
class Inner final : public toy::ToyBackend {
 public:
  using ToyBackend::ToyBackend;
  std::vector<std::string> asked;
  Direction lacks = Direction::training;  // which the layer never asks for

  std::optional<ReferenceTensors> reference(const Operator& op, const Problem& problem,
                                            const HostTensors& inputs) override {
    if (!has(op, problem)) return std::nullopt;
    return op.reference(problem, inputs);
  }
  std::optional<HostTensors> baseline(const Operator& op, const Problem& problem,
                                      const HostTensors& inputs, Arithmetic arithmetic) override {
    if (!has(op, problem)) return std::nullopt;
    return op.baseline(problem, inputs, arithmetic);
  }

 private:
  bool has(const Operator& op, const Problem& problem) {
    asked.push_back(op.name + " " + std::string(name(problem.direction)));
    return problem.direction != lacks;
  }
};

Problem layer(Direction direction) {
  Problem problem;
  problem.op = "gla_layer";
  problem.dtype = DType::bfloat16;
  problem.direction = direction;
  problem.shape = {2, 13, 3, 6, 10};
  problem.shape.model_dim = 20;
  return problem;
}

TEST(InnerReferences, AreTheBackendsAndTheRestIsAsOnTheHost) {
  const Operator& op = *find_operator("gla_layer");
  const std::vector<std::string> forward{"gla forward"}, both{"gla forward", "gla backward"};
  for (const Direction direction : op.directions) {
    const Problem problem = layer(direction);
    const HostTensors inputs = op.draw(problem);
    toy::Script script;
    Inner backend(BackendId::cuda, script);
    EXPECT_EQ(reference_around(backend, op, problem, inputs), op.reference(problem, inputs));
    std::vector<std::string> expected = direction == Direction::forward ? forward : both;
    if (direction == Direction::training) expected.insert(expected.begin(), "gla forward");
    EXPECT_EQ(backend.asked, expected) << name(direction);
    EXPECT_EQ(baseline_around(backend, op, problem, inputs, Arithmetic::bfloat16),
              op.baseline(problem, inputs, Arithmetic::bfloat16));
    EXPECT_EQ(backend.asked.size(), 2 * expected.size()) << name(direction);
  }
}

TEST(InnerReferences, AreNoneWhereTheBackendLacksAPartOrTheOperatorContainsNone) {
  const Operator &op = *find_operator("gla_layer"), &alone = *find_operator("gla");
  const Problem problem = layer(Direction::backward);
  const HostTensors inputs = op.draw(problem);
  toy::Script script;
  Inner backend(BackendId::cuda, script);
  EXPECT_EQ(reference_around(backend, alone, problem, inputs), std::nullopt);
  EXPECT_EQ(baseline_around(backend, alone, problem, inputs, Arithmetic::tf32), std::nullopt);
  EXPECT_TRUE(backend.asked.empty());
  backend.lacks = Direction::backward;
  EXPECT_EQ(reference_around(backend, op, problem, inputs), std::nullopt);
  EXPECT_EQ(baseline_around(backend, op, problem, inputs, Arithmetic::tf32), std::nullopt);
  EXPECT_EQ(backend.asked.size(), 4u);  // a forward and a backward each
}

}  // namespace
}  // namespace gla_bench
