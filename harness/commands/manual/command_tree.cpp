#include "harness/commands/manual/command_tree.hpp"

#include <algorithm>
#include <sstream>

#include "core/catalog.hpp"

namespace gla_bench::commands {
namespace {

/// "{auto,host,cuda}" at the end of CLI11's "TEXT:{auto,host,cuda}": the values that it checks for.
std::vector<std::string> checked_values(const std::string& type) {
  const std::size_t begin = type.find('{'), end = type.rfind('}');
  std::vector<std::string> values;
  if (begin == std::string::npos || end == std::string::npos) return values;
  std::istringstream list(type.substr(begin + 1, end - begin - 1));
  for (std::string value; std::getline(list >> std::ws, value, ',');) values.push_back(value);
  return values;
}

OptionFacts read_option(const CLI::Option& option, const KnownValues& known) {
  OptionFacts facts;
  for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  if (option.get_positional()) facts.positional = option.get_name(true);
  facts.help = option.get_description();
  facts.required = option.get_required();
  if (option.get_items_expected_max() == 0) return facts;
  const std::string type = option.get_type_name();
  facts.value = type.substr(0, type.find(':'));
  facts.default_value = option.get_default_str();
  const auto values = known.find(facts.value);
  facts.choices = values == known.end() ? checked_values(type) : values->second;
  return facts;
}

std::vector<OptionFacts> read_options(const CLI::App& command, const KnownValues& known) {
  std::vector<OptionFacts> list;
  for (const CLI::Option* option :
       command.get_options([](const CLI::Option* o) { return !o->get_group().empty(); }))
    list.push_back(read_option(*option, known));
  return list;
}

}  // namespace

ProgramFacts read_command_tree(const CLI::App& program, const std::string& version,
                               const KnownValues& known) {
  ProgramFacts facts{version, program.get_description(), read_options(program, known), {}};
  for (const CLI::App* command :
       program.get_subcommands([](const CLI::App* app) { return !app->get_group().empty(); }))
    facts.commands.push_back({command->get_name(), command->get_description(),
                              command->get_footer(), read_options(*command, known)});
  return facts;
}

KnownValues catalog_values() {
  KnownValues known;
  const Catalog catalog = program_catalog();
  known["OPERATOR"] = catalog.operator_names();
  std::vector<std::string>& variants = known["VARIANT"];
  for (const Variant& variant : catalog.variants)
    if (std::find(variants.begin(), variants.end(), variant.name) == variants.end())
      variants.push_back(variant.name);
  return known;
}

}  // namespace gla_bench::commands
