// The sizes of drawn problems (problem_space.hpp): which there are, and which go together.

#include <algorithm>
#include <cmath>

#include "core/extents.hpp"
#include "harness/config/draws/problem_space.hpp"
#include "harness/config/draws/well_posed.hpp"

namespace gla_bench {
namespace {

constexpr std::int64_t slack = 7;  // tokens above the least that a length may have

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
/// Gradients of initial normalizers beside initial states of size 100 or more, one of each sequence
/// and head. Each is q do.o / n, summed over the tokens: outputs are as large as the state makes
/// them, so that the gradient of a final normalizer is too small to keep this sum from zero, and
/// all keys share how much of it cancels. In tf32, of 200 seeds of a single one 1 to 2 % came to
/// more than the cap of 2e-3, of two up to 0.5 %, and of eight all to half of it at most.
constexpr std::int64_t least_normalizers = 8;
/// Keys of a backward. With a single one all gradients of queries are 0.
constexpr std::int64_t least_keys_of_backward = 2;

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

/// Whether an output is one number for each token and head, beside states.
bool has_gradients_of_token_decays(const std::vector<TensorSpec>& tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const TensorSpec& spec) {
    return spec.role == TensorSpec::Role::output && spec.tokens && spec.extents.size() == 3;
  });
}

/// Whether the gradient of an initial normalizer is of outputs that a large initial state has made.
bool has_normalizers_of_large_states(const Problem& problem) {
  return problem.initial_state && flag(problem, "normalize") &&
         option(problem, "state_size") != "1";
}

/// Tokens whose decay meets a state: all but the first of each sequence that starts with nothing.
std::int64_t decayed_tokens(const Problem& problem) {
  const Shape& s = problem.shape;
  if (problem.initial_state) return s.seq;
  return std::max<std::int64_t>(1, s.seq - std::max<std::int64_t>(1, s.sequences));
}

/// The factor "keys" of attention: how many there are beside the queries.
enum Keys { same, fewer, more, one_query };

/// Outputs of this size are 7 standard deviations from what float16 can hold.
constexpr double most_float16_output = 65504.0 / 7;

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
    std::int64_t least = heads_of_sums;
    if (has_normalizers_of_large_states(problem))
      least = std::max(least, (least_normalizers - 1) / std::max(s.batch, s.sequences) + 1);
    if (has_gradients_of_token_decays(tensors))
      least = std::max(least, (least_token_decays - 1) / decayed_tokens(problem) + 1);
    return least;
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
