#pragma once
// A part of a config: only some of the operators, variants, dtypes and directions that it
// asks for.

#include <string>
#include <vector>

#include "harness/config/config.hpp"

namespace gla_bench {

/// What is kept of a config; an empty list keeps everything.
struct ConfigPart {
  std::vector<std::string> operators, variants, dtypes, directions = {};

  bool whole() const {
    return operators.empty() && variants.empty() && dtypes.empty() && directions.empty();
  }
};

/// The config without the sweeps and the candidates that the part leaves out. The problems that
/// remain are those of the whole config.
/// @throws InputError, beginning with the option's name, for a name that the config does not have,
/// where nothing is left, and for dtypes where inputs come from a file
Config part_of(Config config, const ConfigPart& part);

}  // namespace gla_bench
