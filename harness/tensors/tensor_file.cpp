#include "harness/tensors/tensor_file.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/extents.hpp"
#include "harness/support/printable.hpp"
#include "harness/tensors/safetensors.hpp"
#include "harness/tensors/staging.hpp"
#include "harness/tensors/tensor_extents.hpp"

namespace gla_bench {
namespace {

constexpr std::int64_t largest_dim = 512;  // of key_dim and value_dim, for every variant

std::string name_in_file(const Problem& problem, const std::string& input) {
  const auto named = problem.tensor_names.find(input);
  return named == problem.tensor_names.end() ? input : named->second;
}

// "x.safetensors: tensor 'model.q' (q)"
std::string location(const Problem& problem, const std::string& input) {
  const std::string stored = name_in_file(problem, input);
  std::string text = problem.tensors + ": tensor '" + printable(stored, 100) + "'";
  if (stored != input) text += " (" + input + ")";
  return text;
}

std::string names_in(const SafetensorsFile& file) {
  std::string names;
  for (const SafetensorsEntry& entry : file.entries()) {
    if (names.size() > 200) return names + ", ...";
    names.append(names.empty() ? "" : ", ").append(printable(entry.name, 100));
  }
  return names.empty() ? "no tensors" : names;
}

const SafetensorsEntry& entry_of(const SafetensorsFile& file, const Problem& problem,
                                 const std::string& input) {
  const SafetensorsEntry* entry = file.find(name_in_file(problem, input));
  if (entry == nullptr)
    throw InputError(location(problem, input) + " is missing; the file has " + names_in(file));
  return *entry;
}

DType problem_dtype(const SafetensorsFile& file, const Operator& op, const Problem& problem) {
  const std::string input = dtype_input(op, problem);
  const SafetensorsEntry& entry = entry_of(file, problem, input);
  const std::optional<DType> dtype = dtype_of(entry);
  if (!dtype || *dtype == DType::int32)
    throw InputError(location(problem, input) + " is " + describe(entry) + "; dtype " +
                     entry.dtype + " is not supported, expected F32, BF16 or F16");
  return *dtype;
}

// Heads larger than that are beyond every variant.
void check_heads(const SafetensorsFile& file, const Operator& op, const Problem& problem) {
  for (const auto& [extent, letter] : {std::pair{problem.shape.key_dim, std::string("K")},
                                       std::pair{problem.shape.value_dim, std::string("V")}}) {
    if (extent <= largest_dim) continue;
    for (const TensorSpec& spec : op.tensors(problem)) {
      if (spec.role != TensorSpec::Role::input ||
          axes_text(op, problem, spec.name).find(letter) == std::string::npos)
        continue;
      throw InputError(location(problem, spec.name) + " is " +
                       describe(entry_of(file, problem, spec.name)) + "; expected " + letter +
                       " from 1 to " + std::to_string(largest_dim));
    }
  }
}

Shape shape_from(const SafetensorsFile& file, const Operator& op, const Problem& problem) {
  const auto given = [&](std::string_view input) -> const std::vector<std::int64_t>* {
    const std::string name(input);
    const bool named = problem.tensor_names.count(name) != 0;
    const SafetensorsEntry* entry = file.find(name_in_file(problem, name));
    if (entry == nullptr && !named) return nullptr;
    for (const std::int64_t extent : entry_of(file, problem, name).shape)
      if (extent < 1)
        throw InputError(location(problem, name) + " is " + describe(*entry) +
                         "; expected no empty axis");
    return &entry->shape;
  };
  try {
    return solve_extents(op, problem, given);
  } catch (const ExtentError& error) {
    if (error.input.empty()) throw InputError(problem.tensors + ": " + error.what());
    throw InputError(location(problem, error.input) + " is " +
                     describe(entry_of(file, problem, error.input)) + "; " + error.what());
  }
}

std::string expected_text(const TensorSpec& spec, Layout layout) {
  std::string text = std::string(name(spec.dtype)) + " [";
  const char* separator = "";
  for (const std::int64_t extent : storage_extents(spec, layout)) {
    text.append(separator).append(std::to_string(extent));
    separator = ", ";
  }
  return text + "], as the tensors before it say";
}

// ", or float32 with option gate_dtype=float32" where an option gives the input the dtype that the
// file has.
std::string option_hint(const Operator& op, const Problem& problem, const TensorSpec& input,
                        DType in_file) {
  for (const OptionAxis& axis : op.options)
    for (const std::string& value : axis.values) {
      Problem other = problem;
      other.options[axis.name] = value;
      for (const TensorSpec& spec : op.tensors(other))
        if (spec.name == input.name && spec.role == input.role && spec.dtype == in_file)
          return ", or " + std::string(name(in_file)) + " with option " + axis.name + "=" + value;
    }
  return "";
}

// Every input that the operator reads stands in the file with its dtype and shape.
void check_inputs(const SafetensorsFile& file, const Operator& op, const Problem& problem) {
  for (const TensorSpec& spec : op.tensors(problem)) {
    if (spec.role != TensorSpec::Role::input) continue;
    const SafetensorsEntry& entry = entry_of(file, problem, spec.name);
    const std::optional<DType> dtype = dtype_of(entry);
    if (dtype == spec.dtype && entry.shape == storage_extents(spec, problem.layout)) continue;
    const std::string hint =
        dtype && dtype != spec.dtype ? option_hint(op, problem, spec, *dtype) : "";
    throw InputError(location(problem, spec.name) + " is " + describe(entry) + "; expected " +
                     expected_text(spec, problem.layout) + hint + " (layout " +
                     std::string(name(problem.layout)) + ")");
  }
}

bool reads(const Operator& op, const Problem& problem, const std::string& input) {
  const std::vector<TensorSpec> specs = op.tensors(problem);
  return std::any_of(specs.begin(), specs.end(), [&](const TensorSpec& spec) {
    return spec.role == TensorSpec::Role::input && spec.name == input;
  });
}

// The problem with all optional inputs that it may have.
Problem fullest(const Operator& op, Problem problem) {
  problem.initial_state = true;
  for (const std::string& extent : op.optional_extents) give_extent(problem.shape, extent);
  return problem;
}

void check_names(const Operator& op, const Problem& problem) {
  for (const auto& [input, stored] : problem.tensor_names)
    if (!reads(op, fullest(op, problem), input))
      throw InputError(problem.tensors + ": '" + input + "' is no input of " + op.name +
                       " and cannot be tensor '" + stored + "'");
}

bool has_initial_state(const SafetensorsFile& file, const Operator& op, Problem problem) {
  problem.initial_state = true;
  if (!reads(op, problem, "initial_state")) return false;
  // An input that was asked for by name must be there; check_inputs() reports one that is not.
  return problem.tensor_names.count("initial_state") != 0 || file.find("initial_state") != nullptr;
}

Problem complete(const SafetensorsFile& file, const Operator& op, const Problem& wanted) {
  Problem problem = wanted;
  check_names(op, problem);
  problem.gate = "file";
  problem.initial_state = has_initial_state(file, op, problem);
  for (const TensorSpec& spec : op.tensors(problem))
    if (spec.role == TensorSpec::Role::input) entry_of(file, problem, spec.name);
  problem.dtype = problem_dtype(file, op, problem);
  problem.shape = shape_from(file, op, problem);
  if (!(largest_tensor(problem.shape) <= most_elements))
    throw InputError(problem.tensors + ": holds " + describe(problem) +
                     "; expected at most 2^48 elements per tensor");
  check_heads(file, op, problem);
  check_inputs(file, op, problem);
  if (const auto reason = op.refuse ? op.refuse(problem) : std::nullopt)
    throw InputError(problem.tensors + ": " + *reason);
  return problem;
}

std::string index_text(const TensorSpec& spec, Layout layout, std::size_t offset) {
  const std::vector<std::int64_t> extents = storage_extents(spec, layout);
  std::string text;
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    const auto extent = static_cast<std::size_t>(extents[axis]);
    text = std::to_string(offset % extent) + (text.empty() ? "" : ", ") + text;
    offset /= extent;
  }
  std::string bracketed("[");
  return bracketed.append(text).append("]");
}

// The values that an input's elements may have, and their description in words.
struct Legal {
  bool (*is)(float);
  const char* words;
};

// A gate is a logarithm of a decay: -inf forgets everything, anything above 0 would grow. The
// log-sum-exp of a row that saw nothing is -inf.
Legal legal_values(const Problem& problem, const std::string& input) {
  const bool log_decay = input == "g" || input == "log_decay" ||
                         (input == "w" && option(problem, "gate_input") != "raw");
  if (log_decay) return {[](float x) { return x <= 0.0F; }, "a log decay <= 0"};
  if (input == "lse") return {[](float x) { return x < INFINITY; }, "a number below infinity"};
  return {[](float x) { return std::isfinite(x); }, "a finite number"};
}

void check_boundaries(const Problem& problem, const std::string& input,
                      const std::vector<float>& ends) {
  const bool of_keys = input == "cu_seqlens_k";
  const std::int64_t tokens = of_keys ? problem.shape.keys_seq() : problem.shape.seq;
  if (ends.front() == 0.0F && ends.back() == static_cast<float>(tokens) &&
      std::is_sorted(ends.begin(), ends.end()))
    return;
  throw InputError(location(problem, input) + " goes from " +
                   std::to_string(static_cast<std::int64_t>(ends.front())) + " to " +
                   std::to_string(static_cast<std::int64_t>(ends.back())) +
                   "; expected numbers that never fall, from 0 to the " + std::to_string(tokens) +
                   " tokens of " + (of_keys ? "k" : "q"));
}

void check_values(const Problem& problem, const TensorSpec& spec,
                  const std::vector<float>& stored) {
  if (spec.dtype == DType::int32) return check_boundaries(problem, spec.name, stored);
  const Legal legal = legal_values(problem, spec.name);
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (legal.is(stored[i])) continue;
    throw InputError(location(problem, spec.name) + ": element " +
                     index_text(spec, problem.layout, i) + " is " + std::to_string(stored[i]) +
                     "; expected " + legal.words);
  }
}

}  // namespace

Problem problem_from_file(const Operator& op, const Problem& wanted) {
  return complete(SafetensorsFile(wanted.tensors), op, wanted);
}

Problem problem_from_file(const Problem& wanted) {
  const Operator* op = find_operator(wanted.op);
  if (op == nullptr) throw InputError("unknown operator '" + wanted.op + "'");
  return problem_from_file(*op, wanted);
}

HostTensors read_inputs(const Operator& op, const Problem& problem) {
  const SafetensorsFile file(problem.tensors);
  const Problem now = complete(file, op, problem);
  if (now.shape != problem.shape || now.dtype != problem.dtype ||
      now.initial_state != problem.initial_state)
    throw InputError(problem.tensors + ": holds " + describe(now) + "; expected " +
                     describe(problem) + " (was the file replaced?)");
  HostTensors inputs;
  for (const TensorSpec& spec : op.tensors(problem)) {
    if (spec.role != TensorSpec::Role::input) continue;
    const std::vector<float> stored = file.read(entry_of(file, problem, spec.name));
    check_values(problem, spec, stored);
    inputs[spec.name] = to_logical_order(spec, problem.layout, stored);
  }
  return inputs;
}

HostTensors inputs_of(const Operator& op, const Problem& problem) {
  return problem.tensors.empty() ? op.draw(problem) : read_inputs(op, problem);
}

}  // namespace gla_bench
