#include "harness/config/candidates/manifest.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "harness/config/candidates/manifest_fields.hpp"
#include "harness/config/candidates/problem_numbers.hpp"
#include "harness/support/text.hpp"

namespace gla_bench {
namespace {

using Names = std::vector<std::string>;
using Kind = ManifestArgument::Kind;

constexpr std::size_t most_tiles = 100000;
constexpr std::size_t most_steps = 64;

bool has(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Names names_of(const std::vector<Direction>& directions) {
  Names names;
  for (const Direction direction : directions) names.emplace_back(name(direction));
  return names;
}

bool is_identifier(const std::string& text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && letter(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

/// What must hold between a manifest's parts, of which the fields have been read.
class Check {
 public:
  Check(const JsonNode& node, const Manifest& manifest, const Operator& op)
      : node_(node),
        manifest_(manifest),
        names_(problem_names(op, manifest.direction)),
        limits_(limit_names()) {
    for (const TensorSpec& spec : possible_tensors(op, manifest.direction))
      buffers_.push_back(spec.name);
    buffers_.emplace_back(scale_argument);
  }

  void all() {
    tile();
    conditions();
    if (manifest_.function.empty())
      kernel();
    else
      function();
    if (const auto bytes = node_.find("bytes")) moved(*bytes, *manifest_.bytes);
    if (const auto flops = node_.find("flops")) formula(*flops, *manifest_.flops);
  }

 private:
  static std::vector<JsonNode> items(const JsonNode& owner, std::string_view key) {
    const auto list = owner.find(key);
    return list ? list->items() : std::vector<JsonNode>{};
  }

  static void identifier(const JsonNode& node, const std::string& what) {
    if (!is_identifier(node.text())) node.fail(what + ": letters, digits and _");
  }

  void formula(const JsonNode& node, const Formula& formula, bool of_device = false) const {
    for (const std::string& name : formula.names()) {
      if (has(names_, name) || (of_device && has(limits_, name))) continue;
      const auto meant = nearest(name, names_);
      node.fail("extents, options, strides and tile axes of " + manifest_.op + ", which has no " +
                name + (meant ? " (did you mean " + *meant + "?)" : ""));
    }
  }

  void moved(const JsonNode& node, const ManifestBytes& bytes) const {
    formula(node.at("read"), bytes.read);
    formula(node.at("write"), bytes.write);
  }

  void tile() {
    std::size_t count = 1;
    const auto nodes = items(node_, "tile");
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const TileAxis& axis = manifest_.tile[i];
      const JsonNode name = nodes[i].at("name"), values = nodes[i].at("values");
      identifier(name, "the name of an axis");
      if (has(names_, axis.name) || has(limits_, axis.name))
        name.fail("a name that nothing else has in expressions");
      if (values.items(1).size() != std::set<int>(axis.values.begin(), axis.values.end()).size())
        values.fail("values that differ");
      count *= axis.values.size();
      if (count > most_tiles) values.fail("at most " + std::to_string(most_tiles) + " tiles");
      names_.push_back(axis.name);
    }
  }

  void conditions() const {
    const auto nodes = items(node_, "requires");
    for (std::size_t i = 0; i < nodes.size(); ++i)
      formula(nodes[i].at("condition"), manifest_.conditions[i].condition, true);
  }

  /// Refuses keys that say something of kernels or of functions alone.
  void refuse(std::initializer_list<std::string_view> keys, const std::string& owner) const {
    for (const std::string_view key : keys)
      if (const auto found = node_.find(key); found && !found->json().empty())
        found->fail("no such key of " + owner);
  }

  void kernel() {
    refuse({"arguments", "framework"}, "a kernel");
    node_.at("source");
    if (manifest_.backend != BackendId::cuda)
      node_.at("backend").fail("\"cuda\", where kernels run");
    constants();
    workspace();
    launches();
  }

  void function() const {
    refuse({"source", "constants", "workspace", "launches"}, "a function");
    const JsonNode function = node_.at("function");
    const auto place = function_place(manifest_.function);
    if (!place || place->file == ".py" || !is_identifier(place->name))
      function.fail("a function in Python, as file.py:name");
    const std::string_view framework = manifest_.framework;
    if (const JsonNode node = node_.at("framework");
        // JAX has streams of its own, whose work no event of this program's would time.
        ((framework == "numpy" || framework == "jax") && manifest_.backend == BackendId::cuda) ||
        (framework == "cupy" && manifest_.backend == BackendId::host))
      node.fail("a framework with tensors on the backend " + std::string(name(manifest_.backend)));
    Names known = names_;
    known.insert(known.end(), buffers_.begin(), buffers_.end());
    const JsonNode list = node_.at("arguments");
    for (const JsonNode& item : list.items(1))
      item.one_of(known, "a tensor, an extent, an option or a tile axis of " + manifest_.op);
    if (manifest_.arguments.size() !=
        std::set<std::string>(manifest_.arguments.begin(), manifest_.arguments.end()).size())
      list.fail("names that differ");
  }

  void constants() const {
    const auto given = node_.find("constants");
    if (!given) return;
    for (const auto& [macro, value] : given->members()) {
      if (!is_identifier(macro)) value.fail("a macro whose name has letters, digits and _");
      formula(value, manifest_.constants.at(macro));
    }
  }

  void workspace() {
    const auto nodes = items(node_, "workspace");
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const JsonNode name = nodes[i].at("name");
      identifier(name, "the name of a region");
      if (has(buffers_, name.text())) name.fail("a name that no other region or tensor has");
      formula(nodes[i].at("bytes"), manifest_.workspace[i].bytes);
      buffers_.push_back(name.text());
      regions_.push_back(name.text());
    }
  }

  void launches() const {
    const JsonNode list = node_.at("launches");
    const auto nodes = list.items(1);
    if (nodes.size() > most_steps) list.fail("at most " + std::to_string(most_steps) + " launches");
    bool any_kernel = false;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const ManifestLaunch& launch = manifest_.launches[i];
      if (launch.stage.empty() != manifest_.launches.front().stage.empty())
        nodes[i].fail("a stage for all launches or for none");
      if (launch.bytes) moved(nodes[i].at("bytes"), *launch.bytes);
      if (nodes[i].find("zero"))
        zero(nodes[i]);
      else
        launch_of(nodes[i], launch);
      any_kernel = any_kernel || launch.zero.empty();
    }
    if (!any_kernel) list.fail("a launch of a kernel");
  }

  void zero(const JsonNode& node) const {
    node.expect_keys({"zero", "stage", "bytes"});
    node.at("zero").one_of(regions_, "a region of the workspace");
  }

  void launch_of(const JsonNode& node, const ManifestLaunch& launch) const {
    identifier(node.at("entry"), "the name of a kernel");
    extents(node.at("grid"), launch.grid);
    extents(node.at("block"), launch.block);
    if (const auto bytes = node.find("shared_bytes")) formula(*bytes, launch.shared_bytes);
    const JsonNode list = node.at("arguments");
    const auto nodes = list.items(1);
    if (nodes.size() > most_arguments)
      list.fail("at most " + std::to_string(most_arguments) + " arguments");
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const ManifestArgument& argument = launch.arguments[i];
      if (argument.kind == Kind::named)
        nodes[i].one_of(buffers_, "a tensor of " + manifest_.op + ", a region or \"scale\"");
      else
        formula(nodes[i].members()[0].second, argument.value);
    }
  }

  void extents(const JsonNode& list, const std::vector<Formula>& formulas) const {
    const auto nodes = list.items(1);
    if (nodes.size() > 3) list.fail("at most three extents: x, y, z");
    for (std::size_t i = 0; i < nodes.size(); ++i) formula(nodes[i], formulas[i]);
  }

  const JsonNode& node_;
  const Manifest& manifest_;
  Names names_, limits_;     // of numbers
  Names buffers_, regions_;  // of what may be passed, and of those that are workspace
};

}  // namespace

bool passes(const Manifest& manifest, std::string_view name) {
  if (!manifest.function.empty())
    return std::find(manifest.arguments.begin(), manifest.arguments.end(), name) !=
           manifest.arguments.end();
  return std::any_of(manifest.launches.begin(), manifest.launches.end(), [&](const auto& launch) {
    return std::any_of(launch.arguments.begin(), launch.arguments.end(), [&](const auto& argument) {
      return argument.kind == Kind::named && argument.name == name;
    });
  });
}

Manifest read_manifest(const JsonNode& node, const Catalog& catalog) {
  auto manifest = read_fields<Manifest>(node, Nulls::refused);
  if (manifest.variant == auto_variant || !is_identifier(manifest.variant))
    node.at("variant").fail("a name that begins with a letter, and not \"auto\"");
  const Operator& op =
      *catalog.find_operator(node.at("operator").one_of(catalog.operator_names(), "an operator"));
  if (std::find(op.directions.begin(), op.directions.end(), manifest.direction) ==
      op.directions.end())
    node.at("direction").one_of(names_of(op.directions), "a direction of " + op.name);
  if (const auto layouts = node.find("layouts")) layouts->items(1);
  Names options;
  for (const OptionAxis& axis : op.options) options.push_back(axis.name);
  if (const auto taken = node.find("options"))
    for (const JsonNode& item : taken->items()) item.one_of(options, "an option of " + op.name);
  Check(node, manifest, op).all();
  return manifest;
}

Json manifest_to_json(const Manifest& manifest) {
  return fields_to_json(manifest);
}

Json manifest_schema() {
  SchemaParts parts(true);
  parts.reference<Manifest>();
  Json all = parts.parts();
  Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
              {"title", "gla-bench candidates"}};
  schema.update(all.at("manifest"));
  all.erase("manifest");
  schema["$defs"] = std::move(all);
  return schema;
}

}  // namespace gla_bench
