#include "harness/config/draws/well_posed.hpp"

#include <algorithm>
#include <cmath>

#include "harness/config/draws/problem_space.hpp"

namespace gla_bench {
namespace {

/// Tokens over which the gradient of a constant decay of the regime rwkv is drawn. Its decays are
/// up to 0.999, and their rounding to float32 (3e-8) is alike in every token. That gradient weighs
/// pairs of tokens by their distance: over 1,000 tokens all four forms on the host came to 1.75e-5,
/// and the plain computation with them, where float32 may have 1e-5.
constexpr std::int64_t most_tokens_of_constants = 256;
/// Tokens of a sequence where outputs are quotients. If it starts with nothing its first output is
/// v itself, and gradients of q and k there are differences of equal numbers.
constexpr std::int64_t least_tokens_of_quotients = 8;
/// The same of ragged sequences on average, which start with a normalizer. Of a sequence of one
/// token its gradient is q times a single do.o: one came to 1.76e-5, the plain one's to 1e-6.
constexpr std::int64_t least_tokens_of_normalizers = 48;
/// The most tokens of quotients in float32 that start with nothing. Gradients of the first query of
/// a sequence are differences of equal numbers, and the more tokens there are the smaller are those
/// of all others beside these numbers. What the plain computation in tf32 leaves of the difference
/// comes to 85 % of the bound of a single element with 64 tokens (the median of 24 seeds), to twice
/// the bound with 784. Candidates had a third of that.
constexpr std::int64_t most_tokens_of_tf32_quotients = 128;
/// Channels of keys of quotients in float32 behind the gradient of a final state in bfloat16. What
/// each token adds to that gradient is less than half a unit of tf32's last place, and is lost in
/// all keys alike. The plain computation comes to 0.6 of tf32's cap with 128 channels, and to 1.2
/// times the cap with 511.
constexpr std::int64_t most_keys_of_tf32_quotients = 128;
/// Values, over all heads and batches, where outputs are quotients that start with a normalizer.
/// Its gradient is a sum of q do.o / n, and do.o of three values may be near zero by chance: chunk
/// forms then had ten times the error of the plain computation, which adds up in another order.
constexpr std::int64_t least_values_of_normalizers = 8;
/// Channels of keys where outputs are quotients. With a single one the query is a factor of both
/// parts of the quotient: the output does not depend on it, and its gradient is rounding alone.
constexpr std::int64_t least_key_dim_of_quotients = 2;
/// Channels of shifted keys in bfloat16. The first one is 4 in all keys, which cancels in gradients
/// of queries but for the rounding of the outputs that they are made of, and the fewer others there
/// are the more of the gradient it is: with 3 channels any arithmetic came to 165 % of the bound on
/// an H200, with 8 to 113 %, with 16 to 92 %.
constexpr std::int64_t least_shifted_channels = 16;
/// Tokens of gradients behind a constant decay of -inf, which are zero. Up to so many are judged
/// beside those of other heads. Of more each head is judged by itself, and what rounding leaves of
/// a difference of equal numbers came to 162 % of the bound on an H200.
constexpr std::int64_t most_reset_tokens = 15;
/// Columns of rows of a softmax, of gradients of less than 16 rows and of shifted ones.
constexpr std::int64_t least_columns_of_gradients = 7;
/// Standard deviation of logits where outputs are float32. The largest of many are four times as
/// large, and in any arithmetic rounding one of those moves its weight by a fifth of what float32's
/// bound allows. It is also how far the largest of a few queries may be ahead in a backward.
constexpr double most_float32_logits = 9;
/// The same of a forward. Two roundings to tf32 of products that large err by 2^-11 of them: with
/// 6, three quarters of tf32's cap are used up by any kernel, with 8.5 the whole.
constexpr double most_forward_logits = 6;
/// The same of gradients of few queries, and of gradients in regimes whose resets and strong gates
/// leave each query few keys.
constexpr double few_queries_logits = 2, few_keys_logits = 4.5;
/// The same of gradients of constant decays, each of which is one sum over all scores of a head.
constexpr double constant_decay_logits = 6;
/// Below 6e-5 numbers of float16 are 2^-24 apart. Rounding to those has a root mean square of
/// 1.7e-8, and has to leave outputs the relative error that any arithmetic may have, 2e-3.
constexpr double least_float16_output = 9.5e-6;
/// Tokens over which the gradient of decays, a running sum, strays far enough from zero for its
/// first and last tokens to differ in size, where nothing decays.
constexpr std::int64_t most_running_sum = 128;

bool has_constant_decay(const Problem& problem) {
  const auto decay = problem.options.find("decay");
  return decay != problem.options.end() && decay->second == "constant";
}

/// Whether the gradients of decays of each token can be right. They are running sums of what sums
/// to zero over the keys of a query. Where nothing decays they wander through zero, with an error
/// of their size elsewhere, and so do those of few queries.
bool decays_have_gradients(const Problem& problem, bool few_seeing) {
  const Shape& s = problem.shape;
  return !few_seeing &&
         (problem.gate != "none" || std::max(s.seq, s.keys_seq()) < most_running_sum);
}

/// Whether the gradients of quotients are within what tf32 resolves.
bool tf32_resolves_quotients(const Problem& problem) {
  const Shape& s = problem.shape;
  if (!problem.initial_state && s.seq > most_tokens_of_tf32_quotients) return false;
  return !problem.final_state || option(problem, "state_dtype") != "bfloat16" ||
         s.key_dim <= most_keys_of_tf32_quotients;
}

/// Whether sequences have enough tokens and not too many, and tokens enough values, for the
/// gradients of quotients.
bool quotients_have_gradients(const Problem& problem) {
  const Shape& s = problem.shape;
  if (problem.dtype == DType::float32 && !tf32_resolves_quotients(problem)) return false;
  // The gradient of an initial normalizer is one sum of q do.o / n over the tokens, which all keys
  // share and which may be near zero by chance. That of a final one keeps it from zero. Without it
  // the plain computation in tf32 came to four times its cap.
  if (problem.initial_state && !problem.final_state) return false;
  if (problem.initial_state && s.batch * s.heads * s.value_dim < least_values_of_normalizers)
    return false;
  if (s.sequences == 0) return s.seq >= least_tokens_of_quotients;
  return s.seq >= s.sequences * (problem.initial_state ? least_tokens_of_normalizers
                                                       : least_tokens_of_quotients);
}

/// The root mean square of exp(scale x) over its sum, with x of a standard deviation of 1; of
/// gradients about as much times the scale.
double typical_softmax(double scale, const Problem& problem) {
  const double outputs = std::exp(scale * scale / 2) / static_cast<double>(problem.shape.columns);
  return has_gradients(problem.direction) ? outputs * std::abs(scale) : outputs;
}

/// Whether rows have gradients beside what rounding leaves of differences of equal numbers. Of two
/// elements they are, up to a factor, the difference of two numbers, which may be near zero by
/// chance; and shifted rows, whose logits have a standard deviation of 8, may have all their weight
/// on one element. Among several rows some are not so.
bool rows_have_gradients(const Problem& problem) {
  const bool few = problem.shape.batch < least_rows;
  const bool short_rows = problem.shape.columns < least_columns_of_gradients;
  return problem.gate == "shifted" ? !few && !short_rows : !few || !short_rows;
}

}  // namespace

bool has_gradients_of_constants(const Operator& op, const Problem& problem) {
  const std::vector<TensorSpec> tensors = op.tensors(problem);
  return std::any_of(tensors.begin(), tensors.end(), [&](const TensorSpec& spec) {
    return spec.role == TensorSpec::Role::output && !spec.tokens && spec.extents.size() == 1 &&
           spec.extents[0] == problem.shape.heads;
  });
}

bool dims_have_gradients(const Problem& problem) {
  const bool asked = has_gradients(problem.direction) && flag(problem, "normalize");
  return !asked || problem.shape.key_dim >= least_key_dim_of_quotients;
}

bool ProblemSpace::is_well_posed(const Problem& problem) const {
  if (has("columns") && problem.dtype == DType::float16 &&
      typical_softmax(scale_of(op_, problem), problem) < least_float16_output)
    return false;
  const bool backward = has_gradients(problem.direction);
  if (backward && has("columns") && !rows_have_gradients(problem)) return false;
  if (!dims_have_gradients(problem)) return false;
  if (backward && flag(problem, "normalize") && !quotients_have_gradients(problem)) return false;
  if (backward && has("model_dim") && problem.shape.seq < least_tokens_of_layer_gradients)
    return false;
  if (has("key_seq")) return has_bits_for_attention(problem);
  return !backward || problem.gate != "rwkv" || problem.shape.seq <= most_tokens_of_constants ||
         !has_gradients_of_constants(op_, problem);
}

/// Whether float32 can have the bits that the bounds of its outputs ask for. Gradients of a query
/// whose weight lies on one key are differences of nearly equal numbers. Only among gradients of
/// other queries are these small.
bool ProblemSpace::has_bits_for_attention(const Problem& problem) const {
  const Shape& s = problem.shape;
  const std::string& regime = problem.gate;
  // Among few keys one may have all the weight, whatever the rounding of the outputs. Causal
  // queries that outnumber the keys see none, but for as many as there are keys.
  const auto causal = problem.options.find("causal");
  const bool sees_all = causal != problem.options.end() && causal->second == "false";
  const std::int64_t seeing = sees_all ? s.seq : std::min(s.seq, s.keys_seq());
  const bool backward = has_gradients(problem.direction);
  const bool few_seeing = backward && seeing < least_rows, few_keys_seen = s.keys_seq() < few_keys;
  bool to_float32 = false;
  if (backward && regime == "resets" && has_constant_decay(problem) &&
      std::max(s.seq, s.keys_seq()) > most_reset_tokens)
    return false;
  if (backward && regime == "shifted" && problem.dtype == DType::bfloat16 &&
      s.key_dim < least_shifted_channels)
    return false;
  for (const TensorSpec& spec : op_.tensors(problem)) {
    if (spec.role == TensorSpec::Role::input || spec.dtype != DType::float32) continue;
    if (spec.name == "dlog_decay" && spec.tokens && !decays_have_gradients(problem, few_seeing))
      return false;
    to_float32 |= spec.name != "lse";
    // Of a single key it is one logit. A peaked one sums large numbers and may be near zero.
    if (spec.name == "lse" && regime == "peaked" && s.keys_seq() < few_keys && s.seq < least_rows)
      return false;
  }
  // As reference/attention/attention.cpp draws them: of a peaked regime one query in sixteen has
  // logits of 32, and among few that one may be all that a head has.
  const double peaks = regime != "peaked" ? 1 : few_seeing ? 32 : 6;
  const double of_default_scale = regime == "shifted" ? 6 : peaks;
  const double of_one =
      std::abs(scale_of(op_, problem)) * std::sqrt(static_cast<double>(s.key_dim));
  const double logits = of_default_scale * of_one;
  // The larger the logits, the more keys it takes for the largest not to have all the weight, and
  // the fewer queries have any gradient. What all logits of a row share does not matter to this.
  const double ahead =
      peaks * of_one /
      std::sqrt(2 * std::log(static_cast<double>(std::max(s.keys_seq(), few_keys))));
  if (few_seeing && ahead > few_queries_logits) return false;
  if (backward && ahead > most_float32_logits &&
      static_cast<double>(seeing) * most_float32_logits / ahead < static_cast<double>(least_rows))
    return false;
  if (!to_float32 && !(few_seeing && few_keys_seen)) return true;
  // A query that sees two keys has a gradient near zero by chance, which float32 shows.
  if (to_float32 && few_seeing && few_keys_seen) return false;
  // Where keys are fewer than queries, the first queries see none.
  const bool few = s.seq < least_rows || s.keys_seq() < s.seq;
  const bool weights_one_key = regime == "strong" || regime == "spikes" || regime == "resets";
  if (!backward) return logits <= most_forward_logits;
  if (regime == "peaked") return false;
  if (few) return logits <= few_queries_logits && !weights_one_key && regime != "typical";
  return logits <= (weights_one_key               ? few_keys_logits
                    : has_constant_decay(problem) ? constant_decay_logits
                                                  : most_float32_logits);
}

}  // namespace gla_bench
