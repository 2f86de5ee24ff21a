#include "harness/config/t1.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/config/space/expression.hpp"

namespace gla_bench {
namespace {

std::vector<std::string> texts_of(const std::set<int>& values) {
  std::vector<std::string> texts;
  for (const int value : values) texts.push_back(std::to_string(value));
  return texts;
}

/// "[16, 32]", "list(range(8, 65, 8))", or a JSON array of numbers (truth as 0 and 1).
std::vector<std::int64_t> read_list(const JsonNode& node) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  std::vector<std::int64_t> values;
  if (node.is_array()) {
    for (const JsonNode& item : node.items(1))
      values.push_back(item.is_boolean() ? std::int64_t{item.boolean()}
                                         : item.integer(-most - 1, most));
    return values;
  }
  try {
    const ExpressionValue value =
        evaluate(parse_expression(node.text()), [](const std::string&) { return std::nullopt; });
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) values = *list;
  } catch (const ExpressionError& error) {
    node.fail(std::string("a list of whole numbers that can be worked out: ") + error.what());
  }
  if (values.empty()) node.fail("a list of whole numbers, as \"[16, 32]\"");
  return values;
}

std::vector<int> read_values(const JsonNode& node, const std::string& axis,
                             const std::set<int>& known) {
  std::vector<int> values;
  for (const std::int64_t value : read_list(node)) {
    const bool fits = value >= std::numeric_limits<int>::min() &&
                      value <= std::numeric_limits<int>::max() &&
                      known.contains(static_cast<int>(value));
    if (!fits)
      node.fail("values of the axis \"" + axis + "\" (" + join(texts_of(known)) +
                "), of which it has no " + std::to_string(value));
    if (std::find(values.begin(), values.end(), value) == values.end())
      values.push_back(static_cast<int>(value));
  }
  return values;
}

void read_parameter(const JsonNode& node, const KnownAxes& known, Narrowing& narrowing) {
  node.expect_keys({"Name", "Type", "Values", "Default"});
  std::vector<std::string> axes;
  for (const auto& [axis, values] : known.values) axes.push_back(axis);
  const JsonNode name = node.at("Name");
  const std::string axis = name.one_of(axes, "an axis of the variant");
  const JsonNode type = node.at("Type");
  const std::string kind = type.one_of({"int", "uint", "float", "bool", "string"}, "a type of T1");
  if (kind == "float" || kind == "string")
    type.fail("int, uint or bool: the axis \"" + axis + "\" is a whole number");
  if (narrowing.axes.contains(axis)) name.fail("a parameter that is not there already");
  narrowing.axes[axis] = read_values(node.at("Values"), axis, known.values.at(axis));
}

Condition read_constraint(const JsonNode& node, const Narrowing& narrowing) {
  node.expect_keys({"Parameters", "Expression"});
  std::vector<std::string> parameters;
  for (const auto& [axis, values] : narrowing.axes) parameters.push_back(axis);
  for (const JsonNode& item : node.at("Parameters").items())
    item.one_of(parameters, "a parameter of this space");
  return read_condition(node.at("Expression"), parameters);
}

}  // namespace

Narrowing read_t1(const JsonNode& document, const KnownAxes& known) {
  const JsonNode space = document.at("ConfigurationSpace");
  space.expect_keys({"TuningParameters", "Conditions"});
  document.at("KernelSpecification")
      .at("Language")
      .one_of({"CUDA", "OpenCL", "Vulkan"}, "a language");
  Narrowing narrowing;
  for (const JsonNode& item : space.at("TuningParameters").items(1))
    read_parameter(item, known, narrowing);
  if (const auto conditions = space.find("Conditions"))
    for (const JsonNode& item : conditions->items())
      narrowing.where.push_back(read_constraint(item, narrowing));
  for (const auto& [axis, defaults] : known.defaults)
    narrowing.axes.try_emplace(axis, defaults.begin(), defaults.end());
  return narrowing;
}

Narrowing read_t1_file(const std::string& path, const KnownAxes& known) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    throw InputError(path + ": is no file that can be read");
  const Json document = read_json_file(path);
  return read_t1(JsonNode(document, path), known);
}

}  // namespace gla_bench
