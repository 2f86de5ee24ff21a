#include "harness/commands/shared/random_config.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.hpp"
#include "harness/commands/shared/dtype_argument.hpp"
#include "harness/support/text.hpp"

namespace gla_bench::commands {
namespace {

/// One operator in one direction.
struct Kind {
  std::string op;
  Direction direction = Direction::forward;
};

template <class List>
void expect_known(const char* option, const std::vector<std::string>& names, const List& known) {
  for (const std::string& name : names)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw InputError(std::string(option) + ": found \"" + name + "\", expected some of " +
                       join(std::vector<std::string>(known.begin(), known.end())));
}

/// Those that are asked for; all where nothing is.
std::vector<Kind> kinds_of(const RandomOptions& options, const Catalog& catalog) {
  expect_known("--operators", options.operators, catalog.operator_names());
  const auto asked = [](const std::vector<std::string>& names, std::string_view name) {
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<Kind> kinds;
  for (const Operator& op : catalog.operators)
    for (const Direction direction : op.directions)
      if (asked(options.operators, op.name) && asked(options.directions, name(direction)))
        kinds.push_back({op.name, direction});
  return kinds;
}

std::vector<std::string> variants_of(const RandomOptions& options, const Catalog& catalog,
                                     const Kind& kind) {
  const auto known = catalog.variant_names(kind.op, kind.direction);
  if (options.variants.empty()) return known;
  std::vector<std::string> list;
  for (const std::string& name : options.variants)
    if (std::find(known.begin(), known.end(), name) != known.end()) list.push_back(name);
  return list;
}

}  // namespace

void RandomOptions::add_to(CLI::App& command, CLI::Option& config) {
  auto* random =
      command.add_option("--random", problems,
                         "in place of a config: so many problems, drawn from --seed, and of each "
                         "variant one drawn tile");
  random->check(CLI::Range(1, 20000))->excludes(&config);
  command.add_option("--seed", seed, "what they are drawn from")
      ->needs(random)
      ->capture_default_str();
  const auto names = [&](const char* option, std::vector<std::string>& list, const char* help) {
    return command.add_option(option, list, help)->delimiter(',');
  };
  names("--operators", operators, "only these operators, separated by commas");
  names("--directions", directions, "only these of forward, backward and training")
      ->check(CLI::IsMember(names_of_directions()));
  names("--variants", variants, "only these variants");
  names("--dtypes", dtypes, "only these dtypes")->transform(dtype_argument());
}

Config random_config(const RandomOptions& options, const Catalog& catalog) {
  std::vector<Kind> kinds = kinds_of(options, catalog);
  std::set<std::string> known;
  for (const Kind& kind : kinds)
    for (const std::string& name : catalog.variant_names(kind.op, kind.direction))
      known.insert(name);
  expect_known("--variants", options.variants, known);
  std::erase_if(kinds,
                [&](const Kind& kind) { return variants_of(options, catalog, kind).empty(); });
  if (kinds.empty()) throw InputError("--directions: found none that these operators have");
  Json sweeps = Json::array();
  const int count = static_cast<int>(kinds.size());
  for (int i = 0; i < count; ++i) {
    const Kind& kind = kinds[static_cast<std::size_t>(i)];
    const int share = options.problems / count + (i < options.problems % count ? 1 : 0);
    if (share == 0) continue;
    Json sweep;
    sweep["operator"] = kind.op;
    sweep["direction"] = name(kind.direction);
    sweep["variants"] = variants_of(options, catalog, kind);
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
