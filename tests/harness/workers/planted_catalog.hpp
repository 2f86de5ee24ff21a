#pragma once
// Variants that take their process with them, for tests of what survives it: shared by the tests
// and by the worker that they start.

#include <string>

#include "core/catalog.hpp"

namespace gla_bench {

/// The operator `gla` with host variants, right but for what their name says: good, also_good;
/// segfault, abort, exit, hang, greedy (allocates without end), garbage (prints a lot, and is
/// right); slow; wrong; late (segfault in the sixth call of a process, so when it is timed); moody
/// (segfault in the first call that finds no file `state`, which it makes; right after that).
/// `hang` writes its process's number into `state`.
Catalog planted_catalog(const std::string& state);

}  // namespace gla_bench
