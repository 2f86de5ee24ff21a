#include "harness/config/tiles.hpp"

#include <algorithm>
#include <limits>

#include "core/error.hpp"
#include "harness/config/policy.hpp"
#include "harness/config/space/expression.hpp"
#include "harness/config/t1.hpp"

namespace gla_bench {
namespace {

constexpr std::string_view conditions_key = "where";
constexpr std::string_view t1_key = "t1";

std::vector<int> read_axis_values(const JsonNode& list, const std::string& axis,
                                  const std::set<int>& known) {
  std::vector<int> values;
  for (const JsonNode& item : list.items(1)) {
    const auto value = static_cast<int>(
        item.integer(std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
    if (!known.contains(value)) {
      std::vector<std::string> texts;
      for (const int number : known) texts.push_back(std::to_string(number));
      item.fail("a value of the axis \"" + axis + "\": " + join(texts));
    }
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  return values;
}

/// An error in the file is reported with the place in the config that names the file.
Narrowing read_t1_of(const JsonNode& node, const KnownAxes& known, const std::string& folder) {
  const std::string path = read_path(node, folder);
  try {
    Narrowing narrowing = read_t1_file(path, known);
    narrowing.file = path;
    return narrowing;
  } catch (const InputError& error) {
    throw InputError(node.file() + ": " + node.pointer() + ": " + error.what());
  }
}

}  // namespace

TileSpace narrowed(TileSpace space, const Narrowing& narrowing) {
  for (TileAxis& axis : space) {
    const auto found = narrowing.axes.find(axis.name);
    if (found == narrowing.axes.end()) continue;
    std::vector<int> kept;
    for (const int value : found->second)
      if (std::find(axis.values.begin(), axis.values.end(), value) != axis.values.end())
        kept.push_back(value);
    if (kept.empty()) kept.push_back(axis.values.front());
    axis.values = kept;
  }
  return space;
}

bool allows(const Narrowing& narrowing, const Tile& tile) {
  return std::all_of(narrowing.where.begin(), narrowing.where.end(),
                     [&](const Condition& condition) { return condition.holds(tile); });
}

Condition read_condition(const JsonNode& node, const std::vector<std::string>& names) {
  const std::string text = node.text();
  try {
    Condition condition(text);
    for (const std::string& name : condition.names())
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        const auto meant = nearest(name, names);
        node.fail("a condition on " + join(names) + ", which do not have " + name +
                  (meant ? " (did you mean " + *meant + "?)" : ""));
      }
    return condition;
  } catch (const ExpressionError& error) {
    node.fail(std::string("a condition that can be read: ") + error.what());
  }
}

Narrowing read_narrowing(const JsonNode& node, const KnownAxes& known, const std::string& folder) {
  if (const auto t1 = node.find(t1_key)) {
    node.expect_keys({std::string(t1_key)});
    return read_t1_of(*t1, known, folder);
  }
  std::vector<std::string> axes;
  for (const auto& [axis, values] : known.values) axes.push_back(axis);
  std::vector<std::string> keys = axes;
  keys.insert(keys.end(), {std::string(conditions_key), std::string(t1_key)});
  node.expect_keys(keys);
  Narrowing narrowing;
  for (const auto& [key, list] : node.members()) {
    if (key != conditions_key) {
      narrowing.axes[key] = read_axis_values(list, key, known.values.at(key));
      continue;
    }
    for (const JsonNode& item : list.items(1))
      narrowing.where.push_back(read_condition(item, axes));
  }
  return narrowing;
}

}  // namespace gla_bench
