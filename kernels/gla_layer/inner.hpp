#pragma once
// gla inside the layer: any of gla's variants, unchanged, working on the layer's workspace.

#include <optional>
#include <string>
#include <vector>

#include "core/variant.hpp"

namespace gla_bench::gla_layer {

/// The tile axes "inner" and "inner_tile", which select a variant of gla and one of its tiles.
TileSpace inner_axes(Direction direction = Direction::forward);

/// The gla problem inside the layer's problem: q, k, v, g, o and the states.
Problem recurrence_of(const Problem& problem);

/// One variant of gla with one of its tiles, for one problem. In training it is the variant of both
/// passes, so that the states which the first one leaves are there for the second.
struct Inner {
  const Variant* variant = nullptr;
  Problem problem;
  Tile tile;
  /// The stage of its steps, and what its own regions' names begin with.
  std::string stage = "gla";
};

/// The variant and tile of gla that the layer's tile selects, or nothing where gla has no such
/// variant or tile.
///
/// Among the tiles that the problem allows, tiles are numbered by their distance to the one that
/// was fastest on an H200. inner_tile 0 to 3 assumes the shared memory that a block has on an H200.
/// inner_tile 4 to 7 assumes the 99 KiB that every architecture since sm_80 allows.
std::optional<Inner> inner_of(BackendId backend, const Problem& problem, const Tile& tile);

/// In a backward, where inner_of() is the backward of gla: the forward that gives it o. It is the
/// variant of the same name, with its preferred tile.
std::optional<Inner> outputs_inner_of(BackendId backend, const Problem& problem, const Tile& tile);

/// What of gla the problem's direction runs, in this order: inner_of(), in a backward after
/// outputs_inner_of(). Those that do not exist are left out.
std::vector<Inner> inners_of(BackendId backend, const Problem& problem, const Tile& tile);

/// Says why there is no such variant or tile, or why gla's variant refuses the tile. Returns
/// nothing if there is no reason.
std::optional<std::string> refuse_inner(BackendId backend, const Problem& problem, const Tile& tile,
                                        const Limits& limits);

/// Its workspace regions, named "<stage>.<region>".
std::vector<Region> inner_workspace(const Inner& inner);

/// Its parameters: the layer's regions q, k, v, g and o and their gradients, its own regions, and
/// the layer's states.
ParamBytes inner_params(const Inner& inner, const Address& address);

/// Adds its steps to the recipe as its stage, its source as an import, and its tensor maps.
void append_inner(const Inner& inner, Recipe& recipe);

/// The same of training, where the layer has steps of its own between the passes. First its modules
/// and tensor maps; returns the number of the first module. Then the steps of the pass "forward" or
/// "backward", as the stage of this name.
int append_inner_modules(const Inner& inner, Recipe& recipe);
void append_inner_pass(const Inner& inner, std::string_view pass, int first_module, Recipe& recipe);

/// What a pass of training moves.
Traffic inner_traffic(const Inner& inner, std::string_view pass);

/// The source files of all gla variants of a backend.
std::vector<std::string> inner_sources(BackendId backend, Direction direction = Direction::forward);

}  // namespace gla_bench::gla_layer
