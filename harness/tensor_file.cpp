#include "harness/tensor_file.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "harness/error.hpp"
#include "harness/safetensors.hpp"
#include "harness/staging.hpp"

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
  std::string text = problem.tensors + ": tensor '" + stored + "'";
  if (stored != input) text += " (" + input + ")";
  return text;
}

std::string names_in(const SafetensorsFile& file) {
  std::string names;
  for (const SafetensorsEntry& entry : file.entries()) {
    if (names.size() > 200) return names + ", ...";
    names.append(names.empty() ? "" : ", ").append(entry.name);
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

std::string layout_text(Layout layout, const char* last) {
  return std::string(layout == Layout::seq_first ? "[B, T, H, " : "[B, H, T, ") + last + "]";
}

const SafetensorsEntry& token_entry(const SafetensorsFile& file, const Problem& problem,
                                    const std::string& input, const char* last) {
  const SafetensorsEntry& entry = entry_of(file, problem, input);
  const std::string where = location(problem, input) + " is " + describe(entry);
  if (!dtype_of(entry))
    throw InputError(where + "; dtype " + entry.dtype +
                     " is not supported, expected F32, BF16 or F16");
  if (entry.shape.size() != 4)
    throw InputError(where + "; expected four axes, " + layout_text(problem.layout, last));
  for (const std::int64_t extent : entry.shape)
    if (extent < 1) throw InputError(where + "; expected no empty axis");
  if (entry.shape[3] > largest_dim)
    throw InputError(where + "; expected " + last + " from 1 to " + std::to_string(largest_dim));
  return entry;
}

std::string expected_text(const TensorSpec& spec, Layout layout) {
  std::string text = std::string(name(spec.dtype)) + " [";
  const char* separator = "";
  for (const std::int64_t extent : storage_extents(spec, layout)) {
    text.append(separator).append(std::to_string(extent));
    separator = ", ";
  }
  return text + "], as " + (spec.tokens ? "q and v say" : "the problem's shape says");
}

// Every input that the operator reads stands in the file with its dtype and shape.
void check_inputs(const SafetensorsFile& file, const Operator& op, const Problem& problem) {
  for (const TensorSpec& spec : op.tensors(problem)) {
    if (spec.role != TensorSpec::Role::input) continue;
    const SafetensorsEntry& entry = entry_of(file, problem, spec.name);
    if (dtype_of(entry) != spec.dtype || entry.shape != storage_extents(spec, problem.layout))
      throw InputError(location(problem, spec.name) + " is " + describe(entry) + "; expected " +
                       expected_text(spec, problem.layout) + " (layout " +
                       std::string(name(problem.layout)) + ")");
  }
}

bool reads(const Operator& op, const Problem& problem, const std::string& input) {
  const std::vector<TensorSpec> specs = op.tensors(problem);
  return std::any_of(specs.begin(), specs.end(), [&](const TensorSpec& spec) {
    return spec.role == TensorSpec::Role::input && spec.name == input;
  });
}

void check_names(const Operator& op, Problem problem) {
  problem.initial_state = true;
  for (const auto& [input, stored] : problem.tensor_names)
    if (!reads(op, problem, input))
      throw InputError(problem.tensors + ": '" + input + "' is no input of " + op.name +
                       " and can not be tensor '" + stored + "'");
}

bool has_initial_state(const SafetensorsFile& file, const Operator& op, Problem problem) {
  problem.initial_state = true;
  if (!reads(op, problem, "initial_state")) return false;
  // One that is asked for by name must be there; check_inputs() says so.
  return problem.tensor_names.count("initial_state") != 0 || file.find("initial_state") != nullptr;
}

Problem complete(const SafetensorsFile& file, const Operator& op, const Problem& wanted) {
  Problem problem = wanted;
  check_names(op, problem);
  const SafetensorsEntry& q = token_entry(file, problem, "q", "K");
  const SafetensorsEntry& v = token_entry(file, problem, "v", "V");
  const bool head_first = problem.layout == Layout::head_first;
  problem.shape.batch = q.shape[0];
  problem.shape.seq = q.shape[head_first ? 2 : 1];
  problem.shape.heads = q.shape[head_first ? 1 : 2];
  problem.shape.key_dim = q.shape[3];
  problem.shape.value_dim = v.shape[3];
  problem.dtype = *dtype_of(q);
  problem.gate = "file";
  problem.initial_state = has_initial_state(file, op, problem);
  check_inputs(file, op, problem);
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

// A gate is a logarithm of a decay: -inf forgets everything, anything above 0 would grow.
void check_values(const Problem& problem, const TensorSpec& spec,
                  const std::vector<float>& stored) {
  const bool gate = spec.name == "g";
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (gate ? stored[i] <= 0.0F : std::isfinite(stored[i])) continue;
    throw InputError(location(problem, spec.name) + ": element " +
                     index_text(spec, problem.layout, i) + " is " + std::to_string(stored[i]) +
                     "; expected " + (gate ? "a log decay <= 0" : "a finite number"));
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
