#include "harness/commands/shared/random_config.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.hpp"
#include "harness/commands/shared/dtype_argument.hpp"
#include "harness/config/random_problems.hpp"
#include "harness/support/text.hpp"

namespace gla_bench::commands {
namespace {

/// The operators whose problems can be drawn, limited to those that are asked for, if any.
std::vector<std::string> operators_of(const RandomOptions& options, const Catalog& catalog) {
  std::vector<std::string> known;
  for (const Operator& op : catalog.operators)
    if (has_random_problems(op)) known.push_back(op.name);
  for (const std::string& name : options.operators)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw InputError("--operators: found \"" + name + "\", expected some of " + join(known));
  return options.operators.empty() ? known : options.operators;
}

std::vector<std::string> variants_of(const RandomOptions& options, const Catalog& catalog,
                                     const std::string& op) {
  const auto known = catalog.variant_names(op, Direction::forward);
  if (options.variants.empty()) return known;
  std::vector<std::string> list;
  for (const std::string& name : options.variants)
    if (std::find(known.begin(), known.end(), name) != known.end()) list.push_back(name);
  return list;
}

/// @throws InputError for a variant that none of the operators has
void expect_known_variants(const RandomOptions& options, const Catalog& catalog,
                           const std::vector<std::string>& operators) {
  std::set<std::string> known;
  for (const std::string& op : operators)
    for (const std::string& name : catalog.variant_names(op, Direction::forward))
      known.insert(name);
  for (const std::string& name : options.variants)
    if (!known.contains(name))
      throw InputError("--variants: found \"" + name + "\", expected some of " +
                       join(std::vector<std::string>(known.begin(), known.end())));
}

}  // namespace

void RandomOptions::add_to(CLI::App& command, CLI::Option& config) {
  auto* random =
      command.add_option("--random", problems,
                         "in place of a config: so many problems of the linear recurrences, drawn "
                         "from --seed, and of each variant one drawn tile");
  random->check(CLI::Range(1, 20000))->excludes(&config);
  command.add_option("--seed", seed, "what they are drawn from")
      ->needs(random)
      ->capture_default_str();
  const auto names = [&](const char* option, std::vector<std::string>& list, const char* help) {
    return command.add_option(option, list, help)->delimiter(',');
  };
  names("--operators", operators, "only these operators, separated by commas");
  names("--variants", variants, "only these variants");
  names("--dtypes", dtypes, "only these dtypes")->transform(dtype_argument());
}

Config random_config(const RandomOptions& options, const Catalog& catalog) {
  std::vector<std::string> operators = operators_of(options, catalog);
  expect_known_variants(options, catalog, operators);
  std::erase_if(operators,
                [&](const std::string& op) { return variants_of(options, catalog, op).empty(); });
  Json sweeps = Json::array();
  const int count = static_cast<int>(operators.size());
  for (int i = 0; i < count; ++i) {
    const int share = options.problems / count + (i < options.problems % count ? 1 : 0);
    if (share == 0) continue;
    Json sweep;
    sweep["operator"] = operators[static_cast<std::size_t>(i)];
    sweep["variants"] = variants_of(options, catalog, operators[static_cast<std::size_t>(i)]);
    sweep["random"] = {{"problems", share}};
    sweep["seed"] = options.seed;
    if (!options.dtypes.empty()) sweep["dtypes"] = options.dtypes;
    sweeps.push_back(std::move(sweep));
  }
  const Json document{
      {"description", std::to_string(options.problems) + " random problems of seed " +
                          std::to_string(options.seed)},
      {"sweeps", std::move(sweeps)}};
  return read_config(JsonNode(document, "--random"), catalog, "");
}

}  // namespace gla_bench::commands
