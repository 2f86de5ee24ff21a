#include "kernels/linear_recurrence/refusal.hpp"

#include <algorithm>

#include "core/operator.hpp"
#include "kernels/linear_recurrence/decode/layout.h"
#include "kernels/linear_recurrence/family.hpp"

namespace gla_bench::linear_recurrence {

std::optional<std::string> refuse_sizes(const Problem& problem) {
  const Shape& s = problem.shape;
  if (s.batch < 1 || s.seq < 1 || s.heads < 1) return "batch, seq and heads must be at least 1";
  if (s.key_dim < 1 || s.key_dim > 512)
    return "key_dim " + std::to_string(s.key_dim) + " is not in 1..512";
  if (s.value_dim < 1 || s.value_dim > 512)
    return "value_dim " + std::to_string(s.value_dim) + " is not in 1..512";
  return std::nullopt;
}

std::optional<std::string> refuse_bfloat16_state(const Problem& problem) {
  if (option(problem, "state_dtype") != "bfloat16") return std::nullopt;
  return "keeps its states in float32";
}

std::optional<std::string> refuse_ragged(const Problem& problem) {
  if (!ragged(problem)) return std::nullopt;
  return "has no cu_seqlens: all sequences have one length";
}

std::optional<std::string> refuse_in_place(const Problem& problem) {
  if (!flag(problem, "in_place")) return std::nullopt;
  return "reads the initial state after the final one is written: not in place";
}

std::optional<std::string> refuse_long_sequences(const Problem& problem) {
  const Shape& s = problem.shape;
  if (s.seq <= decode_tokens * std::max<std::int64_t>(s.sequences, 1)) return std::nullopt;
  const std::string most =
      "decodes at most " + std::to_string(decode_tokens) + " tokens a sequence";
  if (ragged(problem)) return most + ", these have more on average";
  return most + ", these have " + std::to_string(s.seq);
}

std::optional<std::string> refuse_states(const Problem& problem) {
  if (states_every(problem) == 0) return std::nullopt;
  return "forms no states between the first token and the last: states_every=0 only";
}

std::optional<std::string> refuse_states_apart(const Problem& problem, int apart,
                                               std::string_view axis) {
  const std::int64_t every = states_every(problem);
  if (every % apart == 0) return std::nullopt;
  return "states_every=" + std::to_string(every) + " is not a multiple of " + std::string(axis) +
         "=" + std::to_string(apart);
}

int operand_bytes(const Problem& problem) {
  return problem.dtype == DType::bfloat16 && problem.shape.key_dim >= 16 ? 2 : 4;
}

}  // namespace gla_bench::linear_recurrence
