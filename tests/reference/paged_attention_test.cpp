// Paged keys of attention: each sequence is attention to the keys that its row of the block table
// names, and nothing else of the pool shows.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "core/operator.hpp"
#include "reference/attention/paged.hpp"
#include "reference/attention/ragged.hpp"
#include "tests/support/distance.hpp"

namespace gla_bench {
namespace {

constexpr std::int64_t page = 16;

Problem paged_attention(const std::string& op) {
  Problem problem;
  problem.op = op;
  problem.shape = {7, 3, 4, 6, 5, 90, 2};
  problem.gate = find_operator(op)->gates.front();
  problem.seed = 5;
  problem.options = {{"lse", "true"}, {"page_size", std::to_string(page)}};
  return problem;
}

std::vector<Problem> paged_attentions() {
  std::vector<Problem> list;
  for (const char* op : {"attention", "decay_attention"})
    for (const char* lengths : {"uniform", "skewed"}) {
      list.push_back(paged_attention(op));
      list.back().options["lengths"] = lengths;
      list.push_back(list.back());
      list.back().options[op == std::string("attention") ? "causal" : "decay"] =
          op == std::string("attention") ? "false" : "constant";
    }
  return list;
}

// The rows of a pool that a sequence's keys have, in their order.
std::vector<float> keys_of(const HostTensors& inputs, const std::string& name, std::size_t b,
                           std::int64_t rows_of_pool) {
  const std::vector<float>& pool = inputs.at(name);
  const std::vector<float>&table = inputs.at("block_table"), &counts = inputs.at("cache_seqlens");
  const std::size_t row = table.size() / counts.size();
  const std::int64_t width = static_cast<std::int64_t>(pool.size()) / rows_of_pool;
  std::vector<float> keys;
  for (std::int64_t t = 0; t < static_cast<std::int64_t>(counts[b]); ++t) {
    const auto at = static_cast<std::int64_t>(table[b * row + t / page]) * page + t % page;
    keys.insert(keys.end(), pool.begin() + at * width, pool.begin() + (at + 1) * width);
  }
  return keys;
}

TEST(PagedAttention, IsEachSequenceByItself) {
  for (const Problem& problem : paged_attentions()) {
    const Operator& op = *find_operator(problem.op);
    ASSERT_EQ(op.refuse(problem), std::nullopt);
    const HostTensors inputs = op.draw(problem);
    const ReferenceTensors whole = op.reference(problem, inputs);
    const std::int64_t rows = attention::pool_pages(problem) * page;
    for (std::size_t b = 0; b < inputs.at("cache_seqlens").size(); ++b) {
      Problem one = problem;
      one.options.erase("page_size");
      one.options.erase("lengths");
      one.shape.batch = 1;
      one.shape.key_seq = static_cast<std::int64_t>(inputs.at("cache_seqlens")[b]);
      if (one.shape.key_seq == 0) continue;
      HostTensors its;
      for (const TensorSpec& spec : op.tensors(problem)) {
        if (spec.role != TensorSpec::Role::input || spec.dtype == DType::int32) continue;
        const std::vector<float>& values = inputs.at(spec.name);
        const auto part = static_cast<std::ptrdiff_t>(values.size() / problem.shape.batch);
        const auto first = values.begin() + static_cast<std::ptrdiff_t>(b) * part;
        if (spec.name == "q")
          its["q"].assign(first, first + part);
        else
          its[spec.name] = spec.tokens ? keys_of(inputs, spec.name, b, rows) : values;
      }
      for (const auto& [name, expected] : op.reference(one, its)) {
        const auto first =
            whole.at(name).begin() + static_cast<std::ptrdiff_t>(b * expected.size());
        EXPECT_EQ(std::vector<double>(first, first + static_cast<std::ptrdiff_t>(expected.size())),
                  expected)
            << name << " of sequence " << b << " of " << describe(problem);
      }
    }
  }
}

TEST(PagedAttention, OfNoKeysIsNothingAndTheSecondFormAgrees) {
  bool empty = false;
  for (const Problem& problem : paged_attentions()) {
    const Operator& op = *find_operator(problem.op);
    const HostTensors inputs = op.draw(problem);
    const ReferenceTensors first = op.reference(problem, inputs);
    const ReferenceTensors second = op.second_form(problem, inputs);
    for (const auto& [name, values] : first) {
      EXPECT_LE(distance(values, second.at(name)), 1e-9) << name << " of " << describe(problem);
      EXPECT_FALSE(has_nan(values)) << name << " of " << describe(problem);
    }
    const auto rows = static_cast<std::size_t>(problem.shape.seq * problem.shape.heads);
    const std::vector<float>& counts = inputs.at("cache_seqlens");
    for (std::size_t b = 0; b < counts.size(); ++b) {
      if (counts[b] > 0) continue;
      empty = true;
      for (std::size_t i = b * rows; i < (b + 1) * rows; ++i)
        EXPECT_EQ(first.at("lse")[i], -INFINITY);
    }
  }
  EXPECT_TRUE(empty);
}

TEST(PagedAttention, DrawsPagesOfALargerPoolAndSpoilsTheRest) {
  for (const Problem& problem : paged_attentions()) {
    const HostTensors inputs = find_operator(problem.op)->draw(problem);
    const std::vector<float>&table = inputs.at("block_table"), &counts = inputs.at("cache_seqlens");
    const auto pages = static_cast<float>(attention::pool_pages(problem));
    const std::size_t row = table.size() / counts.size();
    EXPECT_EQ(row, 6u);  // of 90 keys
    EXPECT_EQ(*std::max_element(counts.begin(), counts.end()), 90.0F);
    std::set<float> used, others;
    for (std::size_t b = 0; b < counts.size(); ++b)
      for (std::size_t i = 0; i < row; ++i) {
        EXPECT_TRUE(table[b * row + i] >= 0 && table[b * row + i] < pages);
        const bool has_keys = static_cast<float>(i * page) < counts[b];
        const bool first = (has_keys ? used : others).insert(table[b * row + i]).second;
        EXPECT_TRUE(first || !has_keys) << "a page of keys belongs to one sequence";
      }
    EXPECT_LT(static_cast<float>(used.size()), pages);
    for (const float other : others) EXPECT_FALSE(used.contains(other));
    EXPECT_FALSE(std::is_sorted(table.begin(), table.end()));
    // As many rows of numbers as there are keys: all others are NaN.
    const double keys = std::accumulate(counts.begin(), counts.end(), 0.0);
    const auto numbers = std::count_if(inputs.at("v").begin(), inputs.at("v").end(),
                                       [](float x) { return !std::isnan(x); });
    EXPECT_EQ(static_cast<double>(numbers), keys * 2 * 5);
  }
}

TEST(PagedAttention, CountsTheBytesOfKeysThatThereAre) {
  const Problem problem = paged_attention("attention");
  const Operator& op = *find_operator("attention");
  double keys = 0, pages = 0;
  for (const attention::Lengths& one : attention::lengths(problem)) {
    keys += static_cast<double>(one.keys);
    pages += std::ceil(static_cast<double>(one.keys) / page);
  }
  EXPECT_LT(keys, 7 * 90);
  // q, k and v, o, lse, the table and the numbers of keys, all of 4 bytes.
  const double numbers = 7 * 3 * 4 * (6 + 5 + 1) + keys * 2 * (6 + 5) + pages + 7;
  EXPECT_DOUBLE_EQ(op.work(problem).floor_bytes, 4 * numbers);
}

TEST(PagedAttention, IsRefusedWhereItMeansNothing) {
  const Operator& op = *find_operator("attention");
  const Problem problem = paged_attention("attention");
  const auto reason = [&](auto change) {
    Problem other = problem;
    change(other);
    return op.refuse(other).value_or("nothing");
  };
  EXPECT_TRUE(reason([](Problem& p) {
                p.direction = Direction::backward;
                p.options.erase("lse");
              }).ends_with("they go with forward alone"));
  EXPECT_TRUE(reason([](Problem& p) {
                p.shape.batch = 1;
                p.shape.sequences = 3;
              }).starts_with("page_size: sequences of paged keys have cache_seqlens"));
  EXPECT_TRUE(reason([](Problem& p) {
                p.shape.key_seq = 0;
                p.options["packed"] = "true";
              }).starts_with("page_size: packed rows"));
  EXPECT_TRUE(
      reason([](Problem& p) { p.gate = "file"; }).starts_with("page_size: paged inputs are drawn"));
  EXPECT_TRUE(reason([](Problem& p) {
                p.shape.key_seq = std::int64_t{1} << 24;
              }).starts_with("page_size: a sequence has less than 2^24 keys"));
}

}  // namespace
}  // namespace gla_bench
