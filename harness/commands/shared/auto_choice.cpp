#include "harness/commands/shared/auto_choice.hpp"

#include <algorithm>
#include <iostream>

#include "core/error.hpp"
#include "harness/tuned_table/table_file.hpp"

namespace gla_bench::commands {

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
  if (!path.empty()) return cost_model::open_predictor(path, backend, environment);
  try {
    return cost_model::open_predictor(path, backend, environment);
  } catch (const InputError& error) {
    std::cerr << "warning: no times are predicted: " << error.what() << "\n";
    return std::nullopt;
  }
}

bool asks_for_auto(const Config& config) {
  return std::any_of(config.sweeps.begin(), config.sweeps.end(), [](const Sweep& sweep) {
    return std::find(sweep.variants.begin(), sweep.variants.end(), auto_variant) !=
           sweep.variants.end();
  });
}

namespace {

/// The chooser by a table, or without one.
Chooser open_table(const Config& config, const AutoOptions& options, const Catalog& catalog,
                   const Place& place, const Facts& environment, bool is_predicted) {
  std::string path = options.tuned.empty() ? config.tuned : options.tuned;
  if (path.empty()) {
    const std::string device = fact_text(environment, "device");
    const std::optional<std::string> found = find_table(device);
    if (!found) {
      const std::string missing = "no tuned table " + table_name(device);
      std::cerr << "warning: auto goes by " << (is_predicted ? "predictions alone" : "defaults")
                << ": there is " << missing
                << " of the user's, of the installation or of the source tree\n";
      return Chooser(catalog, place.backend, "there is " + missing);
    }
    path = *found;
  }
  std::cerr << "auto goes by " << path << "\n";
  Chooser chooser(catalog, place.backend, load_table(path), environment,
                  {options.allowed.begin(), options.allowed.end()}, place.source_hash);
  for (const std::string& warning : chooser.warnings()) std::cerr << "warning: " << warning << "\n";
  return chooser;
}

}  // namespace

std::optional<Chooser> open_chooser(const Config& config, const AutoOptions& options,
                                    const Catalog& catalog, const Place& place,
                                    const Facts& environment) {
  if (!asks_for_auto(config)) {
    if (!options.tuned.empty())
      std::cerr << "warning: --tuned " << options.tuned << ": no sweep asks for the variant auto\n";
    return std::nullopt;
  }
  auto predictor = predictor_for(options.model, place.backend, environment);
  Chooser chooser = open_table(config, options, catalog, place, environment, predictor.has_value());
  if (predictor) {
    std::cerr << "times are predicted by " << predictor->source() << "\n";
    chooser.predict_by(std::move(*predictor));
  }
  return chooser;
}

}  // namespace gla_bench::commands
