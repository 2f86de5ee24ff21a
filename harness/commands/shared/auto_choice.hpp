#pragma once
// The tuning table that `auto` follows in a command that takes a config.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/commands/commands.hpp"
#include "harness/cost_model/predictor.hpp"
#include "harness/tuned_table/choose.hpp"

namespace gla_bench::commands {

struct AutoOptions {
  std::string tuned;                 ///< path of a table; empty: as the config says
  std::string model;                 ///< path of a cost model; empty: the device's own
  std::vector<std::string> allowed;  ///< facts of the environment that may differ

  void add_to(CLI::App& command);
};

/// The predictor of a device: by the model at `path`, else by the one that is found for the device,
/// which is left out with a warning where it cannot be read. @throws InputError for a path that is
/// no such model
std::optional<cost_model::Predictor> predictor_for(const std::string& path, BackendId backend,
                                                   const Facts& environment);

/// True where a sweep asks for `auto`.
bool asks_for_auto(const Config& config);

/// The chooser of a config that asks for `auto`; nothing for a config that does not. It follows the
/// table that the options name, else the one that the config names, else the device's own in
/// results/tuned/. Where there is none it follows the defaults and says so. Warnings go to
/// std::cerr. @throws InputError for a named table that is missing, is not a table, or belongs to
/// another place
std::optional<Chooser> open_chooser(const Config& config, const AutoOptions& options,
                                    const Catalog& catalog, const Place& place,
                                    const Facts& environment);

/// The chooser in the form that assignments() takes.
inline const Chooser* pointer_to(const std::optional<Chooser>& chooser) {
  return chooser ? &*chooser : nullptr;
}

}  // namespace gla_bench::commands
