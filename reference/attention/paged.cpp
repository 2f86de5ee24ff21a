#include "reference/attention/paged.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "reference/attention/ragged.hpp"
#include "reference/inputs.hpp"

namespace gla_bench::attention {
namespace {

constexpr std::int64_t most_exact = 1 << 24;  // float32 holds all whole numbers up to it

std::int64_t pages_for(std::int64_t keys, std::int64_t page) {
  return (keys + page - 1) / page;
}

}  // namespace

OptionAxis page_axis() {
  return {"page_size",
          {"0", "16", "32", "64", "128", "256"},
          "tokens of a page of keys and values, found through block_table; 0: not paged"};
}

std::int64_t page_size(const Problem& problem) {
  const std::string text = option(problem, "page_size");
  return text.empty() ? 0 : std::stoll(text);
}

std::int64_t pages_of_sequence(const Problem& problem) {
  return pages_for(problem.shape.keys_seq(), page_size(problem));
}

std::int64_t pool_pages(const Problem& problem) {
  const std::int64_t needed = problem.shape.batch * pages_of_sequence(problem);
  return needed + needed / 4 + 1;
}

std::int64_t keys_in_all(const Problem& problem) {
  const Shape& s = problem.shape;
  if (page_size(problem) == 0) return s.batch * s.keys_seq();
  std::int64_t sum = 0;
  for (const Lengths& one : lengths(problem)) sum += one.keys * one.times;
  return sum;
}

double table_bytes(const Problem& problem) {
  const std::int64_t page = page_size(problem);
  if (page == 0) return 0;
  std::int64_t numbers = problem.shape.batch;
  for (const Lengths& one : lengths(problem)) numbers += pages_for(one.keys, page) * one.times;
  return 4 * static_cast<double>(numbers);
}

std::optional<std::string> refuse_paged(const Problem& problem) {
  if (page_size(problem) == 0) return std::nullopt;
  if (problem.direction != Direction::forward)
    return "page_size: pages are how serving holds its keys; they go with forward alone";
  if (problem.shape.sequences > 0)
    return "page_size: sequences of paged keys have cache_seqlens, not cu_seqlens (`sequences`)";
  if (flag(problem, "packed"))
    return "page_size: packed rows hold q beside k and v, and pages hold keys and values alone";
  if (problem.gate == "file")
    return "page_size: paged inputs are drawn; how large a file's pool is, no extent says";
  if (problem.shape.keys_seq() >= most_exact || pool_pages(problem) >= most_exact)
    return "page_size: a sequence has less than 2^24 keys, and the pool less than 2^24 pages";
  return std::nullopt;
}

std::vector<float> draw_key_counts(const Problem& problem) {
  const auto most = static_cast<double>(problem.shape.keys_seq());
  const Stream words = stream(problem.seed, "cache_seqlens");
  const bool skewed = option(problem, "lengths") == "skewed";
  std::vector<float> counts(static_cast<std::size_t>(problem.shape.batch));
  for (std::size_t b = 0; b < counts.size(); ++b) {
    const double u = random_uniform(words, b + 1);
    counts[b] = static_cast<float>(std::floor((skewed ? u * u * u * u : u) * (most + 1)));
  }
  counts[random_word(words, 0) % counts.size()] = static_cast<float>(most);
  return counts;
}

std::vector<float> draw_block_table(const Problem& problem) {
  const std::int64_t page = page_size(problem), row = pages_of_sequence(problem);
  const Stream words = stream(problem.seed, "block_table");
  std::vector<std::int64_t> order(static_cast<std::size_t>(pool_pages(problem)));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    const auto of = [&](std::int64_t i) {
      return random_word(words, static_cast<std::uint64_t>(i));
    };
    return std::pair(of(a), a) < std::pair(of(b), b);
  });
  const auto free_page = static_cast<float>(order.back());
  std::vector<float> table;
  const std::vector<float> counts = draw_key_counts(problem);
  for (std::size_t b = 0; b < counts.size(); ++b) {
    const std::int64_t used = pages_for(static_cast<std::int64_t>(counts[b]), page);
    for (std::int64_t i = 0; i < row; ++i)
      table.push_back(i < used ? static_cast<float>(order[b * row + i]) : free_page);
  }
  return table;
}

void spoil_free_rows(const Problem& problem, HostTensors& inputs) {
  const std::int64_t page = page_size(problem), row = pages_of_sequence(problem);
  const std::int64_t rows = pool_pages(problem) * page;
  const std::vector<float>&table = inputs.at("block_table"), &counts = inputs.at("cache_seqlens");
  std::vector<bool> used(static_cast<std::size_t>(rows));
  for (std::size_t b = 0; b < counts.size(); ++b)
    for (std::int64_t t = 0; t < static_cast<std::int64_t>(counts[b]); ++t)
      used[static_cast<std::int64_t>(table[b * row + t / page]) * page + t % page] = true;
  for (const char* name : {"k", "v", "log_decay"}) {
    const auto found = inputs.find(name);
    const bool constant = option(problem, "decay") == "constant";
    if (found == inputs.end() || (constant && found->first == "log_decay")) continue;
    std::vector<float>& values = found->second;
    const std::int64_t width = static_cast<std::int64_t>(values.size()) / rows;
    for (std::int64_t r = 0; r < rows; ++r)
      if (!used[r])
        std::fill_n(values.begin() + r * width, width, std::numeric_limits<float>::quiet_NaN());
  }
}

SideBySide::SideBySide(const View& paged) : view(paged) {
  const auto copy = [&](const float* pool, std::int64_t rows, std::int64_t width,
                        std::vector<float>& to) {
    to.reserve(static_cast<std::size_t>(paged.key_seq * rows * width));
    for (std::int64_t t = 0; t < paged.key_seq; ++t) {
      const float* from = pool + paged.place(0, t) * rows * width;
      to.insert(to.end(), from, from + rows * width);
    }
    return to.data();
  };
  view.k = copy(paged.k, paged.key_heads, paged.keys, k);
  view.v = copy(paged.v, paged.key_heads, paged.values, v);
  if (paged.has_decays && !paged.constant_decay)
    view.log_decay = copy(paged.log_decay, paged.heads, 1, log_decay);
  view.block_table = nullptr;
}

}  // namespace gla_bench::attention
