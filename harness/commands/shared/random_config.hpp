#pragma once
// verify --random: a config of drawn problems, made from options.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "core/catalog.hpp"
#include "harness/config/config.hpp"

namespace gla_bench::commands {

struct RandomOptions {
  int problems = 0;  ///< 0: a config names them
  std::uint64_t seed = 1;
  std::vector<std::string> operators, variants, dtypes;  ///< empty: all

  /// Adds --random, which takes the place of `config`, and what goes with it.
  void add_to(CLI::App& command, CLI::Option& config);
};

/// A sweep for each operator, which share the problems evenly; variants that an operator lacks are
/// left out, and with them an operator that has none of those named.
/// @throws InputError for a name that is not known, and where nothing is left
Config random_config(const RandomOptions& options, const Catalog& catalog);

}  // namespace gla_bench::commands
