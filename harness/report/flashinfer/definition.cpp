#include "harness/report/flashinfer/definition.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/extents.hpp"
#include "harness/support/hash.hpp"

namespace gla_bench::flashinfer {
namespace {

/// Extents that no other extent is mistaken for.
constexpr std::array<std::int64_t, 10> telling{7, 1013, 11, 43, 47, 1511, 5, 53, 59, 13};

/// The extents that the operator's problem states.
std::vector<const ExtentAxis*> stated_extents(const Operator& op, const Problem& problem) {
  std::vector<const ExtentAxis*> list;
  for (const std::string& name : all_extents(op))
    if (const ExtentAxis& axis = extent_axis(name); is_stated(axis, problem.shape))
      list.push_back(&axis);
  return list;
}

const TensorSpec& tensor_of(const std::vector<TensorSpec>& tensors, const std::string& name) {
  for (const TensorSpec& tensor : tensors)
    if (tensor.name == name) return tensor;
  throw InputError("no tensor '" + name + "'");
}

Json tensor_json(const Operator& op, const Problem& problem, const TensorSpec& tensor) {
  return {{"shape", axis_names(op, problem, tensor.name)}, {"dtype", name(tensor.dtype)}};
}

}  // namespace

std::optional<std::string> why_not_defined(const Problem& problem) {
  if (has_gradients(problem.direction)) return std::string(name(problem.direction));
  if (problem.layout != Layout::seq_first) return "layouts other than seq_first";
  if (!problem.options.empty()) return "options other than the defaults";
  if (problem.shape.sequences > 0) return "ragged sequences";
  if (!problem.tensors.empty()) return "inputs from a file";
  constexpr std::array known{"linear_attention", "retention", "simple_gla", "gla", "rwkv6",
                             "attention",        "softmax"};
  if (std::find(known.begin(), known.end(), problem.op) == known.end())
    return "the operator " + problem.op;
  return std::nullopt;
}

std::string definition_name(const Operator& op, const Problem& problem) {
  std::string text =
      op.name + "_" + std::string(name(problem.direction)) + "_" + std::string(name(problem.dtype));
  for (const ExtentAxis* axis : stated_extents(op, problem))
    if (is_dimension(*axis))
      text += "_" + std::string(axis->name) + std::to_string(problem.shape.*axis->extent);
  if (problem.shape.key_seq > 0) text += "_key_seq";
  if (problem.shape.key_heads > 0) text += "_key_heads";
  if (problem.initial_state) text += "_initial_state";
  if (!problem.final_state) text += "_no_final_state";
  return text;
}

std::vector<std::string> axis_names(const Operator& op, const Problem& problem,
                                    const std::string& tensor) {
  Problem told = problem;
  for (std::size_t i = 0; i < extent_axes.size(); ++i)
    if (is_stated(extent_axes[i], problem.shape)) told.shape.*extent_axes[i].extent = telling[i];
  if (told.shape.key_heads > 0) told.shape.heads = 11 * told.shape.key_heads;
  std::vector<std::string> names;
  const std::vector<TensorSpec> tensors = op.tensors(told);
  for (const std::int64_t extent : tensor_of(tensors, tensor).extents) {
    std::string found;
    for (const ExtentAxis* axis : stated_extents(op, problem))
      if (told.shape.*axis->extent == extent) found = std::string(axis->name);
    if (found.empty())
      throw InputError("an axis of '" + tensor + "' of " + op.name +
                       " is no extent of the problem");
    names.push_back(found);
  }
  return names;
}

std::map<std::string, std::int64_t> variable_axes(const Operator& op, const Problem& problem) {
  std::map<std::string, std::int64_t> values;
  for (const ExtentAxis* axis : stated_extents(op, problem))
    if (!is_dimension(*axis)) values[std::string(axis->name)] = problem.shape.*axis->extent;
  return values;
}

Json definition_of(const Operator& op, const Problem& problem) {
  Json axes = Json::object(), inputs = Json::object(), outputs = Json::object();
  for (const ExtentAxis* axis : stated_extents(op, problem)) {
    Json& json = axes[std::string(axis->name)];
    if (is_dimension(*axis))
      json = {{"type", "const"}, {"value", problem.shape.*axis->extent}};
    else
      json = {{"type", "var"}};
    json["description"] = axis->meaning;
  }
  for (const TensorSpec& tensor : op.tensors(problem))
    (tensor.role == TensorSpec::Role::input ? inputs : outputs)[tensor.name] =
        tensor_json(op, problem, tensor);
  inputs["scale"] = {{"shape", nullptr}, {"dtype", "float32"}};
  Json constraints = Json::array();
  if (problem.shape.key_heads > 0) constraints.push_back("heads % key_heads == 0");
  return {{"name", definition_name(op, problem)},
          {"op_type", op.name},
          {"description", op.summary},
          {"axes", axes},
          {"inputs", inputs},
          {"outputs", outputs},
          {"constraints", constraints},
          {"tags", {"gla-bench"}},
          {"reference", reference_text(op, problem)}};
}

std::vector<std::string> carried_inputs(const Operator& op, const Problem& problem) {
  std::vector<std::string> drawn;
  const bool normal = std::find(op.gates.begin(), op.gates.end(), "normal") == op.gates.end() ||
                      problem.gate == "normal";
  if (normal && op.signed_inputs) drawn = op.signed_inputs(problem);
  std::vector<std::string> carried;
  for (const TensorSpec& tensor : op.tensors(problem))
    if (tensor.role == TensorSpec::Role::input &&
        std::find(drawn.begin(), drawn.end(), tensor.name) == drawn.end())
      carried.push_back(tensor.name);
  return carried;
}

std::string workload_uuid(const Problem& problem) {
  const std::string text = describe(problem);
  const std::string digits = hex(hash_bytes(text)) + hex(hash_bytes("uuid " + text));
  std::string uuid;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) uuid += '-';
    uuid += digits[i];
  }
  return uuid;
}

Json workload_of(const Operator& op, const Problem& problem, const std::string& path) {
  Json inputs = Json::object();
  for (const TensorSpec& tensor : op.tensors(problem))
    if (tensor.role == TensorSpec::Role::input) inputs[tensor.name] = {{"type", "random"}};
  for (const std::string& input : carried_inputs(op, problem))
    inputs[input] = {{"type", "safetensors"}, {"path", path}, {"tensor_key", input}};
  inputs["scale"] = {{"type", "scalar"}, {"value", scale_of(op, problem)}};
  return {
      {"uuid", workload_uuid(problem)}, {"axes", variable_axes(op, problem)}, {"inputs", inputs}};
}

}  // namespace gla_bench::flashinfer
