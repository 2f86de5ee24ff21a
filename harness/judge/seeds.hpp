#pragma once
// Several draws of the same problems: what the spread of an error is taken over.

#include "harness/config/config.hpp"

namespace gla_bench {

/// The config with each sweep once for each of `count` seeds: its own, and those after it. A sweep
/// over tensors from a file stays as it is, since nothing is drawn. 1 changes nothing.
Config with_seeds(Config config, int count);

}  // namespace gla_bench
