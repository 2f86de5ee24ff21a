#include "harness/tuned_table/open_chooser.hpp"

#include "core/error.hpp"
#include "harness/tuned_table/table_file.hpp"

namespace gla_bench {
namespace {

/// The chooser by a table, or without one.
Chooser open_table(const AutoSources& sources, const Catalog& catalog, BackendId backend,
                   const std::function<std::string(const Variant&)>& source_hash,
                   const Facts& environment, bool is_predicted, const Saying& note,
                   const Saying& warn) {
  std::string path = sources.tuned;
  if (path.empty()) {
    const std::string device = fact_text(environment, "device");
    const std::optional<std::string> found = find_table(device);
    if (!found) {
      const std::string missing = "no tuned table " + table_name(device);
      warn(std::string("auto goes by ") + (is_predicted ? "predictions alone" : "defaults") +
           ": there is " + missing + " of the user's, of the installation or of the source tree");
      return Chooser(catalog, backend, "there is " + missing);
    }
    path = *found;
  }
  note("auto goes by " + path);
  Chooser chooser(catalog, backend, load_table(path), environment, sources.allowed, source_hash);
  for (const std::string& warning : chooser.warnings()) warn(warning);
  return chooser;
}

}  // namespace

std::optional<cost_model::Predictor> predictor_for(const std::string& path, BackendId backend,
                                                   const Facts& environment, const Saying& warn) {
  if (!path.empty()) return cost_model::open_predictor(path, backend, environment);
  try {
    return cost_model::open_predictor(path, backend, environment);
  } catch (const InputError& error) {
    warn(std::string("no times are predicted: ") + error.what());
    return std::nullopt;
  }
}

Chooser open_chooser(const AutoSources& sources, const Catalog& catalog, BackendId backend,
                     const std::function<std::string(const Variant&)>& source_hash,
                     const Facts& environment, const Saying& note, const Saying& warn) {
  auto predictor = predictor_for(sources.model, backend, environment, warn);
  Chooser chooser = open_table(sources, catalog, backend, source_hash, environment,
                               predictor.has_value(), note, warn);
  if (predictor) {
    note("times are predicted by " + predictor->source());
    chooser.predict_by(std::move(*predictor));
  }
  return chooser;
}

}  // namespace gla_bench
