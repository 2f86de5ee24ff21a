#pragma once
// A manifest: what an author says of a CUDA kernel, or of a function in Python, from outside the
// program, so that the harness can take it as a variant. Its format:
// configs/schema/candidates.schema.json.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/catalog.hpp"
#include "harness/config/space/formula.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// The dtypes of the problems that the kernel takes, and what it computes products of each in.
using DtypeArithmetic = std::map<DType, Arithmetic>;

/// What a problem, a tile and a device have to be.
struct ManifestCondition {
  Formula condition;
  std::string message;  ///< why anything else is refused
};

/// A named piece of scratch memory.
struct ManifestRegion {
  std::string name;
  Formula bytes;
};

/// Bytes that are moved through device memory.
struct ManifestBytes {
  Formula read, write;
};

/// One argument of a kernel.
struct ManifestArgument {
  enum class Kind { named, int32, int64 };
  Kind kind = Kind::named;
  std::string name;  ///< of a tensor or region, whose address it is, or "scale", a float
  Formula value;     ///< of a number
};

/// A kernel launch, or a region that is set to zero.
struct ManifestLaunch {
  std::string entry;  ///< the kernel's name; empty where a region is set to zero
  std::vector<Formula> grid, block;
  Formula shared_bytes;  ///< dynamic shared memory
  std::vector<ManifestArgument> arguments;
  std::string zero;  ///< the region; empty where a kernel is launched
  std::string stage;
  std::optional<ManifestBytes> bytes;
};

struct Manifest {
  std::string schema;  ///< "$schema", for editors
  std::string variant, summary, op;
  Direction direction = Direction::forward;
  BackendId backend = BackendId::cuda;
  DtypeArithmetic dtypes;
  std::vector<Layout> layouts{Layout::seq_first};
  std::vector<std::string> options;    ///< of which it takes every value
  std::string source;                  ///< from the manifest's folder, as are the headers
  std::string function;                ///< "file.py:name" from there; empty: a CUDA kernel
  std::string framework;               ///< what the function's tensors are (function_frameworks)
  std::vector<std::string> arguments;  ///< of the function, by name
  std::vector<std::string> headers;
  std::map<std::string, Formula> constants;
  TileSpace tile;
  std::vector<ManifestCondition> conditions;
  std::vector<ManifestRegion> workspace;
  std::vector<ManifestLaunch> launches;
  std::optional<ManifestBytes> bytes;  ///< nothing: what the operator reads and writes at least
  std::optional<Formula> flops;        ///< nothing: the operator's own
  bool reproducible = true;
  bool peer = false;
};

/// What stands for the problem's scale among a kernel's arguments.
constexpr std::string_view scale_argument = "scale";

/// Whether a launch passes the name to its kernel, or the function takes it.
bool passes(const Manifest& manifest, std::string_view name);

/// Reads a manifest of an operator of the catalog. @throws InputError, also for a name that no
/// problem of the operator has, and for what cannot be launched whatever the problem
Manifest read_manifest(const JsonNode& node, const Catalog& catalog);

/// What read_manifest() reads, with every default written out.
Json manifest_to_json(const Manifest& manifest);

/// The JSON Schema of manifests.
Json manifest_schema();

}  // namespace gla_bench
