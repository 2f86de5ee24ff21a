// The references of attention and decay_attention against an independent form and against central
// differences.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/operator.hpp"
#include "tests/reference/central_differences.hpp"

namespace gla_bench {
namespace {

Problem attention(const std::string& op, Shape shape, const std::string& gate,
                  DType dtype = DType::float32) {
  Problem problem;
  problem.op = op;
  problem.shape = shape;
  problem.gate = gate;
  problem.dtype = dtype;
  return problem;
}

// B, T, H, K, V, Tk, Hk: fewer, as many and more keys than queries; several blocks; grouped heads.
std::vector<Shape> shapes() {
  return {{1, 1, 1, 1, 1},           {2, 17, 3, 5, 7},        {1, 130, 2, 20, 9, 0, 1},
          {1, 70, 4, 8, 16, 139, 2}, {1, 90, 2, 8, 4, 61, 0}, {1, 3, 2, 16, 16, 200, 1}};
}

double relative_difference_of_unequal(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;  // infinities too
    difference += (a[i] - b[i]) * (a[i] - b[i]);
  }
  for (const double x : b) norm += std::isinf(x) ? 0.0 : x * x;
  return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}

std::vector<Problem> all_problems(Direction direction) {
  std::vector<Problem> list;
  for (const char* name : {"attention", "decay_attention"}) {
    const Operator& op = *find_operator(name);
    const OptionAxis& axis = op.options.front();
    for (const std::string& gate : op.gates)
      for (const Shape& shape : shapes())
        for (const std::string& choice : axis.values)
          for (const DType dtype : {DType::float32, DType::bfloat16}) {
            if (dtype == DType::bfloat16 && shape.seq > 20) continue;  // shows nothing new
            Problem problem = attention(name, shape, gate, dtype);
            problem.direction = direction;
            if (choice != axis.values.front()) problem.options[axis.name] = choice;
            if (direction == Direction::forward) problem.options["lse"] = "true";
            if (shape.seq == 70) problem.scale = -0.7;
            if (shape.seq == 90) problem.scale = 0.0;
            if (!op.refuse(problem)) list.push_back(problem);
            // The inputs as layers have them: these are other numbers where gates are float32.
            problem.options["packed"] = "true";
            if (op.name == "decay_attention" && dtype == DType::bfloat16)
              problem.options["gate_dtype"] = "float32";
            if (dtype == DType::bfloat16 && !op.refuse(problem)) list.push_back(problem);
          }
  }
  return list;
}

void expect_two_forms_agree(Direction direction, double bound) {
  for (const Problem& problem : all_problems(direction)) {
    const Operator& op = *find_operator(problem.op);
    const HostTensors inputs = op.draw(problem);
    const ReferenceTensors a = op.reference(problem, inputs);
    const ReferenceTensors b = op.second_form(problem, inputs);
    ASSERT_EQ(a.size(), b.size());
    for (const auto& [name, values] : a)
      EXPECT_TRUE(relative_difference_of_unequal(values, b.at(name)) <= bound)
          << name << " of " << describe(problem) << ": "
          << relative_difference_of_unequal(values, b.at(name));
  }
}

TEST(Attention, ForwardEqualsItsDefinition) {
  expect_two_forms_agree(Direction::forward, 1e-12);
}

TEST(Attention, BackwardEqualsItsSecondForm) {
  expect_two_forms_agree(Direction::backward, 1e-9);
}

void expect_gradients(const Problem& problem) {
  const Operator& op = *find_operator(problem.op);
  const HostTensors inputs = op.draw(problem);
  const ReferenceTensors gradients = op.reference(problem, inputs);
  for (const auto& [name, values] : gradients) {
    const auto differences = central_differences(problem, inputs, name.substr(1));
    EXPECT_TRUE(relative_difference_of_unequal(values, differences) <= 1e-6)
        << name << " of " << describe(problem) << ": "
        << relative_difference_of_unequal(values, differences);
  }
}

TEST(Attention, BackwardIsTheGradientOfTheForward) {
  // Grouped heads; fewer keys than queries, so that rows see nothing; more keys than queries.
  for (const Shape& shape :
       {Shape{1, 6, 2, 3, 2, 0, 1}, Shape{1, 6, 1, 3, 4, 4, 0}, Shape{2, 3, 2, 2, 3, 7, 2}}) {
    for (const char* causal : {"true", "false"}) {
      Problem problem = attention("attention", shape, "normal");
      problem.direction = Direction::backward;
      problem.options["causal"] = causal;
      expect_gradients(problem);
    }
    for (const char* gate : {"mild", "typical", "resets"}) {
      Problem problem = attention("decay_attention", shape, gate);
      problem.direction = Direction::backward;
      problem.seed = 7;
      expect_gradients(problem);
    }
    Problem problem = attention("decay_attention", shape, "typical");
    problem.direction = Direction::backward;
    problem.options["decay"] = "constant";
    expect_gradients(problem);
  }
}

TEST(Attention, HandComputedExample) {
  const Operator& op = *find_operator("decay_attention");
  Problem problem = attention("decay_attention", {1, 2, 1, 1, 1}, "mild");
  problem.scale = 2.0;
  problem.options["lse"] = "true";
  const HostTensors inputs{
      {"q", {1, 1}}, {"k", {0.5f, 1}}, {"v", {10, 20}}, {"log_decay", {-5, -1}}};
  // The first row sees itself alone. The second: logits 2 * 0.5 - 1 = 0 and 2, the decay at the
  // first token counts for nobody.
  const double e2 = std::exp(2.0);
  const ReferenceTensors result = op.reference(problem, inputs);
  EXPECT_NEAR(result.at("o")[0], 10, 1e-12);
  EXPECT_NEAR(result.at("o")[1], (10 + 20 * e2) / (1 + e2), 1e-12);
  EXPECT_NEAR(result.at("lse")[0], 1, 1e-12);
  EXPECT_NEAR(result.at("lse")[1], std::log(1 + e2), 1e-12);
}

TEST(Attention, RowsThatSeeNothing) {
  for (const char* name : {"attention", "decay_attention"}) {
    const Operator& op = *find_operator(name);
    Problem problem = attention(name, {1, 5, 2, 4, 3, 2, 0}, op.gates.front());
    problem.options["lse"] = "true";
    const ReferenceTensors result = op.reference(problem, op.draw(problem));
    for (std::size_t i = 0; i < 3 * 2; ++i) {  // three of five queries stand before the first key
      EXPECT_EQ(result.at("lse")[i], -std::numeric_limits<double>::infinity());
      for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(result.at("o")[3 * i + c], 0);
    }
    for (std::size_t i = 3 * 2; i < 5 * 2; ++i) EXPECT_TRUE(std::isfinite(result.at("lse")[i]));
    problem.options.clear();
    problem.direction = Direction::backward;
    const ReferenceTensors gradients = op.reference(problem, op.draw(problem));
    for (const auto& [tensor, values] : gradients)
      for (const double x : values) ASSERT_TRUE(std::isfinite(x)) << tensor;
    for (std::size_t i = 0; i < 3 * 2 * 4; ++i) EXPECT_EQ(gradients.at("dq")[i], 0);
  }
}

// Plain computations err as their arithmetic does: float32 far less than bfloat16, none by more
// than the bounds allow.
TEST(Attention, BaselinesFollowTheirArithmetic) {
  for (const char* name : {"attention", "decay_attention"})
    for (const Direction direction : {Direction::forward, Direction::backward}) {
      const Operator& op = *find_operator(name);
      Problem problem = attention(name, {1, 150, 2, 32, 16}, op.gates.front());
      problem.direction = direction;
      const HostTensors inputs = op.draw(problem);
      const ReferenceTensors truth = op.reference(problem, inputs);
      const auto error = [&](Arithmetic arithmetic, const std::string& tensor) {
        const HostTensors plain = op.baseline(problem, inputs, arithmetic);
        return relative_difference_of_unequal({plain.at(tensor).begin(), plain.at(tensor).end()},
                                              truth.at(tensor));
      };
      for (const auto& [tensor, values] : truth) {
        const double exact = error(Arithmetic::float32, tensor);
        EXPECT_TRUE(exact > 0 && exact < 2e-6) << name << " " << tensor << ": " << exact;
        EXPECT_GT(error(Arithmetic::tf32, tensor), 5 * exact) << name << " " << tensor;
        EXPECT_GT(error(Arithmetic::bfloat16, tensor), 3 * error(Arithmetic::tf32, tensor))
            << name << " " << tensor;
      }
    }
}

TEST(Attention, PeakedLogitsPassWhatAFixedReferenceHolds) {
  const Operator& op = *find_operator("attention");
  Problem problem = attention("attention", {1, 200, 2, 64, 64}, "peaked");
  problem.options["lse"] = "true";
  const std::vector<double> lse = op.reference(problem, op.draw(problem)).at("lse");
  const auto high = std::count_if(lse.begin(), lse.end(), [](double x) { return x > 89; });
  EXPECT_GT(high, 0);
  EXPECT_LT(high, 40);
}

TEST(Attention, RefusesProblemsThatThereAreNot) {
  const Operator& op = *find_operator("decay_attention");
  Problem problem = attention("decay_attention", {1, 8, 6, 4, 4, 0, 4}, "mild");
  EXPECT_EQ(op.refuse(problem), "heads is not a multiple of key_heads");
  problem.shape.key_heads = 3;
  EXPECT_EQ(op.refuse(problem), std::nullopt);
  problem.options["decay"] = "constant";
  EXPECT_EQ(op.refuse(problem), std::nullopt);
  problem.gate = "spikes";
  EXPECT_NE(op.refuse(problem), std::nullopt);
  problem.gate = "mild";
  problem.direction = Direction::backward;
  problem.options["lse"] = "true";
  EXPECT_NE(op.refuse(problem), std::nullopt);
}

// Behind a constant decay of -inf all gradients of q and k are zero, and what a kernel computes are
// rounding errors: float32's bounds have no room for them.
TEST(Attention, ConstantResetsAreJudgedWhereTheyCanBe) {
  const Operator& op = *find_operator("decay_attention");
  Problem problem = attention("decay_attention", {1, 8, 2, 4, 4}, "resets");
  problem.options["decay"] = "constant";
  EXPECT_EQ(op.refuse(problem), std::nullopt);
  problem.direction = Direction::backward;
  EXPECT_NE(op.refuse(problem), std::nullopt);
  problem.dtype = DType::bfloat16;
  EXPECT_EQ(op.refuse(problem), std::nullopt);
  problem.shape.heads = 1;
  EXPECT_NE(op.refuse(problem), std::nullopt);
}

TEST(Attention, InputsLieInMemoryAsTheOptionsSay) {
  const Operator& op = *find_operator("decay_attention");
  Problem problem = attention("decay_attention", {2, 6, 4, 3, 5, 0, 2}, "mild", DType::bfloat16);
  problem.direction = Direction::backward;
  problem.options = {{"gate_dtype", "float32"}, {"packed", "true"}};
  ASSERT_EQ(op.refuse(problem), std::nullopt);
  std::map<std::string, TensorSpec> specs;
  for (const TensorSpec& spec : op.tensors(problem)) specs[spec.name] = spec;
  const std::int64_t pitch = 4 * 3 + 2 * 3 + 2 * 5;
  for (const auto& [name, offset] : {std::pair{"q", 0}, {"k", 12}, {"v", 18}}) {
    EXPECT_EQ(specs.at(name).token_pitch, pitch) << name;
    EXPECT_EQ(specs.at(name).token_offset, offset) << name;
  }
  for (const char* name : {"o", "do", "dq", "dk", "dv", "log_decay", "lse"})
    EXPECT_EQ(specs.at(name).token_pitch, 0) << name;
  EXPECT_EQ(specs.at("log_decay").dtype, DType::float32);
  EXPECT_EQ(specs.at("dlog_decay").dtype, DType::float32);
  EXPECT_EQ(specs.at("dk").dtype, DType::bfloat16);

  const auto reason = [&] { return op.refuse(problem).value_or(""); };
  problem.shape.key_seq = 7;
  EXPECT_NE(reason().find("packed"), std::string::npos);
  problem.shape.key_seq = 6;
  EXPECT_EQ(reason(), "");
  problem.layout = Layout::head_first;
  EXPECT_NE(reason().find("packed"), std::string::npos);
  problem.options.erase("packed");
  EXPECT_EQ(reason(), "");
  problem.options["decay"] = "constant";
  EXPECT_NE(reason().find("gate_dtype"), std::string::npos);
  problem.options["decay"] = "per_token";
  problem.dtype = DType::float32;
  EXPECT_NE(reason().find("gate_dtype"), std::string::npos);
}

TEST(Attention, WorkCountsThePairsThatAreSeen) {
  const Operator& op = *find_operator("attention");
  Problem problem = attention("attention", {2, 3, 2, 5, 7, 4, 1}, "normal", DType::bfloat16);
  // Queries see 2, 3 and 4 keys.
  EXPECT_EQ(op.work(problem).flops, 2.0 * 4 * 9 * (5 + 7));
  EXPECT_EQ(op.work(problem).floor_bytes, 2.0 * 2 * (3 * 2 * 5 + 4 * 5 + 4 * 7 + 3 * 2 * 7));
  problem.options["causal"] = "false";
  EXPECT_EQ(op.work(problem).flops, 2.0 * 4 * 12 * (5 + 7));
  problem.options.clear();
  problem.shape.key_seq = 2;  // 0, 1 and 2 keys
  EXPECT_EQ(op.work(problem).flops, 2.0 * 4 * 3 * (5 + 7));
}

TEST(Attention, WorkNamesTheBytesThatMayBeSuperfluous) {
  const auto superfluous = [](const Problem& problem) {
    const Work work = find_operator(problem.op)->work(problem);
    EXPECT_EQ(work.least_bytes(), work.floor_bytes - work.skippable_bytes);
    return work.skippable_bytes;
  };
  // Two sequences, four query heads, two key heads, K = 8, V = 16, 16-bit.
  const Shape few_keys{2, 9, 4, 8, 16, 5, 2}, many_keys{2, 5, 4, 8, 16, 9, 2};
  Problem problem = attention("attention", few_keys, "normal", DType::bfloat16);
  EXPECT_EQ(superfluous(problem), 2.0 * 4 * 4 * 8 * 2);  // q of the first four
  problem.direction = Direction::backward;
  EXPECT_EQ(superfluous(problem), 2.0 * 4 * 4 * ((8 + 16 + 16) * 2 + 4));  // and of o, do, lse
  problem.options["causal"] = "false";
  EXPECT_EQ(superfluous(problem), 0.0);
  EXPECT_EQ(superfluous(attention("attention", many_keys, "normal", DType::bfloat16)), 0.0);
  problem = attention("decay_attention", many_keys, "mild", DType::bfloat16);
  EXPECT_EQ(superfluous(problem), 2.0 * 2 * 4 * (8 + 16) * 2);  // k and v of the first four
  problem.gate = "none";
  EXPECT_EQ(superfluous(problem), 0.0);
  problem.shape = few_keys;
  EXPECT_EQ(superfluous(problem), 2.0 * 4 * 4 * 8 * 2);
}

// What the work calls superfluous has other values: the results are the same.
TEST(Attention, ResultsDoNotDependOnWhatIsCalledSuperfluous) {
  const auto at = [](std::int64_t index) { return static_cast<std::size_t>(index); };
  for (const Direction direction : {Direction::forward, Direction::backward})
    for (const char* name : {"attention", "decay_attention"})
      for (const Shape& shape : {Shape{2, 9, 4, 8, 16, 5, 2}, Shape{2, 5, 4, 8, 16, 9, 2}}) {
        Problem problem = attention(name, shape, name[0] == 'a' ? "normal" : "mild");
        problem.direction = direction;
        const Operator& op = *find_operator(name);
        const Work work = op.work(problem);
        if (work.skippable_bytes == 0) continue;
        HostTensors inputs = op.draw(problem);
        const std::int64_t superfluous = std::abs(shape.seq - shape.key_seq);  // tokens
        if (shape.key_seq > shape.seq)  // a reset at the first query's own key
          for (std::int64_t b = 0; b < shape.batch; ++b)
            for (std::int64_t h = 0; h < shape.heads; ++h)
              inputs.at("log_decay").at(at((b * shape.key_seq + superfluous) * shape.heads + h)) =
                  -std::numeric_limits<float>::infinity();
        const ReferenceTensors before = op.reference(problem, inputs);
        double bytes = 0;
        for (const TensorSpec& spec : op.tensors(problem)) {
          const bool of_keys = spec.name == "k" || spec.name == "v";
          if (spec.role != TensorSpec::Role::input || spec.name == "log_decay" ||
              of_keys != (shape.key_seq > shape.seq))
            continue;
          const std::int64_t row = spec.elements() / shape.batch / spec.extents[1];
          for (std::int64_t b = 0; b < shape.batch; ++b)
            for (std::int64_t i = 0; i < superfluous * row; ++i)
              inputs.at(spec.name).at(at(b * spec.extents[1] * row + i)) = 3.0f;
          bytes += static_cast<double>(shape.batch * superfluous * row) *
                   static_cast<double>(size_of(spec.dtype));
        }
        EXPECT_EQ(bytes, work.skippable_bytes) << describe(problem);
        const ReferenceTensors after = op.reference(problem, inputs);
        for (const auto& [tensor, values] : before)
          EXPECT_EQ(values, after.at(tensor)) << tensor << " of " << describe(problem);
      }
}

}  // namespace
}  // namespace gla_bench
