#include "reference/attention/attention.hpp"

#include <cmath>

#include "core/rounding.hpp"
#include "reference/attention/blocked.hpp"
#include "reference/attention/cancelling_sizes.hpp"
#include "reference/attention/device.hpp"
#include "reference/attention/paged.hpp"
#include "reference/attention/ragged.hpp"
#include "reference/attention/second_form.hpp"
#include "reference/inputs.hpp"
#include "reference/memory_options.hpp"

namespace gla_bench {
namespace {

using attention::View;
using Role = TensorSpec::Role;

bool decays(const Problem& problem) {
  return problem.op == "decay_attention";
}

const Operator& self(const Problem& problem) {
  static const Operator plain = attention_operator(), decaying = decay_attention_operator();
  return decays(problem) ? decaying : plain;
}

bool chosen(const Problem& problem, std::string_view name, std::string_view value) {
  return option(self(problem), problem, name) == value;
}

bool backward(const Problem& problem) {
  return problem.direction == Direction::backward;
}

// The dtype of log decays per token.
DType gates_of(const Problem& problem) {
  if (!decays(problem)) return problem.dtype;
  return gate_dtype(option(self(problem), problem, "gate_dtype"), problem.dtype);
}

std::vector<TensorSpec> tensors(const Problem& problem) {
  const Shape& s = problem.shape;
  const DType d = problem.dtype;
  const std::vector<std::int64_t> queries{s.batch, s.seq, s.heads, s.key_dim};
  const std::int64_t page = attention::page_size(problem);
  const std::int64_t rows_of_keys = page > 0 ? attention::pool_pages(problem) : s.batch;
  const std::int64_t tokens_of_keys = page > 0 ? page : s.keys_seq();
  const std::vector<std::int64_t> keys{rows_of_keys, tokens_of_keys, s.keys_heads(), s.key_dim};
  const std::vector<std::int64_t> values{rows_of_keys, tokens_of_keys, s.keys_heads(), s.value_dim};
  const std::vector<std::int64_t> outputs{s.batch, s.seq, s.heads, s.value_dim};
  const std::vector<std::int64_t> rows{s.batch, s.seq, s.heads};
  const std::vector<std::int64_t> key_rows{rows_of_keys, tokens_of_keys, s.heads};
  std::vector<TensorSpec> list{{"q", Role::input, d, queries, true},
                               {"k", Role::input, d, keys, true},
                               {"v", Role::input, d, values, true}};
  if (chosen(problem, "packed", "true")) lay_in_rows(s, list);
  const bool constant = decays(problem) && chosen(problem, "decay", "constant");
  const auto add_decay = [&](const char* name, Role role, DType dtype) {
    if (!decays(problem)) return;
    if (constant)
      list.push_back({name, role, DType::float32, {s.heads}, false});
    else
      list.push_back({name, role, dtype, key_rows, true});
  };
  add_decay("log_decay", Role::input, gates_of(problem));
  for (const char* name : {"cu_seqlens", "cu_seqlens_k"})
    if (s.sequences > 0) list.push_back({name, Role::input, DType::int32, {s.sequences + 1}});
  if (page > 0) {
    const std::int64_t row = attention::pages_of_sequence(problem);
    list.push_back({"block_table", Role::input, DType::int32, {s.batch, row}});
    list.push_back({"cache_seqlens", Role::input, DType::int32, {s.batch}});
  }
  const Role given = backward(problem) ? Role::input : Role::output;
  list.push_back({"o", given, d, outputs, true});
  list.back().rounded_factors = 1;  // the probabilities
  if (backward(problem) || chosen(problem, "lse", "true")) {
    list.push_back({"lse", given, DType::float32, rows, true});
    list.back().rounded_factors = 0;
  }
  const auto sum_over_tokens = [&] {
    for (TensorSpec& spec : list)
      if (spec.role == Role::output) spec.longest_sum = std::max(s.seq, s.keys_seq());
  };
  sum_over_tokens();
  if (!backward(problem)) return list;
  list.push_back({"do", Role::input, d, outputs, true});
  list.push_back({"dq", Role::output, d, queries, true});
  list.push_back({"dk", Role::output, d, keys, true});
  list.push_back({"dv", Role::output, d, values, true});
  for (TensorSpec& spec : list)
    if (spec.role == Role::output) spec.rounded_factors = 1;  // the probabilities' gradients
  add_decay("dlog_decay", Role::output, DType::float32);
  if (decays(problem)) list.back().rounded_factors = 0;  // a sum of unrounded gradients
  sum_over_tokens();
  return list;
}

bool full(const Problem& problem) {
  return !decays(problem) && chosen(problem, "causal", "false");
}

// Bytes of the inputs on which the outputs may not depend. Of more queries than keys, the first
// ones see no key; without keys none does. Of more keys than queries, the first ones may be behind
// decays that leave nothing; without queries nothing sees them.
double skippable_bytes(const Problem& problem) {
  const Shape& s = problem.shape;
  const auto k = static_cast<double>(s.key_dim), v = static_cast<double>(s.value_dim);
  const auto element = static_cast<double>(size_of(problem.dtype));
  constexpr double of_lse = 4;
  const double of_query = k * element + (backward(problem) ? 2 * v * element + of_lse : 0);
  const bool forgets = decays(problem) && problem.gate != "none";
  double bytes = 0;
  for (const attention::Lengths& one : attention::lengths(problem)) {
    if (one.keys == 0 || (!full(problem) && one.queries > one.keys))
      bytes += static_cast<double>(one.times * s.heads * (one.queries - one.keys)) * of_query;
    else if (one.queries == 0 || forgets)
      bytes += static_cast<double>(one.times * s.keys_heads() * (one.keys - one.queries)) *
               (k + v) * element;
  }
  return bytes;
}

// The number of products q.k that count, over all sequences and query heads.
double pairs(const Problem& problem) {
  double sum = 0;
  for (const attention::Lengths& one : attention::lengths(problem)) {
    const auto queries = static_cast<double>(one.queries), keys = static_cast<double>(one.keys);
    const double short_side = std::min(queries, keys);
    const double causal = short_side * (keys - short_side) + short_side * (short_side + 1) / 2;
    sum += static_cast<double>(one.times) * (full(problem) ? queries * keys : causal);
  }
  return sum * static_cast<double>(problem.shape.heads);
}

// The pairs of a query and the key at its own position, which it sees whatever the decays are.
double own_pairs(const Problem& problem) {
  double sum = 0;
  for (const attention::Lengths& one : attention::lengths(problem))
    sum += static_cast<double>(one.times * std::min(one.queries, one.keys));
  return sum * static_cast<double>(problem.shape.heads);
}

// The bytes of a tensor that count: of a pool those of keys that sequences have, and of a block
// table the entries that name a page of these.
double needed_bytes(const Problem& problem, const TensorSpec& spec) {
  const auto all = static_cast<double>(spec.bytes());
  const std::int64_t page = attention::page_size(problem);
  if (page == 0 || spec.role != Role::input) return all;
  if (spec.name == "block_table") return attention::table_bytes(problem);
  if (spec.name == "cache_seqlens") return 0;  // with the table
  if (!spec.tokens || spec.name == "q") return all;
  return all / static_cast<double>(attention::pool_pages(problem) * page) *
         static_cast<double>(attention::keys_in_all(problem));
}

Work work(const Problem& problem) {
  Work result;
  for (const TensorSpec& spec : tensors(problem)) result.floor_bytes += needed_bytes(problem, spec);
  // Forward: q k^T and P v. Backward: q k^T, do v^T, dS k, dS^T q and P^T do.
  const auto k = static_cast<double>(problem.shape.key_dim);
  const auto v = static_cast<double>(problem.shape.value_dim);
  result.skippable_bytes = skippable_bytes(problem);
  const double of_pair = 2 * (backward(problem) ? 3 * k + 2 * v : k + v);
  result.flops = of_pair * pairs(problem);
  if (decays(problem) && problem.gate != "none")
    result.skippable_flops = of_pair * (pairs(problem) - own_pairs(problem));
  // How many pairs there are in a file's sequences, only the file says.
  if (problem.shape.sequences > 0 && problem.gate == "file") {
    result.skippable_flops = result.flops;
    result.skippable_bytes = result.floor_bytes / 2;
  }
  return result;
}

std::optional<std::string> refuse(const Problem& problem) {
  const Shape& s = problem.shape;
  if (s.heads % s.keys_heads() != 0) return "heads is not a multiple of key_heads";
  if (auto reason = attention::refuse_ragged(problem)) return reason;
  if (auto reason = attention::refuse_paged(problem)) return reason;
  if (backward(problem) && chosen(problem, "lse", "true"))
    return "lse is an input of the backward, not an output to ask for";
  if (decays(problem) && chosen(problem, "decay", "constant") && problem.gate == "spikes")
    return "the regime spikes strikes single tokens: a constant decay has none";
  // A query that sees its own key alone has no gradient: what is left are rounding errors, which
  // float32's bounds do not allow next to the gradients of the other heads.
  if (decays(problem) && chosen(problem, "decay", "constant") && problem.gate == "resets" &&
      backward(problem) && (problem.dtype == DType::float32 || s.heads < 2))
    return "gradients behind a constant decay of -inf are differences of equal numbers: they can "
           "be "
           "judged in 16 bits and beside other heads";
  if (chosen(problem, "packed", "true"))
    if (auto reason = refuse_packed(problem)) return reason;
  if (!decays(problem)) return std::nullopt;
  const std::string& gates = option(self(problem), problem, "gate_dtype");
  if (gates == "float32" && chosen(problem, "decay", "constant"))
    return "gate_dtype: a constant decay is float32 already";
  return refuse_gate_dtype(gates, problem.dtype);
}

// What the regimes of plain attention do to normally distributed queries and keys:
// - peaked: the logits have a standard deviation of 6, and of 32 for one query in sixteen (beyond
//   e^88).
// - shifted: the first channel of all keys is about 4, and that of the queries varies widely. So
//   all logits of a row share an offset, whose standard deviation is 6. (With twice that, a single
//   float32 rounding of a logit would cost all that the bound allows.)
void shape_logits(const Problem& problem, HostTensors& inputs) {
  const Shape& s = problem.shape;
  const auto apply = [&](const char* name, auto map) {
    std::vector<float>& values = inputs.at(name);
    const auto rows = static_cast<std::int64_t>(values.size()) / s.key_dim;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t c = 0; c < s.key_dim; ++c) {
        float& value = values[row * s.key_dim + c];
        value = round_to(problem.dtype, map(static_cast<double>(value), row, c));
      }
  };
  if (problem.gate == "peaked") {
    const Stream high = stream(problem.seed, "q.peaks");
    apply("q", [&](double x, std::int64_t row, std::int64_t) {
      return x * (random_uniform(high, static_cast<std::uint64_t>(row)) < 1.0 / 16 ? 32 : 6);
    });
  } else if (problem.gate == "shifted") {
    const double wide = 1.5 * std::sqrt(static_cast<double>(s.key_dim));
    apply("q", [&](double x, std::int64_t, std::int64_t c) { return c == 0 ? x * wide : x; });
    apply("k", [&](double x, std::int64_t, std::int64_t c) { return c == 0 ? 4 + x / 8 : x; });
  }
}

// A constant decay of many nats for each token would leave each query only its own key. The
// gradients of q and k would then be differences of equal numbers. So constants stop at -2, except
// for the full resets of every second head, next to which the other heads set the scale.
std::vector<float> draw_constants(const Problem& problem) {
  std::vector<float> decays =
      draw_head_decays(problem.gate, problem.seed, "log_decay", problem.shape.heads);
  if (problem.gate == "resets") return decays;
  for (float& decay : decays) decay = std::max(decay, -2.0f);
  return decays;
}

std::vector<float> draw_numbers(const Problem& problem, std::string_view input) {
  if (input == "block_table") return attention::draw_block_table(problem);
  if (input == "cache_seqlens") return attention::draw_key_counts(problem);
  return attention::draw_ends(problem, input == "cu_seqlens_k");
}

HostTensors draw(const Problem& problem) {
  const Shape& s = problem.shape;
  HostTensors inputs;
  for (const TensorSpec& spec : tensors(problem)) {
    if (spec.role != Role::input || spec.name == "o" || spec.name == "lse") continue;
    if (spec.dtype == DType::int32) {
      inputs[spec.name] = draw_numbers(problem, spec.name);
      continue;
    }
    if (spec.name == "log_decay" && spec.tokens)
      inputs[spec.name] = draw_gates(problem.gate, problem.seed, spec.name,
                                     spec.elements() / s.heads, s.heads, 1, spec.dtype);
    else if (spec.name == "log_decay")
      inputs[spec.name] = draw_constants(problem);
    else
      inputs[spec.name] = draw_normal(stream(problem.seed, spec.name), spec.elements(), spec.dtype);
  }
  if (!decays(problem)) shape_logits(problem, inputs);
  if (attention::page_size(problem) > 0) attention::spoil_free_rows(problem, inputs);
  if (flag(problem, "nan_sequence")) attention::spoil_sequences(problem, tensors(problem), inputs);
  if (!backward(problem)) return inputs;
  Problem forward = problem;
  forward.direction = Direction::forward;
  forward.options["lse"] = "true";
  const ReferenceTensors made =
      attention::forward<double>(View(self(problem), forward, inputs), std::nullopt);
  for (const auto& output : made) {
    const std::vector<double>& values = output.second;
    std::vector<float>& rounded = inputs[output.first];
    rounded.resize(values.size());
    const DType dtype = output.first == "lse" ? DType::float32 : problem.dtype;
    const auto count = static_cast<std::int64_t>(values.size());
#pragma omp parallel for schedule(static) if (count > 65536)
    for (std::int64_t i = 0; i < count; ++i) rounded[i] = round_to(dtype, values[i]);
  }
  return inputs;
}

// Keys are not among them, because what a regime makes of the logits (a common shift, a peak) lies
// in the keys; the backward's o and lse follow from all of q, k and v.
std::vector<std::string> signed_inputs(const Problem& problem) {
  if (backward(problem)) return {"do"};
  return {"q", "v"};
}

ReferenceTensors reference(const Problem& problem, const HostTensors& inputs) {
  const View view(self(problem), problem, inputs);
  return backward(problem) ? attention::backward<double>(view, std::nullopt)
                           : attention::forward<double>(view, std::nullopt);
}

ReferenceTensors second_form(const Problem& problem, const HostTensors& inputs) {
  const View view(self(problem), problem, inputs);
  return backward(problem) ? attention::second_backward(view) : attention::second_forward(view);
}

HostTensors baseline(const Problem& problem, const HostTensors& inputs, Arithmetic arithmetic) {
  const View view(self(problem), problem, inputs);
  return backward(problem) ? attention::backward<float>(view, arithmetic)
                           : attention::forward<float>(view, arithmetic);
}

// A log-sum-exp is one score where a query sees one key, which may be near zero by chance.
std::map<std::string, double> sum_sizes(const Problem& problem, const HostTensors& inputs) {
  if (backward(problem) || !chosen(problem, "lse", "true")) return {};
  const double scale = scale_of(self(problem), problem);
  return {{"lse", attention::score_size(problem.shape.key_dim, scale, inputs)}};
}

// Walks over all pairs of a query and a key, as the definition does. Where those are many, the
// few rows that see only few keys vanish in their chunks.
HostTensors cancelling_sizes(const Problem& problem, const HostTensors& inputs) {
  const Shape& s = problem.shape;
  const double pairs =
      static_cast<double>(s.batch * s.heads * s.seq) * static_cast<double>(s.keys_seq());
  if (!backward(problem) || pairs * static_cast<double>(s.key_dim + s.value_dim) > 1e8) return {};
  return attention::cancelling_sizes(View(self(problem), problem, inputs));
}

Operator common() {
  Operator op;
  op.directions = {Direction::forward, Direction::backward};
  op.optional_extents = {"key_seq", "key_heads", "sequences"};
  op.refuse = refuse;
  op.default_scale = [](const Problem& problem) {
    return 1.0 / std::sqrt(static_cast<double>(problem.shape.key_dim));
  };
  op.tensors = tensors;
  op.work = work;
  op.draw = draw;
  op.signed_inputs = signed_inputs;
  op.sum_sizes = sum_sizes;
  op.cancelling_sizes = cancelling_sizes;
  op.reference = reference;
  op.second_form = second_form;
  op.baseline = baseline;
  op.device_reference = attention::device_reference();
  return op;
}

OptionAxis lse_axis() {
  return {"lse", {"false", "true"}, "lse [B,T,H] is an output of the forward"};
}

}  // namespace

Operator attention_operator() {
  Operator op = common();
  op.name = "attention";
  op.summary = "softmax attention: o = softmax(scale q k^T) v";
  op.gates = {"normal", "peaked", "shifted"};
  op.options = {{"causal", {"true", "false"}, "a query sees no keys behind its position"},
                lse_axis(),
                packed_axis()};
  attention::add_options(op);
  return op;
}

Operator decay_attention_operator() {
  Operator op = common();
  op.name = "decay_attention";
  op.summary = "causal attention whose logits lose the log decays between key and query";
  op.gates = {"mild", "none", "typical", "rwkv", "strong", "spikes", "resets"};
  op.options = {{"decay", {"per_token", "constant"}, "log_decay is [B,Tk,H], or [H]"},
                gate_dtype_axis(),
                lse_axis(),
                packed_axis()};
  attention::add_options(op);
  return op;
}

}  // namespace gla_bench
