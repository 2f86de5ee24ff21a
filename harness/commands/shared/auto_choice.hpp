#pragma once
// The table that `auto` goes by in a command that takes a config.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/commands/commands.hpp"
#include "harness/tuned_table/choose.hpp"

namespace gla_bench::commands {

struct AutoOptions {
  std::string tuned;                 ///< path of a table; empty: as the config says
  std::vector<std::string> allowed;  ///< facts of the environment that may differ

  void add_to(CLI::App& command);
};

/// True where a sweep asks for `auto`.
bool asks_for_auto(const Config& config);

/// The chooser of a config that asks for `auto`, nothing for one that does not: by the table of the
/// options, else of the config, else the device's own in results/tuned/ where there is one, else by
/// defaults, saying so. Warnings go to std::cerr. @throws InputError for a table that is named and
/// not there, is none, or is of another place
std::optional<Chooser> open_chooser(const Config& config, const AutoOptions& options,
                                    const Catalog& catalog, const Place& place,
                                    const Facts& environment);

/// The chooser as assignments() takes it.
inline const Chooser* pointer_to(const std::optional<Chooser>& chooser) {
  return chooser ? &*chooser : nullptr;
}

}  // namespace gla_bench::commands
