#pragma once
// gla inside the layer: any of its variants, as it stands, over the layer's workspace.

#include <optional>
#include <string>
#include <vector>

#include "core/variant.hpp"

namespace gla_bench::gla_layer {

/// Tile axes "inner" and "inner_tile": which of gla's variants, and which of its tiles.
TileSpace inner_axes();

/// The gla problem inside the layer's: q, k, v, g, o and the states.
Problem recurrence_of(const Problem& problem);

/// One variant of gla with one of its tiles on one problem.
struct Inner {
  const Variant* variant = nullptr;
  Problem problem;
  Tile tile;
};

/// What the layer's tile chooses, or nothing where gla has no such variant or tile there.
///
/// Tiles are counted by how near they are to those that were fastest on an H200, among those that
/// the problem allows: inner_tile 0 to 3 where a block has an H200's shared memory, 4 to 7 where it
/// has the 99 KiB that every architecture since sm_80 allows.
std::optional<Inner> inner_of(BackendId backend, const Problem& problem, const Tile& tile);

/// Why that is nothing, or why gla's variant refuses the tile, or nothing.
std::optional<std::string> refuse_inner(BackendId backend, const Problem& problem, const Tile& tile,
                                        const Limits& limits);

/// Its workspace regions, named "gla.<region>".
std::vector<Region> inner_workspace(const Inner& inner);

/// Its parameters, out of the layer's regions q, k, v, g, o and its own, and the layer's states.
ParamBytes inner_params(const Inner& inner, const Address& address);

/// Adds its steps to the recipe, as stage "gla", and its source as an import.
void append_inner(const Inner& inner, Recipe& recipe);

/// Sources of all of gla's variants on a backend.
std::vector<std::string> inner_sources(BackendId backend);

}  // namespace gla_bench::gla_layer
