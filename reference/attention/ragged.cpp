#include "reference/attention/ragged.hpp"

#include <algorithm>
#include <limits>

#include "reference/attention/paged.hpp"
#include "reference/inputs.hpp"

namespace gla_bench::attention {
namespace {

constexpr std::int64_t most_tokens = 1 << 24;  // float32 holds all whole numbers up to it
constexpr std::int64_t least_sequences_to_spoil = 3;

struct Spoiled {
  std::size_t keys, queries;  ///< the sequence without queries, and the one without keys
};

Spoiled spoiled(const Problem& problem) {
  const auto count = static_cast<std::uint64_t>(problem.shape.sequences);
  const Stream words = stream(problem.seed, "nan_sequence");
  const std::uint64_t first = random_word(words, 0) % count;
  const std::uint64_t second = (first + 1 + random_word(words, 1) % (count - 1)) % count;
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(second)};
}

// Leaves a sequence no tokens. Another one, which is not to be spoiled either, gets them.
void empty_sequence(std::vector<float>& ends, std::size_t empty, const Spoiled& both) {
  const std::size_t count = ends.size() - 1;
  std::size_t heir = (empty + 1) % count;
  while (heir == both.keys || heir == both.queries) heir = (heir + 1) % count;
  const float tokens = ends[empty + 1] - ends[empty];
  for (std::size_t n = empty + 1; n <= heir; ++n) ends[n] -= tokens;
  for (std::size_t n = heir + 1; n <= empty; ++n) ends[n] += tokens;
}

}  // namespace

void add_options(Operator& op) {
  op.options.push_back({"lengths",
                        {"uniform", "skewed"},
                        "how the lengths of ragged sequences, or of paged keys, are drawn",
                        false});
  op.options.push_back(page_axis());
  op.options.push_back({"nan_sequence",
                        {"false", "true"},
                        "a ragged sequence without queries and one without keys are NaN, which no "
                        "other sequence may see",
                        false});
}

std::optional<std::string> refuse_ragged(const Problem& problem) {
  const Shape& s = problem.shape;
  if (s.sequences > 0 && s.batch != 1)
    return "ragged sequences lie one behind the other: batch must be 1";
  if (s.sequences > 0 && std::max(s.seq, s.keys_seq()) >= most_tokens)
    return "ragged sequences have less than 2^24 tokens in all";
  if (s.sequences == 0 && page_size(problem) == 0 && option(problem, "lengths") != "uniform")
    return "lengths are of ragged sequences or paged keys, and neither `sequences` nor page_size "
           "is given";
  if (!flag(problem, "nan_sequence")) return std::nullopt;
  if (s.sequences < least_sequences_to_spoil)
    return "nan_sequence needs at least three ragged sequences";
  if (s.key_seq == 0)
    return "nan_sequence is of a sequence without queries: keys need sequences of their own "
           "(key_seq)";
  return std::nullopt;
}

std::vector<float> draw_ends(const Problem& problem, bool of_keys) {
  const Shape& s = problem.shape;
  const bool own = of_keys && s.key_seq > 0;
  std::vector<float> ends =
      draw_boundaries(option(problem, "lengths"), problem.seed, own ? "cu_seqlens_k" : "cu_seqlens",
                      own ? s.key_seq : s.seq, s.sequences);
  if (flag(problem, "nan_sequence")) {
    const Spoiled both = spoiled(problem);
    empty_sequence(ends, of_keys ? both.queries : both.keys, both);
  }
  return ends;
}

std::vector<Lengths> lengths(const Problem& problem) {
  const Shape& s = problem.shape;
  const std::int64_t count = s.sequences;
  if (page_size(problem) > 0) {
    std::vector<Lengths> list;
    for (const float keys : draw_key_counts(problem))
      list.push_back({s.seq, static_cast<std::int64_t>(keys)});
    return list;
  }
  if (count == 0) return {{s.seq, s.keys_seq(), s.batch}};
  std::vector<Lengths> list;
  if (problem.gate == "file") {
    const auto part = [&](std::int64_t tokens, std::int64_t n) {
      return tokens * (n + 1) / count - tokens * n / count;
    };
    for (std::int64_t n = 0; n < count; ++n)
      list.push_back({part(s.seq, n), part(s.keys_seq(), n)});
    return list;
  }
  const std::vector<float> queries = draw_ends(problem, false), keys = draw_ends(problem, true);
  for (std::size_t n = 0; n + 1 < queries.size(); ++n)
    list.push_back({static_cast<std::int64_t>(queries[n + 1] - queries[n]),
                    static_cast<std::int64_t>(keys[n + 1] - keys[n])});
  return list;
}

void spoil_sequences(const Problem& problem, const std::vector<TensorSpec>& tensors,
                     HostTensors& inputs) {
  const Spoiled both = spoiled(problem);
  for (const TensorSpec& spec : tensors) {
    const auto found = inputs.find(spec.name);
    if (!spec.tokens || found == inputs.end()) continue;
    const bool of_queries = spec.name == "q" || spec.name == "do";
    const std::vector<float>& ends = inputs.at(of_queries ? "cu_seqlens" : "cu_seqlens_k");
    const std::size_t n = of_queries ? both.queries : both.keys;
    const auto row = spec.elements() / static_cast<std::int64_t>(ends.back());
    std::vector<float>& values = found->second;
    std::fill(values.begin() + static_cast<std::int64_t>(ends[n]) * row,
              values.begin() + static_cast<std::int64_t>(ends[n + 1]) * row,
              std::numeric_limits<float>::quiet_NaN());
  }
}

}  // namespace gla_bench::attention
