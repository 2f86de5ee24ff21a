// The sizes of drawn problems (problem_space.hpp): which there are, and which go together.

#include <algorithm>
#include <cmath>

#include "core/extents.hpp"
#include "harness/config/draws/problem_space.hpp"

namespace gla_bench {
namespace {

constexpr std::int64_t slack = 7;     // tokens above the least that a length may have
constexpr std::int64_t few_keys = 8;  // keys, or queries, where the other side is long

/// Rows of the outputs, and of one sequence's gradients. The mean of signed errors is judged by how
/// far independent errors stray, and the errors of a few rows are not independent. The gradient of
/// a query that attends to a single key is a difference of equal numbers; among others it is small.
constexpr std::int64_t least_rows = 16;
/// The gradient of a constant decay is one sum for each head, in which nearly everything cancels,
/// and that of a bonus one for each head and key. How far rounding takes a single sum is luck, also
/// in the plain computation that gives the bound.
constexpr std::int64_t least_constants = 8;
/// Gradients of decays that are one number for each token and head. Each is a sum over a whole
/// state, of products that may cancel by chance, and strong decays leave few of them any size: with
/// one or two that count it is luck how far rounding takes them, in the plain computation too: it
/// came to nine times float32's bound. Of 300 seeds with 8 numbers two were beyond the bound in the
/// recurrence itself, and one of 300 with 32 in chunk_fused; with 64 none of four forms came to
/// half of it. A sequence's chunks are judged by themselves, over all heads, so that there have to
/// be as many of each sequence.
constexpr std::int64_t least_token_decays = 64;
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
/// Keys of a backward. With a single one all gradients of queries are 0.
constexpr std::int64_t least_keys_of_backward = 2;
/// Tokens of gradients of the layer. Where a token sees little but itself, its output is its value
/// times a number, which the norm removes: gradients of queries are differences of equal numbers.
constexpr std::int64_t least_tokens_of_layer_gradients = 16;
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

/// The numbers of each head in the smallest output that sums over all tokens of a head; 0: none.
std::int64_t sums_of_a_head(const std::vector<TensorSpec>& tensors, const Problem& problem) {
  std::int64_t least = 0;
  for (const TensorSpec& spec : tensors) {
    const bool sums = spec.role == TensorSpec::Role::output && !spec.tokens &&
                      spec.extents.size() <= 2 && spec.extents[0] == problem.shape.heads;
    const std::int64_t numbers = sums ? spec.elements() / problem.shape.heads : 0;
    if (numbers > 0 && (least == 0 || numbers < least)) least = numbers;
  }
  return least;
}

/// Whether an output is one number for each head.
bool has_gradients_of_constants(const Operator& op, const Problem& problem) {
  const std::vector<TensorSpec> tensors = op.tensors(problem);
  return std::any_of(tensors.begin(), tensors.end(), [&](const TensorSpec& spec) {
    return spec.role == TensorSpec::Role::output && !spec.tokens && spec.extents.size() == 1 &&
           spec.extents[0] == problem.shape.heads;
  });
}

/// Whether an output is one number for each token and head, beside states.
bool has_gradients_of_token_decays(const std::vector<TensorSpec>& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const TensorSpec& spec) {
    return spec.role == TensorSpec::Role::output && spec.tokens && spec.extents.size() == 3;
  });
}

/// Tokens whose decay meets a state: all but the first of each sequence that starts with nothing.
std::int64_t decayed_tokens(const Problem& problem) {
  const Shape& s = problem.shape;
  if (problem.initial_state) return s.seq;
  return std::max<std::int64_t>(1, s.seq - std::max<std::int64_t>(1, s.sequences));
}

/// The factor "keys" of attention: how many there are beside the queries.
enum Keys { same, fewer, more, one_query };

bool has_constant_decay(const Problem& problem) {
  const auto decay = problem.options.find("decay");
  return decay != problem.options.end() && decay->second == "constant";
}

/// Outputs of this size are 7 standard deviations from what float16 can hold.
constexpr double most_float16_output = 65504.0 / 7;
/// Below 6e-5 numbers of float16 are 2^-24 apart. Rounding to those has a root mean square of
/// 1.7e-8, and has to leave outputs the relative error that any arithmetic may have, 2e-3.
constexpr double least_float16_output = 9.5e-6;
/// Tokens over which the gradient of decays, a running sum, strays far enough from zero for its
/// first and last tokens to differ in size, where nothing decays.
constexpr std::int64_t most_running_sum = 128;

}  // namespace

void ProblemSpace::add_sizes() {
  const bool rows = has("columns"), of_gradients = has_gradients(sweep_.direction);
  const std::int64_t least = !rows ? 2 : of_gradients ? least_rows : 4, most = rows ? 20 : 4;
  add("batch", {"1", "several"}, [=](Problem& problem, int level, Draws* draws) {
    problem.shape.batch = level == 0 ? 1 : draws != nullptr ? draws->between(least, most) : least;
  });
  if (has("heads")) {
    // set_rows() makes of several as many as gradients of constant decays need.
    const bool one = has("key_heads") || !has_gradients_of_constants(op_, plain_);
    add(has("key_heads") ? "key_heads" : "heads",
        one ? std::vector<std::string>{"1", "several"} : std::vector<std::string>{"several"},
        [one](Problem& problem, int level, Draws* draws) {
          const bool alone = one && level == 0;
          const std::int64_t count = alone ? 1 : draws != nullptr ? draws->between(2, 5) : 2;
          problem.shape.heads *= count;
          problem.shape.key_heads *= count;
        });
  }
  if (has("sequences"))
    add("sequences", {"none", "few", "more than 32"},
        [](Problem& problem, int level, Draws* draws) {
          // Kernels are compiled for ragged sequences or for none.
          if ((level > 0) != (problem.shape.sequences > 0)) problem.shape.sequences = -1;
          if (level == 1 && draws != nullptr && problem.shape.sequences > 0)
            problem.shape.sequences = draws->of(few_sequences);
          if (level == 2 && problem.shape.sequences > 0)
            problem.shape.sequences =
                draws != nullptr ? draws->between(least_of_many_sequences, most_of_many_sequences)
                                 : least_of_many_sequences;
        });
}

void ProblemSpace::add_lengths() {
  if (!has("seq")) return;
  const RandomDraw& random = *sweep_.random;
  const bool of_layer = has("model_dim") && has_gradients(sweep_.direction);
  const std::int64_t least_tokens = of_layer ? least_tokens_of_layer_gradients : 1;
  std::vector<std::string> names;
  for (const LengthClass& one : length_classes) {
    LengthClass limited = one;
    limited.least = std::max({one.least, random.least_tokens, least_tokens});
    limited.most = std::min(one.most, random.most_tokens);
    if (limited.least > limited.most) continue;
    if (one.of == LengthClass::Of::ragged && !has("sequences")) continue;
    const bool of_keys = has("key_seq") && has_gradients(sweep_.direction);
    if (of_keys && limited.most < least_keys_of_backward) continue;
    allowed_lengths_.push_back(limited);
    names.emplace_back(one.name);
  }
  const auto later = [](Problem&, int, Draws*) {};  // set_lengths() looks at both
  lengths_ = static_cast<int>(factors_.size());
  add("tokens", names, later);
  if (!has("key_seq")) return;
  keys_ = static_cast<int>(factors_.size());
  add("keys", {"as many as queries", "fewer", "more", "more, one query"}, later);
}

bool ProblemSpace::set_lengths(Problem& problem, const Levels& levels, Draws* draws) const {
  if (lengths_ < 0) return true;
  const LengthClass& one = item(allowed_lengths_, item(levels, lengths_));
  const bool ragged = problem.shape.sequences > 0;
  if (one.of == (ragged ? LengthClass::Of::one_sequence : LengthClass::Of::ragged)) return false;
  const int keys = keys_ < 0 ? same : item(levels, keys_);
  const std::int64_t length = draws != nullptr ? draw_length(one, one.least, one.most, *draws)
                                               : std::min(one.least + slack, one.most);
  const bool backward = has_gradients(problem.direction);
  // Many keys are what makes a long problem of attention long.
  const std::int64_t least = keys != fewer          ? 1
                             : length >= least_long ? length * 3 / 4
                             : backward             ? least_keys_of_backward
                                                    : 1;
  if (keys != same && length <= least) return false;
  const std::int64_t other = draws != nullptr ? draws->size(least, length - 1)
                                              : std::min(std::max(few_keys, least), length - 1);
  problem.shape.seq = keys == more ? other : keys == one_query ? 1 : length;
  problem.shape.key_seq = keys == same ? 0 : keys == fewer ? other : length;
  return true;
}

/// The heads that gradients need, beside these lengths.
std::int64_t ProblemSpace::least_heads(const Problem& problem) const {
  if (!has_gradients(problem.direction)) return 1;
  const Shape& s = problem.shape;
  const std::vector<TensorSpec> tensors = op_.tensors(problem);
  const std::int64_t sums = sums_of_a_head(tensors, problem);
  const std::int64_t heads_of_sums = sums > 0 ? (least_constants - 1) / sums + 1 : 1;
  if (!has("key_seq")) {
    if (!has_gradients_of_token_decays(tensors)) return heads_of_sums;
    return std::max(heads_of_sums, (least_token_decays - 1) / decayed_tokens(problem) + 1);
  }
  const auto heads_of_rows = [](std::int64_t tokens) { return (least_rows - 1) / tokens + 1; };
  const std::int64_t group = s.heads / s.keys_heads();
  return std::max({heads_of_rows(s.seq), group * heads_of_rows(s.keys_seq()), heads_of_sums});
}

bool ProblemSpace::set_rows(Problem& problem) const {
  if (!has("seq")) return true;
  Shape& s = problem.shape;
  const auto raise_heads = [&](std::int64_t times) {
    if (s.keys_heads() < 2 && times > 1) return false;
    s.heads *= times;
    s.key_heads *= times;
    return true;
  };
  if (!raise_heads((least_heads(problem) - 1) / s.heads + 1)) return false;
  const bool of_heads = !has("model_dim");  // outputs of the layer have none
  const std::int64_t rows = s.batch * s.seq * (of_heads ? s.heads : 1);
  const std::int64_t times = (least_rows - 1) / rows + 1;
  if (times == 1 || s.batch == 1) return times == 1 || (of_heads && raise_heads(times));
  s.batch *= times;
  return true;
}

namespace {

/// Whether the gradients of decays of each token can be right. They are running sums of what sums
/// to zero over the keys of a query. Where nothing decays they wander through zero, with an error
/// of their size elsewhere, and so do those of few queries.
bool decays_have_gradients(const Problem& problem, bool few_seeing) {
  const Shape& s = problem.shape;
  return !few_seeing &&
         (problem.gate != "none" || std::max(s.seq, s.keys_seq()) < most_running_sum);
}

/// Whether keys have enough channels for the gradients of quotients, where the problem asks for
/// such gradients.
bool dims_have_gradients(const Problem& problem) {
  const bool asked = has_gradients(problem.direction) && flag(problem, "normalize");
  return !asked || problem.shape.key_dim >= least_key_dim_of_quotients;
}

/// Whether sequences have enough tokens, and tokens enough values, for the gradients of quotients.
bool quotients_have_gradients(const Problem& problem) {
  const Shape& s = problem.shape;
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

bool ProblemSpace::is_too_much(const Problem& problem) const {
  const bool backward = has_gradients(problem.direction);
  const double most = !backward                                  ? most_drawn_flops
                      : problem.direction == Direction::training ? most_drawn_training_flops
                                                                 : most_drawn_backward_flops;
  const Work work = op_.work(problem);
  if (work.flops > most || work.floor_bytes > most_drawn_bytes) return true;
  if (problem.dtype != DType::float16 || !has_states_) return false;
  // The outputs of a recurrence that forgets nothing, of queries and keys that may all be positive.
  const auto keys = static_cast<double>(problem.shape.key_dim);
  const auto values = static_cast<double>(problem.shape.value_dim);
  const auto tokens = static_cast<double>(problem.shape.seq);
  const double scale = std::abs(scale_of(op_, problem));
  if (scale * 1.5 * keys * std::sqrt(tokens) >= most_float16_output) return true;
  // Products of two normal numbers have twice as long a way to what is nearly never reached. Of an
  // initial state, queries read sums over keys, and their gradients sums over values.
  const std::string state = option(problem, "state_size");
  return problem.initial_state && !state.empty() &&
         scale * std::stod(state) * std::sqrt(backward ? std::max(keys, values) : keys) >=
             most_float16_output / 2;
}

/// Whether kernels of these dims have problems of every kind: gradients, and room for the longest
/// class of lengths. Attention has the room with few queries.
bool ProblemSpace::dims_suit(Problem problem) const {
  if (!dims_have_gradients(problem)) return false;
  if (allowed_lengths_.empty() || has("key_seq")) return true;
  for (const LengthClass& one : allowed_lengths_)
    if (one.of != LengthClass::Of::ragged)
      problem.shape.seq = std::max(problem.shape.seq, one.least + slack);
  return op_.work(problem).flops <= most_drawn_flops;
}

}  // namespace gla_bench
