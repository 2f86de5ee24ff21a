#pragma once
// Repeats the same problems with several seeds, so that the spread of an error can be computed.

#include "harness/config/config.hpp"

namespace gla_bench {

/// The config with each sweep repeated for `count` seeds: its own seed and those after it. A sweep
/// over tensors from a file is not repeated, since nothing is drawn. A count of 1 changes nothing.
Config with_seeds(Config config, int count);

}  // namespace gla_bench
