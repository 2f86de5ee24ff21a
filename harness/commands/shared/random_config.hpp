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
  int problems = 0;  ///< 0: the problems are those of a config
  std::uint64_t seed = 1;
  std::vector<std::string> operators, directions, variants, dtypes;  ///< empty: all

  /// Adds --random, which replaces `config`, and the options that belong to it.
  void add_to(CLI::App& command, CLI::Option& config);
};

/// Makes a sweep for each operator and direction; the sweeps share the problems evenly. Variants
/// that an operator lacks are left out. An operator that has none of the named variants in a
/// direction is left out as well. @throws InputError for an unknown name, and where nothing is left
Config random_config(const RandomOptions& options, const Catalog& catalog);

}  // namespace gla_bench::commands
