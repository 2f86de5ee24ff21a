#pragma once
// Config -> problems; variant and limits -> candidates, and the rejected with their reasons.

#include <optional>
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
  std::optional<std::uint64_t> draw;  ///< tiles in an order drawn from it, not in the space's
};

/// A problem with everything that the config asks of it.
struct Point {
  Problem problem;
  std::vector<Request> requests;
};

/// The config's problems, each once, in the order in which they first stand there. Sweeps that
/// share a problem are merged, so that its reference is computed once; what two of them ask of one
/// variant stays two requests.
std::vector<Point> points(const Config& config);

/// A tile that does not run, and why.
struct Rejected {
  Candidate candidate;
  std::string reason;
};

struct Candidates {
  std::vector<Candidate> accepted;
  std::vector<Rejected> rejected;
  std::size_t narrowed = 0;  ///< tiles that the config left out
};

/// Tiles of a variant on a problem. A narrowing names values per axis, and conditions; an axis that
/// this implementation lacks, or none of whose values it has, keeps its own default value. With
/// `max_tiles` only the first so many accepted tiles, in the space's order, or in the order that
/// `draw` gives (random_problems.hpp); those behind them count as narrowed, and so do in a drawn
/// order the refused before them.
Candidates candidates(const Variant& variant, const Problem& problem, const Narrowing& narrowing,
                      const Limits& limits, int max_tiles = 0,
                      std::optional<std::uint64_t> draw = std::nullopt);

/// Bytes that a problem takes.
struct MemoryNeed {
  double tensors = 0;  ///< where the backend runs: inputs and outputs, each between guard zones
  double host = 0;  ///< beside them: values as float, the float64 reference, a baseline, downloads
};
MemoryNeed memory_need(const Operator& op, const Problem& problem);

/// Why a problem does not fit, with its size, or nothing. A limit of 0 bytes is unknown and holds
/// all.
std::optional<std::string> does_not_fit(const MemoryNeed& need, double workspace,
                                        double backend_limit, double host_limit);

/// Memory that this process may still take, bytes; 0 where it can not be told.
double available_host_memory();

}  // namespace gla_bench
