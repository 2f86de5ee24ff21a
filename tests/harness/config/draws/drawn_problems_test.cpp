#include "harness/config/draws/drawn_problems.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/config/draws/problem_space.hpp"
#include "harness/config/sweep.hpp"
#include "tests/harness/config/draws/drawn_sweeps.hpp"
#include "tests/support/distance.hpp"

namespace gla_bench {
namespace {

using drawn::config_of, drawn::covering, drawn::free_problems, drawn::sweep_of;

/// All operators in all their directions.
std::vector<std::pair<std::string, Direction>> kinds() {
  std::vector<std::pair<std::string, Direction>> list;
  for (const Operator& op : operators())
    for (const Direction direction : op.directions) list.emplace_back(op.name, direction);
  return list;
}

std::string member_of(Direction direction) {
  return R"(, "direction": ")" + std::string(name(direction)) + R"(")";
}

std::size_t kernels_of(const std::vector<Problem>& problems) {
  std::set<std::string> texts;
  for (const Problem& problem : problems) texts.insert(kernel_text(problem));
  return texts.size();
}

TEST(FreeProblems, AreAFunctionOfTheSeedAndTheOperator) {
  const auto list = free_problems("gla", 50);
  EXPECT_EQ(list, free_problems("gla", 50));
  EXPECT_NE(list, free_problems("gla", 50, 8));
  // More of them are the same and some more.
  const auto more = free_problems("gla", 60);
  EXPECT_TRUE(std::equal(list.begin(), list.end(), more.begin()));
  EXPECT_EQ(more.size(), 60u);
  EXPECT_EQ(std::set<Problem>(more.begin(), more.end()).size(), 60u);
}

double most_flops(Direction direction) {
  if (direction == Direction::training) return most_drawn_training_flops;
  return has_gradients(direction) ? most_drawn_backward_flops : most_drawn_flops;
}

void expect_existing(const Problem& problem) {
  const Operator& op = *find_operator(problem.op);
  if (op.refuse) {
    EXPECT_FALSE(op.refuse(problem)) << *op.refuse(problem) << ": " << describe(problem);
  }
  const bool backward = has_gradients(problem.direction);
  EXPECT_LE(op.work(problem).flops, most_flops(problem.direction)) << describe(problem);
  EXPECT_LE(op.work(problem).floor_bytes, most_drawn_bytes) << describe(problem);
  for (const std::string& extent : op.extents)
    EXPECT_GE(problem.shape.*extent_axis(extent).extent, 1) << describe(problem);
  const Shape& s = problem.shape;
  if (s.columns > 0) return;
  EXPECT_GE(s.batch * s.heads * s.seq, 16) << describe(problem);
  if (problem.direction != Direction::forward && problem.op == "simple_gla") {
    const std::int64_t starts = problem.initial_state ? 0 : std::max<std::int64_t>(1, s.sequences);
    EXPECT_GE(s.heads * std::max<std::int64_t>(1, s.seq - starts), 64) << describe(problem);
  }
  // Of what sums over all tokens of a head there are some numbers.
  const std::int64_t sums = problem.op == "retention" ? s.heads : s.heads * s.key_dim;
  EXPECT_GE(sums, backward && (problem.op == "retention" || problem.op == "rwkv6") ? 8 : 1)
      << describe(problem);
  if (backward && op.name.ends_with("attention") && op.name != "linear_attention") {
    EXPECT_GE(s.heads * s.seq, 16) << describe(problem);
    EXPECT_GE(s.keys_heads() * s.keys_seq(), 16) << describe(problem);
    EXPECT_GE(s.keys_seq(), 2) << describe(problem);
  }
}

TEST(FreeProblems, ExistAndKeepTheirLimits) {
  for (const auto& [op, direction] : kinds()) {
    double sum = 0;
    int count = 0;
    for (const std::uint64_t seed : {1, 2, 3})
      for (const Problem& problem : free_problems(op, 100, seed, member_of(direction))) {
        expect_existing(problem);
        sum += find_operator(op)->work(problem).flops;
        ++count;
      }
    EXPECT_GE(count, 295) << op;
    // Most are small: the float64 references of all are a matter of seconds.
    // Gradients of the layer take tokens and dims that others do without.
    const bool of_layer = op == "gla_layer" && has_gradients(direction);
    EXPECT_LT(sum / count, most_flops(direction) / (of_layer ? 2 : 4))
        << op << member_of(direction);
  }
}

TEST(FreeProblems, ReachWhatKernelsDifferIn) {
  std::set<std::string> gates;
  std::set<DType> dtypes;
  std::set<Layout> layouts;
  std::set<std::optional<double>> scales;
  std::set<std::pair<bool, bool>> states;
  std::set<std::map<std::string, std::string>> options;
  int ragged = 0, decoding = 0, odd_dims = 0, edges = 0, long_ones = 0;
  for (const std::uint64_t seed : {1, 2, 3, 4})
    for (const Problem& problem : free_problems("rwkv6", 100, seed)) {
      gates.insert(problem.gate);
      dtypes.insert(problem.dtype);
      layouts.insert(problem.layout);
      scales.insert(problem.scale);
      states.emplace(problem.initial_state, problem.final_state);
      options.insert(problem.options);
      ragged += problem.shape.sequences > 0;
      decoding += problem.shape.seq <= 8;
      odd_dims += problem.shape.key_dim % 8 != 0;
      edges += problem.shape.seq > 8 && (problem.shape.seq + 1) % 16 < 3;
      long_ones += problem.shape.seq > 2048;
    }
  const auto& all = find_operator("rwkv6")->gates;
  EXPECT_EQ(gates, std::set<std::string>(all.begin(), all.end()));
  EXPECT_EQ(dtypes.size(), 3u);
  EXPECT_EQ(layouts.size(), 2u);
  EXPECT_EQ(scales.size(), 4u);
  EXPECT_EQ(states.size(), 4u);
  EXPECT_GT(options.size(), 8u);
  EXPECT_GT(ragged, 40);
  EXPECT_GT(decoding, 20);
  EXPECT_GT(odd_dims, 40);
  EXPECT_GT(edges, 80);
  EXPECT_GT(long_ones, 5);
}

TEST(FreeProblems, ShareTheirKernels) {
  EXPECT_LE(kernels_of(free_problems("gla", 400)), 12u);
  EXPECT_LE(kernels_of(sweep_of("gla", R"("problems": 400, "kernels": 3)").drawn.problems), 3u);
}

TEST(FreeProblems, AreDrawnFromTheSweepsAxes) {
  for (const Problem& problem : free_problems("gla", 100, 7,
                                              R"(, "dtypes": ["bfloat16"],
      "layouts": ["seq_first"], "gates": ["strong", "mild"], "initial_state": true, "scale": 0.5,
      "options": {"state_layout": "value_first"})")) {
    EXPECT_EQ(problem.dtype, DType::bfloat16);
    EXPECT_EQ(problem.layout, Layout::seq_first);
    EXPECT_TRUE(problem.gate == "strong" || problem.gate == "mild");
    EXPECT_TRUE(problem.initial_state);
    EXPECT_EQ(problem.scale, 0.5);
    EXPECT_EQ(problem.options.at("state_layout"), "value_first");
  }
  for (const Problem& problem :
       sweep_of("gla", R"("problems": 100, "least_tokens": 64, "most_tokens": 100,
                          "key_dim": [24, 320], "value_dim": [8])")
           .drawn.problems) {
    EXPECT_TRUE(problem.shape.seq >= 64 && problem.shape.seq <= 100) << describe(problem);
    EXPECT_TRUE(problem.shape.key_dim == 24 || problem.shape.key_dim == 320);
    EXPECT_EQ(problem.shape.value_dim, 8);
  }
}

TEST(DrawnConfig, ReadsAsItIsWritten) {
  for (const std::string random :
       {R"("problems": 9, "kernels": 4)", R"("cover": "pairs", "most_tokens": 40)",
        R"("cover": "pairs", "problems": 12, "key_dim": [16, 33])"}) {
    const Config config =
        config_of(R"({"operator": "gla", "variants": "all", "random": {)" + random + "}}");
    EXPECT_EQ(config.sweeps[0].max_tiles, 1);
    EXPECT_TRUE(config.sweeps[0].refusals_allowed);
    const Json written = config_to_json(config);
    const Config again = read_config(JsonNode(written, "again"), program_catalog(), "");
    EXPECT_EQ(config_to_json(again), written);
    EXPECT_EQ(problems(again.sweeps[0]), problems(config.sweeps[0]));
    EXPECT_EQ(again.sweeps[0].random->digest, config.sweeps[0].drawn.digest());
    EXPECT_EQ(points(again).size(), problems(config.sweeps[0]).size());
  }
}

TEST(CoveringProblems, HoldAllPairsThatExist) {
  for (const auto& [op, direction] : kinds())
    for (const std::uint64_t seed : {1, 2}) {
      const DrawnProblems& drawn = covering(op, direction, seed);
      SCOPED_TRACE(op + member_of(direction));
      EXPECT_EQ(drawn.covered + drawn.refused.size(), drawn.pairs);
      EXPECT_LE(drawn.problems.size(), 110u);
      EXPECT_LE(drawn.kernels, 32u);
      EXPECT_LE(kernels_of(drawn.problems), drawn.kernels);
      for (const Problem& problem : drawn.problems) expect_existing(problem);
    }
}

/// From outside: which pairs of two properties of a problem there are.
template <class First, class Second>
auto seen(const std::vector<Problem>& problems, First first, Second second) {
  std::set<std::pair<decltype(first(problems[0])), decltype(second(problems[0]))>> pairs;
  for (const Problem& problem : problems) pairs.emplace(first(problem), second(problem));
  return pairs;
}

TEST(CoveringProblems, HoldThemInWhatIsDrawn) {
  const auto list = sweep_of("gla", R"("cover": "pairs")", 3).drawn.problems;
  const auto dtype = [](const Problem& p) { return p.dtype; };
  const auto gate = [](const Problem& p) { return p.gate; };
  const auto layout = [](const Problem& p) { return p.layout; };
  const auto scale = [](const Problem& p) { return p.scale; };
  const auto is_long = [](const Problem& p) { return p.shape.seq > 2048; };
  const auto lone = [](const Problem& p) { return p.shape.seq == 1; };
  const auto many = [](const Problem& p) { return p.shape.sequences > 32; };
  const auto size = [](const Problem& p) { return option(p, "state_size"); };
  const auto spoiled = [](const Problem& p) { return flag(p, "nan_sequence"); };
  EXPECT_EQ(seen(list, dtype, gate).size(), 3u * 8);
  EXPECT_EQ(seen(list, dtype, layout).size(), 3u * 2);
  EXPECT_EQ(seen(list, gate, scale).size(), 8u * 4);
  EXPECT_EQ(seen(list, gate, is_long).size(), 8u * 2);
  // What is forgotten after hundreds of tokens shows in one long sequence that forgets nothing.
  EXPECT_TRUE(std::any_of(list.begin(), list.end(), [](const Problem& p) {
    return p.gate == "none" && p.shape.seq > 2048 && p.shape.sequences == 0;
  }));
  EXPECT_EQ(seen(list, gate, lone).size(), 8u * 2);
  EXPECT_EQ(seen(list, gate, many).size(), 8u * 2);
  EXPECT_EQ(seen(list, dtype, spoiled).size(), 3u * 2);
  EXPECT_EQ(seen(list, size, gate).size(), 3u * 8);
  EXPECT_EQ(seen(list, size, dtype).size(), 3u * 3 - 1);  // float16 does not hold the largest
}

TEST(CoveringProblems, OfAttentionHaveGroupsAndKeysOfAllKinds) {
  for (const std::string direction : {"forward", "backward"}) {
    const auto list = sweep_of("decay_attention", R"("cover": "pairs")", 3,
                               R"(, "direction": ")" + direction + R"(")")
                          .drawn.problems;
    const auto group = [](const Problem& p) { return p.shape.heads / p.shape.keys_heads(); };
    const auto keys = [](const Problem& p) {
      return p.shape.keys_seq() < p.shape.seq ? -1 : p.shape.keys_seq() > p.shape.seq ? 1 : 0;
    };
    const auto batch = [](const Problem& p) { return p.shape.batch > 1; };
    const auto lse = [](const Problem& p) { return flag(p, "lse"); };
    EXPECT_EQ(seen(list, group, keys).size(), 4u * 3) << direction;
    EXPECT_EQ(seen(list, batch, lse).size(), direction == "forward" ? 4u : 2u);
    EXPECT_TRUE(std::any_of(list.begin(), list.end(), [&](const Problem& p) {
      return group(p) == 5 && keys(p) < 0 && p.direction == *parse_direction(direction);
    }));
    EXPECT_TRUE(std::any_of(list.begin(), list.end(), [](const Problem& p) {
      return p.gate == "none" && p.shape.keys_seq() > 1500;
    }));
  }
}

/// What an operator refuses is known, so that anything else among the pairs would be a gap.
TEST(CoveringProblems, LeaveOutOnlyWhatCanNotBe) {
  const std::set<std::string> known{"in_place",   "initial_state", "final_state", "lengths",
                                    "sequences",  "ragged",        "batch",       "nan_sequence",
                                    "state_size", "gate_input",    "decay",       "keys",
                                    "key_heads",  "packed",        "gate_dtype"};
  for (const auto& [op, direction] : kinds()) {
    const DrawnProblems& drawn = covering(op, direction);
    EXPECT_LT(drawn.refused.size(), drawn.pairs / 12) << op << member_of(direction);
    for (const std::string& pair : drawn.refused) {
      const std::string first = pair.substr(0, pair.find(' '));
      const std::string rest = pair.substr(pair.find(", ") + 2);
      const std::string second = rest.substr(0, rest.find(' '));
      // Of few rows, shifted ones or of few columns, gradients may all be near zero by chance.
      const bool of_rows = has_gradients(direction) && (first == "batch" || first == "columns" ||
                                                        pair.ends_with("regime shifted"));
      const bool of_softmax = op == "softmax" && (pair == "scale -0.7, regime masked" || of_rows);
      const bool of_wide_keys = pair.starts_with("key_dim large, scale ");
      // The gradient of decays is in float32, which large logits leave too few bits, and weights
      // of few queries on single keys.
      const bool of_decays = op == "decay_attention" && has_gradients(direction) &&
                             (of_wide_keys || second == "tokens");
      // Keys of more than 36 channels have logits that tf32 does not resolve.
      const bool of_logits = !has_gradients(direction) && pair == "dtype float32, scale 1";
      // Of a few peaked queries each may have all its weight on one key, and no gradient; logits of
      // 32 leave gradients in float32 too few bits.
      const bool of_peaks =
          has_gradients(direction) &&
          (pair.starts_with("regime peaked, tokens ") || pair == "dtype float32, regime peaked");
      // The rounding of constant decays near 1 adds up in their gradients.
      const bool of_constants =
          op == "retention" && has_gradients(direction) && pair.starts_with("regime rwkv, tokens ");
      // A first output that is a quotient has no gradient of its score. With this seed the only
      // kernel of these values that is not packed has ragged quotients, which take long sequences:
      // the attempts to draw some in this layout end before one is found.
      const bool of_quotients = op == "linear_attention" && has_gradients(direction) &&
                                (pair.starts_with("normalize true, tokens ") ||
                                 pair == "value_dim multiple of 8, layout head_first");
      // Few decays of a token and head have gradients that may be near zero by chance.
      const bool of_token_decays =
          op == "simple_gla" && has_gradients(direction) && pair.starts_with("heads 1, tokens ");
      // A long sequence is of a kernel that is not ragged, and of those that share a value none may
      // have the dims for it.
      const bool of_one_sequence =
          (op == "attention" || op == "decay_attention") &&
          (pair.ends_with("tokens over 48 chunks") || pair.ends_with("tokens over 2048"));
      EXPECT_TRUE(known.contains(first) || known.contains(second) || of_softmax || of_decays ||
                  of_logits || of_peaks || of_constants || of_quotients || of_token_decays || of_one_sequence)
          << op << member_of(direction) << ": " << pair;
    }
  }
}

TEST(CoveringProblems, HavePagesWhereTheSweepNamesThem) {
  for (const Problem& problem : sweep_of("attention", R"("cover": "pairs")").drawn.problems)
    EXPECT_FALSE(problem.options.contains("page_size")) << describe(problem);
  std::set<std::string> sizes;
  for (const Problem& problem :
       sweep_of("attention", R"("cover": "pairs", "most_tokens": 8, "key_dim": [64])", 1,
                R"(, "options": {"page_size": ["16", "256"], "causal": [true, false]})")
           .drawn.problems) {
    expect_existing(problem);
    EXPECT_EQ(problem.shape.sequences, 0) << describe(problem);
    sizes.insert(problem.options.at("page_size"));
  }
  EXPECT_EQ(sizes, (std::set<std::string>{"16", "256"}));
}

TEST(CoveringProblems, HaveEveryValueOfEveryOption) {
  for (const auto& [kind, direction] : kinds()) {
    const std::vector<Problem>& list = covering(kind, direction).problems;
    const Operator& op = *find_operator(kind);
    for (const OptionAxis& axis : op.options)
      for (const std::string& value : axis.values) {
        // The log-sum-exp is an input of a backward.
        const bool backward = has_gradients(list[0].direction);
        if (axis.name == "lse" && backward) continue;
        // Gradients of states have memory of their own, and those that sum over all sequences would
        // be NaN throughout.
        if (axis.name == "in_place" && backward) continue;
        // Pages are drawn where a sweep names them.
        if (axis.name == "page_size" && value != "0") continue;
        if (axis.name == "nan_sequence" && backward && (kind == "retention" || kind == "rwkv6"))
          continue;
        // Most variants refuse states between, and a covering draw has them only where asked to.
        const bool drawn = axis.name != "states_every" || value == "0";
        EXPECT_EQ(std::any_of(list.begin(), list.end(),
                              [&](const Problem& problem) {
                                return option(op, problem, axis.name) == value;
                              }),
                  drawn)
            << op.name << member_of(direction) << ": " << axis.name << " " << value;
      }
  }
}

// A negative scale, a reset that leaves nothing, a NaN next door: the definition has to know them.
TEST(CoveringProblems, HaveReferencesThatAgreeWithTheirSecondForms) {
  for (const auto& [kind, direction] : kinds()) {
    const Operator& op = *find_operator(kind);
    int checked = 0;
    // The second forms are quadratic in the tokens, of which gradients of the layer need some.
    const bool of_layer = kind == "gla_layer" && has_gradients(direction);
    const double most_pairs = of_layer ? 2e7 : 3e6;
    for (const Problem& problem : covering(kind, direction).problems) {
      const Shape& s = problem.shape;
      const double pairs = static_cast<double>(s.batch * s.heads) * static_cast<double>(s.seq) *
                           static_cast<double>(s.keys_seq());
      if (pairs * static_cast<double>(s.key_dim + s.value_dim) > most_pairs || s.columns > 5000)
        continue;
      ++checked;
      const HostTensors inputs = op.draw(problem);
      const ReferenceTensors first = op.reference(problem, inputs);
      const ReferenceTensors second = op.second_form(problem, inputs);
      for (const auto& [output, values] : first)
        EXPECT_LE(distance(values, second.at(output)), 1e-9)
            << output << " of " << describe(problem);
      const bool spoiled = flag(problem, "nan_sequence");
      for (const auto& [output, values] : first)
        EXPECT_TRUE(spoiled || !has_nan(values)) << output << " of " << describe(problem);
    }
    EXPECT_GE(checked, of_layer ? 5 : 10) << op.name << member_of(direction);
  }
}

TEST(CoveringProblems, FewerProblemsOrKernelsCoverLess) {
  const DrawnProblems all = sweep_of("gla", R"("cover": "pairs")").drawn;
  const DrawnProblems few = sweep_of("gla", R"("cover": "pairs", "problems": 10)").drawn;
  EXPECT_EQ(few.problems.size(), 10u);
  EXPECT_LT(few.covered, all.covered);
  EXPECT_GT(few.covered, all.covered / 3);
  const DrawnProblems narrow = sweep_of("gla", R"("cover": "pairs", "kernels": 4)").drawn;
  EXPECT_LE(kernels_of(narrow.problems), 4u);
  EXPECT_LT(narrow.covered, all.covered);
}

TEST(CoveringProblems, AreAFunctionOfTheSeed) {
  const std::string random = R"("cover": "pairs")";
  EXPECT_EQ(sweep_of("attention", random).drawn.problems,
            sweep_of("attention", random).drawn.problems);
  EXPECT_NE(sweep_of("attention", random).drawn.digest(),
            sweep_of("attention", random, 8).drawn.digest());
}

}  // namespace
}  // namespace gla_bench
