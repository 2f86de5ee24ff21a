#include "harness/config/config.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "core/extents.hpp"
#include "harness/config/candidates/candidates.hpp"
#include "harness/config/draws/drawn_problems.hpp"
#include "harness/config/draws/read_random.hpp"
#include "harness/config/lists.hpp"
#include "harness/config/policy.hpp"
#include "harness/config/shapes.hpp"
#include "harness/config/sweep.hpp"
#include "harness/config/tiles.hpp"
#include "harness/records/dtype_json.hpp"
#include "harness/records/problem_fields.hpp"
#include "harness/support/system/own_files.hpp"

namespace gla_bench {
namespace {

constexpr std::string_view any_name = "all";

/// Every value of an enum that has names, for messages and parsing.
template <class Enum>
std::vector<std::string> names_of(std::initializer_list<Enum> values) {
  std::vector<std::string> names;
  for (const Enum value : values) names.emplace_back(name(value));
  return names;
}

template <class Enum, class Parse>
std::vector<Enum> read_enums(const JsonNode& node, std::initializer_list<Enum> values,
                             std::string_view what, Parse parse) {
  std::vector<Enum> list;
  for (const JsonNode& item : node.items(1))
    list.push_back(*parse(item.one_of(names_of(values), what)));
  return without_duplicates(list);
}

std::vector<DType> read_dtypes(const JsonNode& node) {
  std::vector<DType> list;
  for (const JsonNode& item : node.items(1)) list.push_back(read_dtype(item));
  return without_duplicates(list);
}

std::vector<bool> read_flags(const JsonNode& node) {
  if (node.is_boolean()) return {node.boolean()};
  if (!node.is_array()) node.fail("true, false, or a list of them");
  std::vector<bool> flags;
  for (const JsonNode& item : node.items(1)) flags.push_back(item.boolean());
  return without_duplicates(flags);
}

/// "all", or a list of names out of `known`.
std::vector<std::string> read_names(const JsonNode& node, const std::vector<std::string>& known,
                                    std::string_view what) {
  if (node.is_string()) {
    if (node.text() != any_name) node.fail("\"all\" or a list with some of " + join(known));
    return known;
  }
  std::vector<std::string> names;
  for (const JsonNode& item : node.items(1)) names.push_back(item.one_of(known, what));
  return without_duplicates(names);
}

/// A variant's axes over the backends' implementations.
KnownAxes axes_of(const Catalog& catalog, const Sweep& sweep, std::string_view variant) {
  KnownAxes axes;
  for (const Variant& candidate : catalog.variants)
    if (candidate.op == sweep.op && candidate.name == variant &&
        candidate.direction == sweep.direction)
      for (const TileAxis& axis : candidate.space) {
        axes.values[axis.name].insert(axis.values.begin(), axis.values.end());
        axes.defaults[axis.name].insert(axis.values.front());
      }
  return axes;
}

/// "all" variants, or some by name. "all" never includes "auto".
std::vector<std::string> read_variants(const JsonNode& node, const Catalog& catalog,
                                       const Sweep& sweep) {
  auto known = catalog.variant_names(sweep.op, sweep.direction);
  if (known.empty()) node.fail("a variant, but " + sweep.op + " has none");
  if (node.is_array()) known.emplace_back(auto_variant);
  return read_names(node, known, "a variant of " + sweep.op);
}

TensorSource read_tensors(const JsonNode& node, const Operator& op, const std::string& folder) {
  std::vector<std::string> keys = input_names(op);
  keys.insert(keys.begin(), "file");
  node.expect_keys(keys);
  TensorSource source;
  source.file = read_path(node.at("file"), folder);
  if (source.file.empty()) node.at("file").fail("the path of a .safetensors file");
  for (const auto& [key, value] : node.members())
    if (key != "file") source.names[key] = value.text();
  return source;
}

void read_inputs_of_sweep(const JsonNode& node, const Operator& op, const std::string& folder,
                          Sweep& sweep) {
  if (const auto tensors = node.find("tensors")) {
    for (const std::string_view key :
         {"shapes", "dtypes", "gates", "initial_state", "seed", "random"})
      if (const auto other = node.find(key))
        other->fail("no \"" + std::string(key) + "\" beside \"tensors\": the file decides it");
    sweep.tensors = read_tensors(*tensors, op, folder);
    return;
  }
  sweep.gates = {default_gate(op)};
  const auto random = node.find("random");
  if (random) read_random(node, *random, op, sweep);
  if (!random || node.find("dtypes")) sweep.dtypes = read_dtypes(node.at("dtypes"));
  if (!random) sweep.shapes = without_duplicates(read_shapes(node.at("shapes"), op));
  if (const auto gates = node.find("gates"))
    sweep.gates = read_names(*gates, op.gates, "a gate regime of " + op.name);
  if (const auto flags = node.find("initial_state")) sweep.initial_state = read_flags(*flags);
  if (const auto seed = node.find("seed")) sweep.seed = seed->unsigned_integer();
}

/// {"causal": false, "lse": [true, false]}: a value, or a list of them; true, false and 16 stand
/// for "true", "false" and "16".
std::map<std::string, std::vector<std::string>> read_options(const JsonNode& node,
                                                             const Operator& op) {
  std::vector<std::string> names;
  for (const OptionAxis& axis : op.options) names.push_back(axis.name);
  node.expect_keys(names);
  std::map<std::string, std::vector<std::string>> options;
  for (const OptionAxis& axis : op.options) {
    const auto given = node.find(axis.name);
    if (!given) continue;
    const auto value = [&](const JsonNode& item) {
      const std::string text = item.is_string() ? item.text() : item.json().dump();
      if (const auto known = option_value(axis, text)) return *known;
      return item.one_of(axis.values, "a value of " + axis.name);
    };
    std::vector<std::string>& list = options[axis.name];
    if (given->is_array())
      for (const JsonNode& item : given->items(1)) list.push_back(value(item));
    else
      list.push_back(value(*given));
    list = without_duplicates(list);
  }
  return options;
}

/// One direction or several; forward where none is given.
std::vector<Direction> read_directions(const JsonNode& sweep, const Operator& op) {
  const auto given = sweep.find("direction");
  if (!given) return {Direction::forward};
  std::vector<std::string> known;
  for (const Direction direction : op.directions) known.emplace_back(name(direction));
  const auto read = [&](const JsonNode& node) {
    return *parse_direction(node.one_of(known, "a direction of " + op.name));
  };
  if (!given->is_array()) return {read(*given)};
  std::vector<Direction> list;
  for (const JsonNode& item : given->items(1)) list.push_back(read(item));
  return without_duplicates(list);
}

/// A scale, null for the operator's default, or a list of them.
std::vector<std::optional<double>> read_scales(const JsonNode& node) {
  const auto read = [](const JsonNode& item) -> std::optional<double> {
    if (item.is_null()) return std::nullopt;
    const double scale = item.number(-1e6, 1e6);
    if (scale == 0) item.fail("a scale other than 0, or null for the operator's default");
    return scale;
  };
  if (!node.is_array()) return {read(node)};
  std::vector<std::optional<double>> list;
  for (const JsonNode& item : few_items(node)) list.push_back(read(item));
  return without_duplicates(list);
}

/// How many problems a sweep lists: the product of its axes.
double problem_count(const Sweep& sweep) {
  if (sweep.random) return static_cast<double>(sweep.drawn.problems.size());
  double count =
      static_cast<double>(sweep.layouts.size() * sweep.final_state.size() * sweep.scales.size());
  if (!sweep.tensors)
    count *= static_cast<double>(sweep.shapes.size() * sweep.dtypes.size()) *
             static_cast<double>(sweep.gates.size() * sweep.initial_state.size());
  for (const auto& [option, values] : sweep.options) count *= static_cast<double>(values.size());
  return count;
}

/// A sweep with a problem that the operator says does not exist is an error in the config. It is
/// not recorded as a row of refusals.
void refuse_problems(const JsonNode& node, const Operator& op, const Sweep& sweep) {
  if (sweep.random && sweep.drawn.problems.empty())
    node.fail("axes from which " + op.name + " has a problem");
  if (!op.refuse || sweep.tensors || sweep.random) return;
  for (const Problem& problem : problems(sweep))
    if (const auto reason = op.refuse(problem))
      node.fail("problems that " + op.name + " has: " + *reason + " (" + describe(problem) + ")");
}

/// The arithmetics that products may have.
std::set<Arithmetic> read_arithmetic(const JsonNode& node) {
  std::set<Arithmetic> asked;
  for (const JsonNode& item : node.items(1)) {
    const std::string text =
        item.one_of({"float32", "tf32", "bfloat16", "float16"}, "an arithmetic");
    for (const Arithmetic one : EnumNames<Arithmetic>::values)
      if (name(one) == text) asked.insert(one);
  }
  return asked;
}

Sweep read_sweep(const JsonNode& node, const Operator& op, Direction direction,
                 const Catalog& catalog, const std::string& folder) {
  Sweep sweep;
  sweep.op = op.name;
  sweep.direction = direction;
  const JsonNode variants = node.at("variants");
  sweep.variants = read_variants(variants, catalog, sweep);
  sweep.refusals_allowed = variants.is_string();
  sweep.layouts = {Layout::seq_first};
  read_inputs_of_sweep(node, op, folder, sweep);
  if (const auto flag = node.find("refusals_allowed")) sweep.refusals_allowed = flag->boolean();
  if (const auto layouts = node.find("layouts"))
    sweep.layouts =
        read_enums(*layouts, {Layout::seq_first, Layout::head_first}, "a layout", parse_layout);
  if (const auto flags = node.find("final_state")) sweep.final_state = read_flags(*flags);
  if (const auto scale = node.find("scale")) sweep.scales = read_scales(*scale);
  // Problems are drawn from the options that a config names, so that a recorded config draws the
  // same ones after an operator has got another option.
  const auto options = node.find("options");
  if (options && sweep.random) sweep.options.clear();
  if (options)
    for (auto& [name, values] : read_options(*options, op)) sweep.options[name] = values;
  if (const auto tiles = node.find("tiles")) {
    std::vector<std::string> named = sweep.variants;
    std::erase(named, auto_variant);  // whose tile is the table's
    tiles->expect_keys(named);
    for (const auto& [variant, axes] : tiles->members())
      sweep.tiles[variant] = read_narrowing(axes, axes_of(catalog, sweep, variant), folder);
  }
  if (const auto list = node.find("arithmetic")) sweep.arithmetic = read_arithmetic(*list);
  if (const auto most = node.find("max_tiles"); most)
    sweep.max_tiles = static_cast<int>(most->integer(0, 1000000));
  if (const auto flag = node.find("rare_tiles")) sweep.rare_tiles = flag->boolean();
  if (sweep.random) sweep.drawn = draw_problems(sweep, op);
  if (!(problem_count(sweep) <= most_problems))
    node.fail("a sweep of at most " + std::to_string(most_problems) + " problems");
  refuse_problems(node, op, sweep);
  return sweep;
}

/// One operator or several, each once.
std::vector<const Operator*> read_operators(const JsonNode& node, const Catalog& catalog) {
  const auto read = [&](const JsonNode& item) {
    return catalog.find_operator(item.one_of(catalog.operator_names(), "an operator"));
  };
  if (!node.is_array()) return {read(node)};
  std::vector<const Operator*> list;
  for (const JsonNode& item : node.items(1)) list.push_back(read(item));
  return without_duplicates(list);
}

/// Operators and directions have variants of their own, so that each pair becomes a sweep.
std::vector<Sweep> read_sweeps(const JsonNode& node, const Catalog& catalog,
                               const std::string& folder) {
  node.expect_keys({"operator", "direction", "variants", "refusals_allowed", "dtypes", "layouts",
                    "gates", "shapes", "initial_state", "final_state", "scale", "seed", "tiles",
                    "arithmetic", "max_tiles", "rare_tiles", "tensors", "options", "random"});
  std::vector<Sweep> sweeps;
  for (const Operator* op : read_operators(node.at("operator"), catalog))
    for (const Direction direction : read_directions(node, *op))
      sweeps.push_back(read_sweep(node, *op, direction, catalog, folder));
  return sweeps;
}

}  // namespace

std::string_view name(Cover cover) {
  return cover == Cover::pairs ? "pairs" : "none";
}

Config read_config(const JsonNode& node, const Catalog& catalog, const std::string& folder) {
  node.expect_keys(
      {"$schema", "description", "backend", "candidates", "sweeps", "policy", "tuned"});
  Config config;
  config.path = node.file();
  if (const auto schema = node.find("$schema")) schema->text();
  if (const auto description = node.find("description")) config.description = description->text();
  if (const auto backend = node.find("backend"))
    config.backend = parse_backend(backend->one_of({"auto", "host", "cuda"}, "a backend"));
  const auto candidates = node.find("candidates");
  config.catalog = candidates ? with_manifests(catalog, *candidates, folder) : catalog;
  config.candidates = manifests_of(config.catalog);
  double count = 0;
  for (const JsonNode& node_of_sweep : node.at("sweeps").items(1))
    for (Sweep& sweep : read_sweeps(node_of_sweep, config.catalog, folder)) {
      count += problem_count(sweep);
      if (!(count <= most_problems))
        node_of_sweep.fail("sweeps of at most " + std::to_string(most_problems) +
                           " problems together");
      config.sweeps.push_back(std::move(sweep));
    }
  if (const auto policy = node.find("policy")) config.policy = read_policy(*policy, folder);
  if (const auto tuned = node.find("tuned")) {
    config.tuned = read_path(*tuned, folder);
    if (config.tuned.empty()) tuned->fail("the path of a tuned table");
  }
  return config;
}

Config load_config(const std::string& name, const Catalog& catalog) {
  const std::string path = existing_or_installed(name);
  const Json document = read_json_file(path);
  return read_config(JsonNode(document, path), catalog,
                     std::filesystem::path(path).parent_path().string());
}

}  // namespace gla_bench
