#include "harness/commands/shared/auto_choice.hpp"

#include <algorithm>
#include <iostream>

#include "harness/tuned_table/open_chooser.hpp"

namespace gla_bench::commands {
namespace {

void warn(const std::string& line) {
  std::cerr << "warning: " << line << "\n";
}

}  // namespace

void AutoOptions::add_to(CLI::App& command) {
  command
      .add_option("--tuned", tuned,
                  "the table that the variant auto goes by (default: as the config says, else "
                  "the device's own in the user's data folder, where tune keeps it, else the one "
                  "that came with the program)")
      ->type_name("TABLE");
  command
      .add_option("--model", model,
                  "the cost model that predicts times for auto (default: the device's own, made by "
                  "tune --fit, else that of another device for the same backend)")
      ->type_name("MODEL");
  command
      .add_option("--allow", allowed,
                  "facts of the table's environment that may differ (compare --help)")
      ->type_name("FACT");
}

std::optional<cost_model::Predictor> predictor_for(const std::string& path, BackendId backend,
                                                   const Facts& environment) {
  return gla_bench::predictor_for(path, backend, environment, warn);
}

bool asks_for_auto(const Config& config) {
  return std::any_of(config.sweeps.begin(), config.sweeps.end(), [](const Sweep& sweep) {
    return std::find(sweep.variants.begin(), sweep.variants.end(), auto_variant) !=
           sweep.variants.end();
  });
}

std::optional<Chooser> open_chooser(const Config& config, const AutoOptions& options,
                                    const Catalog& catalog, const Place& place,
                                    const Facts& environment) {
  if (!asks_for_auto(config)) {
    if (!options.tuned.empty())
      warn("--tuned " + options.tuned + ": no sweep asks for the variant auto");
    return std::nullopt;
  }
  const AutoSources sources{options.tuned.empty() ? config.tuned : options.tuned,
                            options.model,
                            {options.allowed.begin(), options.allowed.end()}};
  return gla_bench::open_chooser(
      sources, catalog, place.backend, place.source_hash, environment,
      [](const std::string& line) { std::cerr << line << "\n"; }, warn);
}

}  // namespace gla_bench::commands
