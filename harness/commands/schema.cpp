// gla-bench schema: the formats of the files that the program reads and writes.

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/backends/sources/source_store.hpp"
#include "harness/commands/commands.hpp"
#include "harness/config/candidates/manifest.hpp"
#include "harness/config/config_schema.hpp"
#include "harness/records/results_schema.hpp"
#include "harness/support/json.hpp"
#include "harness/support/text.hpp"

namespace gla_bench::commands {
namespace {

constexpr std::string_view folder = "configs/schema/", ending = ".schema.json";

/// The schemas that are written by hand. The build embeds them in the binary.
std::vector<std::string> embedded_schemas() {
  std::vector<std::string> names;
  for (const Source& source : embedded_sources())
    if (source.path.starts_with(folder) && source.path.ends_with(ending))
      names.emplace_back(
          source.path.substr(folder.size(), source.path.size() - folder.size() - ending.size()));
  return names;
}

std::vector<std::string> schema_names() {
  std::vector<std::string> names = embedded_schemas();
  names.insert(names.end(), {"candidates", "config", "results"});
  std::sort(names.begin(), names.end());
  return names;
}

/// A schema as it stands in its file. @throws InputError for an unknown name
std::string schema_text(const std::string& name, VariantNames variants = VariantNames::known) {
  if (name == "config") return config_schema(program_catalog(), variants).dump(1) + "\n";
  if (name == "candidates") return manifest_schema().dump(1) + "\n";
  if (name == "results") return results_schema().dump(1) + "\n";
  const std::string path = std::string(folder) + name + std::string(ending);
  for (const Source& source : embedded_sources())
    if (source.path == path) return std::string(source.text);
  const std::vector<std::string> names = schema_names();
  const auto meant = nearest(name, names);
  throw InputError("schema: found \"" + name + "\", expected one of " + join(names) +
                   (meant ? " (did you mean \"" + *meant + "\"?)" : ""));
}

void list_schemas() {
  for (const std::string& name : schema_names()) {
    const Json schema = parse_json(schema_text(name), name);
    std::cout << name << ": " << schema["description"].get<std::string>() << "\n";
  }
}

}  // namespace

void add_schema(CLI::App& program, Context&) {
  auto name = std::make_shared<std::string>();
  auto any_variant = std::make_shared<bool>(false);
  CLI::App* command = program.add_subcommand(
      "schema", "The format of a kind of file as a JSON Schema, which editors and validators read");
  command->add_option("name", *name,
                      "the kind of file: " + join(schema_names()) + "; without it they are listed");
  command->add_flag("--any-variant", *any_variant,
                    "with config: a sweep may name any variant, not only those of this program; "
                    "this is what configs/schema/config.schema.json has");
  command->footer(
      "Examples:\n  gla-bench schema\n"
      "  gla-bench schema results > results.schema.json");
  command->callback([name, any_variant] {
    if (name->empty())
      list_schemas();
    else
      std::cout << schema_text(*name, *any_variant ? VariantNames::any : VariantNames::known);
  });
}

}  // namespace gla_bench::commands
