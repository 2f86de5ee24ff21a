#include "harness/engine/wrong/where_wrong.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "harness/backends/poison.hpp"
#include "harness/verify/chunks.hpp"

namespace gla_bench {
namespace {

bool beyond(double error, double bound) {
  return !(error <= bound);
}

/// A chunk by its place in ChunkErrors: [outer, groups of heads, pieces of the tokens].
struct ChunkPlace {
  std::int64_t outer = 0, group = 0, piece = 0;
};

/// The wrong chunk with the earliest tokens, and how many are wrong.
std::int64_t find_first(const ChunkErrors& errors, double bound, ChunkPlace& first) {
  const std::int64_t groups = errors.extents[1], pieces = errors.extents[2];
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < errors.rel_l2.size(); ++i) {
    if (!beyond(errors.rel_l2[i], bound)) continue;
    const auto at = static_cast<std::int64_t>(i);
    const ChunkPlace place{at / pieces / groups, at / pieces % groups, at % pieces};
    if (wrong++ == 0 || place.piece < first.piece) first = place;
  }
  return wrong;
}

double difference(std::span<const float> got, std::span<const double> expected, std::int64_t at) {
  const auto i = static_cast<std::size_t>(at);
  const double distance = std::abs(static_cast<double>(got[i]) - expected[i]);
  const bool same =
      static_cast<double>(got[i]) == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]));
  if (same) return 0;
  return std::isfinite(distance) ? distance : HUGE_VAL;
}

/// The largest difference in the first row of a chunk that is itself beyond the bound, or, where
/// the chunk is only so as a whole, in the row with the largest difference of all; -1: none
/// differs. A row is one token's; it counts as the chunk's mean row where it is smaller.
std::int64_t element_of(const Chunks& chunks, std::int64_t index, double bound,
                        std::span<const float> got, std::span<const double> expected) {
  double chunk_squares = 0, rows = 0;
  for_rows(chunks, index, [&](std::int64_t start) {
    ++rows;
    for (std::int64_t i = start; i < start + chunks.row; ++i)
      if (std::isfinite(expected[static_cast<std::size_t>(i)]))
        chunk_squares +=
            expected[static_cast<std::size_t>(i)] * expected[static_cast<std::size_t>(i)];
  });
  const double mean_squares = chunk_squares / std::max(rows, 1.0);
  double most = 0;
  std::int64_t largest = -1, of_first_row = -1;
  for_rows(chunks, index, [&](std::int64_t start) {
    double squares = 0, errors = 0, most_of_row = 0;
    std::int64_t at = -1;
    for (std::int64_t i = start; i < start + chunks.row; ++i) {
      const double error = difference(got, expected, i);
      const double value = expected[static_cast<std::size_t>(i)];
      if (std::isfinite(value)) squares += value * value;
      errors += error * error;
      if (error > most_of_row) {
        most_of_row = error;
        at = i;
      }
    }
    if (most_of_row > most) {
      most = most_of_row;
      largest = at;
    }
    if (of_first_row < 0 &&
        beyond(std::sqrt(errors), bound * std::sqrt(std::max(squares, mean_squares))))
      of_first_row = at;
  });
  return of_first_row >= 0 ? of_first_row : largest;
}

std::string place_text(const TensorSpec& spec, const Chunks& chunks, const ChunkPlace& place) {
  std::string text;
  if (spec.tokens)
    text = "tokens " + std::to_string(place.piece * chunks.length) + " to " +
           std::to_string(chunks.end(place.piece) - 1) + " of ";
  text += "batch " + std::to_string(place.outer);
  if (spec.extents.size() < 3 || (spec.tokens && spec.extents.size() == 3)) return text;
  return text + (chunks.heads > 1 ? ", all heads" : ", head " + std::to_string(place.group));
}

}  // namespace

std::string index_text(const TensorSpec& spec, std::int64_t at) {
  std::string text;
  for (std::size_t axis = spec.extents.size(); axis-- > 0;) {
    text = std::to_string(at % spec.extents[axis]) + (text.empty() ? "" : ",") + text;
    at /= spec.extents[axis];
  }
  return "[" + text + "]";
}

std::string where_wrong(const TensorSpec& spec, double bound, std::span<const float> got,
                        std::span<const double> expected) {
  const ChunkErrors errors = chunk_errors(spec, got, expected);
  if (errors.rel_l2.empty()) return "";
  ChunkPlace first;
  const std::int64_t wrong = find_first(errors, bound, first);
  if (wrong == 0) return "";
  const Chunks chunks = chunks_of(spec);
  const std::int64_t index =
      (first.outer * errors.extents[1] + first.group) * errors.extents[2] + first.piece;
  std::ostringstream text;
  text << "'" << spec.name << "' is wrong in " << wrong << " of " << errors.rel_l2.size()
       << (errors.rel_l2.size() == 1 ? " chunk" : " chunks");
  if (errors.rel_l2.size() > 1 || spec.tokens)
    text << ", first in " << place_text(spec, chunks, first);
  const std::int64_t at = element_of(chunks, index, bound, got, expected);
  if (at < 0) return text.str();
  const float value = got[static_cast<std::size_t>(at)];
  text << ": " << index_text(spec, at) << " is ";
  if (is_poison(value))
    text << "unwritten";
  else
    text << value;
  text << ", expected " << static_cast<float>(expected[static_cast<std::size_t>(at)]);
  return text.str();
}

std::string where_wrong(const Verification& verification, const ProblemTruth& truth,
                        const HostTensors& outputs) {
  std::string all;
  for (const TensorSpec& spec : truth.op().tensors(truth.problem())) {
    const auto got = outputs.find(spec.name);
    const auto verdict = verification.tensors.find(spec.name);
    if (spec.role != TensorSpec::Role::output || got == outputs.end() ||
        verdict == verification.tensors.end() ||
        static_cast<std::int64_t>(got->second.size()) != spec.elements())
      continue;
    const std::string one = where_wrong(spec, verdict->second.worst_chunk_bound, got->second,
                                        truth.expected().at(spec.name));
    if (!one.empty()) all += (all.empty() ? "" : "; ") + one;
  }
  return all;
}

}  // namespace gla_bench
