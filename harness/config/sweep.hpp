#pragma once
// Turns a config into problems, and a variant with its limits into candidates. Rejected tiles are
// listed with their reasons.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/catalog.hpp"
#include "core/variant.hpp"
#include "harness/config/config.hpp"

namespace gla_bench {

/// A problem of a sweep, and the sweep that asks for it.
std::vector<Problem> problems(const Sweep& sweep);

/// One variant asked to solve one problem.
struct Request {
  std::string variant;
  Narrowing narrowing;
  int max_tiles = 0;
  bool refusals_allowed = false;
  /// Draws the order of the tiles; without it they keep the space's order.
  std::optional<std::uint64_t> draw;
  /// The number of the sweep whose problems share their tiles so that all values appear
  /// (draws/drawn_tiles.hpp); nothing where each problem draws its own.
  std::optional<std::size_t> covering;
};

/// A problem with everything that the config asks of it.
struct Point {
  Problem problem;
  std::vector<Request> requests;
};

/// The config's problems, each once, in the order of their first appearance. Sweeps that share a
/// problem are merged, so that its reference is computed once. If two of them ask for the same
/// variant, these stay two requests.
std::vector<Point> points(const Config& config);

/// A tile that does not run, and why.
struct Rejected {
  Candidate candidate;
  std::string reason;
  std::size_t tiles = 1;  ///< those that are refused for the same kind of reason
};

struct Candidates {
  std::vector<Candidate> accepted;
  std::vector<Rejected> rejected;
  std::size_t narrowed = 0;  ///< tiles that the config left out
};

/// The tiles of a variant on a problem. A narrowing gives values for some axes, and conditions. An
/// axis keeps its own default value if this implementation lacks it or has none of the values. With
/// `max_tiles` only that many accepted tiles are returned, in the space's order or in the order
/// that `draw` gives (draws/drawn_tiles.hpp). The tiles behind them count as narrowed. In a drawn
/// order the refused tiles before them count as narrowed too.
Candidates candidates(const Variant& variant, const Problem& problem, const Narrowing& narrowing,
                      const Limits& limits, int max_tiles = 0,
                      std::optional<std::uint64_t> draw = std::nullopt);

/// Why a tile does not solve a problem: the variant refuses it, or its products have an arithmetic
/// that the config does not allow.
std::optional<std::string> refuse_tile(const Variant& variant, const Problem& problem,
                                       const Tile& tile, const Limits& limits,
                                       const std::set<Arithmetic>& arithmetic);

/// Bytes that a problem takes.
struct MemoryNeed {
  double tensors = 0;  ///< where the backend runs: inputs and outputs, each between guard zones
  double host = 0;  ///< beside them: values as float, the float64 reference, a baseline, downloads
};
MemoryNeed memory_need(const Operator& op, const Problem& problem);

/// Why a problem does not fit in memory, with its size, or nothing where it fits. A limit of 0
/// bytes is unknown and is never exceeded.
std::optional<std::string> does_not_fit(const MemoryNeed& need, double workspace,
                                        double backend_limit, double host_limit);

/// The memory that this process may still allocate, in bytes; 0 where it cannot be determined.
double available_host_memory();

}  // namespace gla_bench
