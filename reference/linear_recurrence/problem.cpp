// The linear-recurrence family apart from its arithmetic: members, tensors, options and inputs.

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "reference/inputs.hpp"
#include "reference/linear_recurrence/backward/backward.hpp"
#include "reference/linear_recurrence/traits.hpp"
#include "reference/memory_options.hpp"
#include "reference/passes.hpp"

namespace gla_bench::recurrence {
namespace {

using Role = TensorSpec::Role;

constexpr std::array<Traits, 5> members{
    {{"linear_attention", "linear attention: S = S + phi(k) v^T, o = scale S^T phi(q)", Decay::none,
      "", false, true, false},
     {"retention", "retention: S = gamma_h S + k v^T, o = scale S^T q", Decay::per_head,
      "log_decay", false, false, false},
     {"simple_gla", "scalar-gated linear attention: S = exp(g) S + k v^T, o = scale S^T q",
      Decay::per_token, "g", false, false, false},
     {"gla", "gated linear attention: S = diag(exp(g)) S + k v^T, o = scale S^T q", Decay::per_key,
      "g", false, false, false},
     {"rwkv6", "RWKV-6: o = scale (S + diag(u) k v^T)^T q, then S = diag(exp(w)) S + k v^T",
      Decay::per_key, "w", true, false, true}}};

// Boundaries are passed as floats, and every integer below this limit is a float32.
constexpr std::int64_t most_ragged_tokens = 1 << 24;

// What float16 holds, in standard deviations of what some million elements stay within.
constexpr double most_float16 = 65504.0 / 7;

std::int64_t sequences(const Shape& s) {
  return s.sequences > 0 ? s.sequences : s.batch;
}

// The chosen value of an option, or "" for an option that this member lacks.
std::string choice(const Traits& traits, const Problem& problem, std::string_view name) {
  const auto chosen = problem.options.find(std::string(name));
  if (chosen != problem.options.end()) return chosen->second;
  for (const OptionAxis& axis : options(traits))
    if (axis.name == name) return axis.values.front();
  return "";
}

bool chosen(const Traits& traits, const Problem& problem, std::string_view name) {
  return choice(traits, problem, name) == "true";
}

std::int64_t states_every(const Traits& traits, const Problem& problem) {
  return std::stoll(choice(traits, problem, "states_every"));
}

double state_size(const Traits& traits, const Problem& problem) {
  const std::string size = choice(traits, problem, "state_size");
  return size.empty() ? 1.0 : std::stod(size);
}

// Standard deviation of the outputs that read only the initial state: o or, in the backward, dq.
double output_of_state(const Traits& traits, const Problem& problem) {
  const double scale = problem.scale.value_or(default_scale(traits, problem));
  const bool backward = problem.direction == Direction::backward;
  const double query =
      !backward && choice(traits, problem, "feature_map") == "elu_plus_one" ? 2.0 : 1.0;
  const std::int64_t terms = backward ? problem.shape.value_dim : problem.shape.key_dim;
  return std::abs(scale) * query * std::sqrt(static_cast<double>(terms)) *
         state_size(traits, problem);
}

bool positive_inputs(const Traits& traits, const Problem& problem) {
  return chosen(traits, problem, "normalize") &&
         choice(traits, problem, "feature_map") == "identity";
}

std::vector<float> draw_decays(const Traits& traits, const Problem& problem,
                               const TensorSpec& spec) {
  const Shape& s = problem.shape;
  if (traits.decay == Decay::per_head)
    return draw_head_decays(problem.gate, problem.seed, spec.name, s.heads);
  const bool raw = choice(traits, problem, "gate_input") == "raw";
  return (raw ? draw_raw_gates : draw_gates)(
      problem.gate, problem.seed, spec.name, s.batch * s.seq, s.heads,
      traits.decay == Decay::per_key ? s.key_dim : 1, spec.dtype);
}

// The initial state, whose elements have the option's standard deviation.
std::vector<float> draw_state(const Traits& traits, const Problem& problem,
                              const TensorSpec& spec) {
  const Stream normals = stream(problem.seed, spec.name);
  const double size = state_size(traits, problem);
  if (size == 1.0) return draw_normal(normals, spec.elements(), spec.dtype);
  std::vector<float> values = draw_normal(normals, spec.elements(), DType::float32);
  for (float& value : values) value = round_to(spec.dtype, size * value);
  return values;
}

// Makes some queries of heads zero, as those of padded tokens are. Their denominators are zero but
// for epsilon.
void pad_queries(const Problem& problem, std::vector<float>& q) {
  constexpr double share = 1.0 / 16;
  const Stream words = stream(problem.seed, "q.padding");
  const std::int64_t keys = problem.shape.key_dim;
  for (std::size_t row = 0; row * keys < q.size(); ++row)
    if (random_uniform(words, row) < share) std::fill_n(q.begin() + row * keys, keys, 0.0f);
}

// Makes all that one sequence reads of tokens NaN. The sequence is drawn among those with tokens.
void spoil_a_sequence(const Traits& traits, const Problem& problem, HostTensors& inputs) {
  const std::vector<float>& ends = inputs.at("cu_seqlens");
  std::vector<std::size_t> filled;
  for (std::size_t n = 0; n + 1 < ends.size(); ++n)
    if (ends[n] < ends[n + 1]) filled.push_back(n);
  const std::uint64_t word = random_word(stream(problem.seed, "nan_sequence"), 0);
  const std::size_t chosen = filled[word % filled.size()];
  for (const TensorSpec& spec : tensors(traits, problem)) {
    if (spec.role != Role::input || !spec.tokens) continue;
    std::vector<float>& values = inputs.at(spec.name);
    const std::int64_t row = spec.elements() / problem.shape.seq;
    std::fill(values.begin() + static_cast<std::int64_t>(ends[chosen]) * row,
              values.begin() + static_cast<std::int64_t>(ends[chosen + 1]) * row,
              std::numeric_limits<float>::quiet_NaN());
  }
}

}  // namespace

std::span<const Traits> family() {
  return members;
}

double default_scale(const Traits& traits, const Problem& problem) {
  if (traits.before_update) return 1.0;
  return 1.0 / std::sqrt(static_cast<double>(problem.shape.key_dim));
}

namespace {

std::vector<OptionAxis> options_of(const Traits& traits) {
  std::vector<OptionAxis> list;
  if (traits.features) {
    list.push_back({"feature_map", {"identity", "elu_plus_one"}, "phi, applied to q and k"});
    list.push_back({"normalize", {"false", "true"}, "o / (scale q.z + 1e-6), z the sum of all k"});
  }
  if (traits.raw_gates)
    list.push_back({"gate_input", {"log", "raw"}, "w is the log decay, or -exp(w) is"});
  if (traits.decay == Decay::per_token || traits.decay == Decay::per_key)
    list.push_back(gate_dtype_axis());
  list.push_back({"state_layout", {"key_first", "value_first"}, "states are [..,K,V] or [..,V,K]"});
  list.push_back({"state_dtype", {"float32", "bfloat16"}, "of the states in memory"});
  list.push_back(
      {"in_place", {"false", "true"}, "the final state overwrites the initial one", false});
  list.push_back(
      {"lengths", {"uniform", "skewed"}, "how ragged sequences' lengths are drawn", false});
  list.push_back(
      {"state_size", {"1", "100", "10000"}, "standard deviation of a drawn initial state", false});
  list.push_back({"nan_sequence",
                  {"false", "true"},
                  "all tokens of one ragged sequence are NaN, which no other sequence may see",
                  false});
  list.push_back(packed_axis());
  // Kernels are compiled for whether there are such states, but not for how far they are apart.
  list.push_back({"states_every",
                  {"0", "16", "32", "48", "64", "128", "256", "512"},
                  "N: the states after every N tokens of a sequence are an output, too; 0: none",
                  false});
  return list;
}

}  // namespace

const std::vector<OptionAxis>& options(const Traits& traits) {
  static const std::map<std::string_view, std::vector<OptionAxis>> lists = [] {
    std::map<std::string_view, std::vector<OptionAxis>> of_members;
    for (const Traits& member : members) of_members.emplace(member.name, options_of(member));
    return of_members;
  }();
  return lists.at(traits.name);
}

std::vector<std::string> regimes(const Traits& traits) {
  std::vector<std::string> list = gate_regimes();
  switch (traits.decay) {
    case Decay::none:
      return {"none"};
    case Decay::per_head:
      return head_decay_regimes();
    case Decay::per_token:
      std::erase(list, "per_channel");
      return list;
    case Decay::per_key:
      break;
  }
  if (!traits.before_update) return list;
  std::erase(list, "rwkv");
  list.insert(list.begin(), "rwkv");
  return list;
}

std::vector<TensorSpec> tensors(const Traits& traits, const Problem& problem) {
  const Shape& s = problem.shape;
  const DType d = problem.dtype;
  const std::vector<std::int64_t> keys{s.batch, s.seq, s.heads, s.key_dim};
  const std::vector<std::int64_t> values{s.batch, s.seq, s.heads, s.value_dim};
  const std::vector<std::int64_t> state{sequences(s), s.heads, s.key_dim, s.value_dim};
  const std::vector<std::int64_t> sums{sequences(s), s.heads, s.key_dim};
  const bool value_first = choice(traits, problem, "state_layout") == "value_first";
  const bool in_place = chosen(traits, problem, "in_place");
  const bool normalize = chosen(traits, problem, "normalize");
  const DType state_dtype =
      choice(traits, problem, "state_dtype") == "bfloat16" ? DType::bfloat16 : DType::float32;
  const std::string gate(traits.gate);
  const DType gates = gate_dtype(choice(traits, problem, "gate_dtype"), d);
  const std::int64_t every = states_every(traits, problem);
  std::vector<TensorSpec> list{{"q", Role::input, d, keys, true},
                               {"k", Role::input, d, keys, true},
                               {"v", Role::input, d, values, true}};
  if (chosen(traits, problem, "packed")) lay_in_rows(s, list);
  if (traits.decay == Decay::per_head)
    list.push_back({gate, Role::input, DType::float32, {s.heads}});
  if (traits.decay == Decay::per_token)
    list.push_back({gate, Role::input, gates, {s.batch, s.seq, s.heads}, true});
  if (traits.decay == Decay::per_key) list.push_back({gate, Role::input, gates, keys, true});
  if (traits.before_update) list.push_back({"u", Role::input, d, {s.heads, s.key_dim}});
  if (s.sequences > 0) list.push_back({"cu_seqlens", Role::input, DType::int32, {s.sequences + 1}});
  // A state sums decayed keys times values, and only the decayed keys have to be rounded.
  const auto add_states = [&](const std::string& when, Role role, const std::string& before) {
    const auto other = [&](const char* what) { return before.empty() ? "" : before + what; };
    list.push_back(
        {when + "_state", role, state_dtype, state, false, value_first, other("_state"), 1});
    if (normalize)
      list.push_back({when + "_normalizer", role, DType::float32, sums, false, false,
                      other("_normalizer"), 1});
  };
  if (problem.initial_state) add_states("initial", Role::input, "");
  list.push_back({"o", Role::output, d, values, true});
  if (problem.final_state) add_states("final", Role::output, in_place ? "initial" : "");
  if (every > 0 && s.seq >= every) {
    const std::vector<std::int64_t> places{s.batch, s.seq / every, s.heads, s.key_dim, s.value_dim};
    list.push_back({"states", Role::output, state_dtype, places, false, value_first, "", 1});
    if (normalize)
      list.push_back({"normalizers",
                      Role::output,
                      DType::float32,
                      {places.begin(), places.end() - 1},
                      false,
                      false,
                      "",
                      1});
  }
  for (TensorSpec& spec : list) {
    if (spec.role != Role::output) continue;
    spec.longest_sum = s.seq;
    // The keys of a state, and the queries that read it.
    if (traits.decay != Decay::none) spec.decayed_factors = spec.name == "o" ? 2 : 1;
    spec.decays_alike = traits.decay == Decay::per_head;
    // A state's key is rounded once for all of its values.
    if (spec.name == "final_state" || spec.name == "states") spec.alike = s.value_dim;
  }
  return has_gradients(problem.direction) ? backward_tensors(traits, problem, list) : list;
}

namespace {

// The states of the forward are there for the second pass.
Work work_of_training(const Traits& traits, const Problem& problem) {
  const Work forward = work(traits, in_direction(problem, Direction::forward));
  const Work backward = work(traits, in_direction(problem, Direction::backward));
  Work both = work_of_passes(forward, backward, tensors(traits, problem));
  both.flops = forward.flops + backward.flops * 8 / 10;
  return both;
}

}  // namespace

Work work(const Traits& traits, const Problem& problem) {
  if (problem.direction == Direction::training) return work_of_training(traits, problem);
  const Shape& s = problem.shape;
  Work result;
  for (const TensorSpec& spec : tensors(traits, problem))
    result.floor_bytes += static_cast<double>(spec.bytes());
  // Counted for each token and head: adding k v^T to the state and reading the state by q, 2KV
  // each. As is usual, the KV products of the decay are not counted, nor are terms of order K + V
  // (bonus, normalizer). The backward forms the state and its gradient, and reads the former for dq
  // and the latter for dk and dv: 2KV each, besides those of the forward's state.
  result.flops = (has_gradients(problem.direction) ? 10.0 : 4.0) * static_cast<double>(s.batch) *
                 static_cast<double>(s.seq) * static_cast<double>(s.heads) *
                 static_cast<double>(s.key_dim) * static_cast<double>(s.value_dim);
  return result;
}

HostTensors draw(const Traits& traits, const Problem& problem) {
  const Shape& s = problem.shape;
  HostTensors inputs;
  for (const TensorSpec& spec : tensors(traits, problem)) {
    if (spec.role != Role::input) continue;
    const bool of_keys = spec.name == "q" || spec.name == "k";
    std::vector<float>& values = inputs[spec.name];
    if (spec.name == traits.gate)
      values = draw_decays(traits, problem, spec);
    else if (spec.name == "cu_seqlens")
      values = draw_boundaries(choice(traits, problem, "lengths"), problem.seed, spec.name, s.seq,
                               s.sequences);
    else if (spec.name == "initial_state")
      values = draw_state(traits, problem, spec);
    else if (spec.name == "initial_normalizer" ||
             (of_keys && positive_inputs(traits, problem)))  // else the quotient means nothing
      values = draw_positive(stream(problem.seed, spec.name), spec.elements(), spec.dtype);
    else
      values = draw_normal(stream(problem.seed, spec.name), spec.elements(), spec.dtype);
  }
  if (positive_inputs(traits, problem)) pad_queries(problem, inputs.at("q"));
  if (positive_inputs(traits, problem) && has_gradients(problem.direction))
    pad_gradients(problem, inputs);
  if (chosen(traits, problem, "nan_sequence")) spoil_a_sequence(traits, problem, inputs);
  return inputs;
}

std::vector<std::string> signed_inputs(const Traits& traits, const Problem& problem) {
  std::vector<std::string> list{"v", "u", "initial_state"};
  if (!positive_inputs(traits, problem)) list.insert(list.begin(), {"q", "k"});
  if (has_gradients(problem.direction))
    list.insert(list.end(), {"do", "dfinal_state", "dfinal_normalizer"});
  return list;
}

std::optional<std::string> refuse(const Traits& traits, const Problem& problem) {
  const Shape& s = problem.shape;
  if (s.sequences > 0 && s.batch != 1)
    return "ragged sequences lie one behind the other: batch must be 1";
  if (s.sequences > 0 && s.seq >= most_ragged_tokens)
    return "ragged sequences have less than 2^24 tokens in all";
  if (s.sequences == 0 && choice(traits, problem, "lengths") != "uniform")
    return "lengths are of ragged sequences, and `sequences` is not given";
  if (choice(traits, problem, "state_size") != "1" && !problem.initial_state)
    return "state_size is of the initial state, and there is none";
  if (choice(traits, problem, "state_size") != "1" && problem.dtype == DType::float16 &&
      output_of_state(traits, problem) > most_float16)
    return "float16 does not hold the outputs of a state of this size";
  if (choice(traits, problem, "state_size") == "10000" && problem.initial_state &&
      choice(traits, problem, "state_dtype") == "bfloat16")
    return "bfloat16 has no digits for what tokens add to a state of size 10000";
  if (chosen(traits, problem, "nan_sequence") && s.sequences < 2)
    return "nan_sequence is one of several ragged sequences";
  if (chosen(traits, problem, "in_place") && !(problem.initial_state && problem.final_state))
    return "in_place needs an initial and a final state";
  if (choice(traits, problem, "gate_input") == "raw" && !raw_gates_have(problem.gate))
    return "no w gives -exp(w) the value 0 or -inf, which regime " + problem.gate + " has";
  if (chosen(traits, problem, "packed"))
    if (auto reason = refuse_packed(problem)) return reason;
  if (has_gradients(problem.direction) && states_every(traits, problem) > 0)
    return "states_every is of the forward alone";
  if (has_gradients(problem.direction))
    if (auto reason = refuse_backward(traits, problem)) return reason;
  return refuse_gate_dtype(choice(traits, problem, "gate_dtype"), problem.dtype);
}

View::View(const Traits& traits, const Problem& problem, const HostTensors& inputs)
    : decay(traits.decay),
      before_update(traits.before_update),
      elu_features(choice(traits, problem, "feature_map") == "elu_plus_one"),
      normalize(chosen(traits, problem, "normalize")),
      raw_gates(choice(traits, problem, "gate_input") == "raw"),
      sequences(recurrence::sequences(problem.shape)),
      heads(problem.shape.heads),
      keys(problem.shape.key_dim),
      values(problem.shape.value_dim),
      seq(problem.shape.seq),
      every(states_every(traits, problem)),
      scale(problem.scale.value_or(default_scale(traits, problem))) {
  const auto of = [&](bool there, std::string_view name) {
    return there ? inputs.at(std::string(name)).data() : nullptr;
  };
  q = of(true, "q");
  k = of(true, "k");
  v = of(true, "v");
  gate = of(decay != Decay::none, traits.gate);
  bonus = of(before_update, "u");
  boundaries = of(problem.shape.sequences > 0, "cu_seqlens");
  initial_state = of(problem.initial_state, "initial_state");
  initial_normalizer = of(problem.initial_state && normalize, "initial_normalizer");
  const bool backward = has_gradients(problem.direction);
  d_o = of(backward, "do");
  d_final_state = of(backward && problem.final_state, "dfinal_state");
  d_final_normalizer = of(backward && problem.final_state && normalize, "dfinal_normalizer");
}

}  // namespace gla_bench::recurrence
