#pragma once
// What a config file asks for. Its format: configs/schema/config.schema.json.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/catalog.hpp"
#include "core/problem.hpp"
#include "core/tile.hpp"
#include "harness/config/counting_policy.hpp"
#include "harness/config/reference_place.hpp"
#include "harness/config/space/condition.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// What a config allows of a variant's tiles: {"chunk": [32, 64], "where": ["block_v <= chunk"]}.
struct Narrowing {
  std::map<std::string, std::vector<int>> axes;  ///< values of some axes
  std::vector<Condition> where;                  ///< all of them must hold
  std::set<Arithmetic> arithmetic = {};          ///< that the products may have; empty: any
  bool rare = false;  ///< values that were nowhere ahead in records are tried too (rare_tiles.hpp)
  /// The T1 document that it was read from; empty: it stands in the config.
  std::string file = {};
};

/// Inputs from a file in place of drawn ones (tensor_file.hpp).
struct TensorSource {
  std::string file;
  std::map<std::string, std::string> names;  ///< input -> the tensor's name in the file
  auto operator<=>(const TensorSource&) const = default;
};

/// What drawn problems have to hold together.
enum class Cover {
  none,
  pairs  ///< every pair of values of all axes, as far as problems with both exist
};
std::string_view name(Cover cover);

/// Asks for problems that are drawn at random in place of listed ones (draws/drawn_problems.hpp).
struct RandomDraw {
  Cover cover = Cover::none;
  int problems = 0;  ///< to cover pairs: at most so many, 0 for as many as it takes
  /// How many combinations of the properties that kernels are compiled for; 0: as many as it takes.
  int kernels = 12;
  std::int64_t least_tokens = 1, most_tokens = 4096;  ///< of a sequence, or of all ragged ones
  std::vector<std::int64_t> key_dims, value_dims;     ///< empty: drawn from classes of dims
  std::string digest;  ///< of the problems as they were drawn when the document was written
  auto operator<=>(const RandomDraw&) const = default;
};

/// The problems of a drawn sweep and what they cover.
struct DrawnProblems {
  std::vector<Problem> problems;
  std::size_t kernels = 0;  ///< combinations of what kernels are compiled for
  /// Pairs of values of different axes: all of them, those that some problem has, and those that no
  /// problem can have. 0 where nothing had to be covered.
  std::size_t pairs = 0, covered = 0;
  std::vector<std::string> refused;  ///< such as "in_place true, initial_state false"

  std::string digest() const;
};

/// Axes of problems, and the variants that are asked to solve each of them.
struct Sweep {
  std::string op;
  Direction direction = Direction::forward;
  std::vector<std::string> variants;  ///< may hold "auto" (tuned_table/choose.hpp)
  /// If true, a variant may refuse every tile of a problem without failing the gate. Variants named
  /// by "all" always may.
  bool refusals_allowed = false;
  std::vector<DType> dtypes;  ///< empty with `tensors`: the file says
  std::vector<Layout> layouts;
  std::vector<std::string> gates;
  std::vector<Shape> shapes;  ///< empty with `tensors` and `random`
  std::vector<bool> initial_state{false};
  std::vector<bool> final_state{true};
  std::vector<std::optional<double>> scales{std::nullopt};  ///< nothing: the operator's default
  std::uint64_t seed = 1;
  /// The operator's options that the config names, with the values to try.
  std::map<std::string, std::vector<std::string>> options;
  std::map<std::string, Narrowing> tiles;  ///< by variant
  std::set<Arithmetic> arithmetic;         ///< that products may have; empty: any
  int max_tiles = 0;                       ///< the most tiles of a variant per problem; 0: all
  /// Values of tiles that were nowhere ahead in records are tried too. Drawn sweeps always do.
  bool rare_tiles = false;
  std::optional<TensorSource> tensors;
  /// The sweep's axes are what problems are drawn from, and `seed` decides the draw. Tiles come in
  /// a drawn order, one of each variant unless `max_tiles` says otherwise.
  std::optional<RandomDraw> random;
  DrawnProblems drawn;  ///< with `random`
};

struct TimingPolicy {
  int warmup = 3;  ///< calls before the first sample
  int min_samples = 10;
  int max_samples = 1000;
  double min_seconds = 0.05;  ///< total time of the samples before low noise may stop the series
  double max_seconds = 2.0;   ///< of wall time per cache state
  double max_noise = 0.005;   ///< relative standard error of the median that is good enough
  bool hot = true;            ///< a second series with warm caches
  bool sustained = true;      ///< a further series over copies of the tensors
};

struct VerificationPolicy {
  ReferencePlace reference = ReferencePlace::automatic;
};

/// Seconds after which a worker's step counts as hung (workers/step_limit.hpp).
struct LimitPolicy {
  double least_seconds = 30;  ///< for a step that runs a candidate, whatever its problem's size
  double factor = 1000;  ///< added to them: this many times the least time for its bytes and flops
  double build_seconds = 600;  ///< to compile one candidate
  double reference_seconds =
      3600;  ///< for making inputs and the reference, or for a plain computation
};

/// Which tensors of wrong rows are kept (engine/wrong/wrong_tensors.hpp).
struct KeepWrong {
  std::string folder;      ///< empty: none are kept
  double most_mib = 1024;  ///< of one file; a larger one is not written
};

struct Policy {
  TimingPolicy timing;
  VerificationPolicy verification;
  CounterPolicy counters;
  EnergyPolicy energy;
  LimitPolicy limits;
  KeepWrong keep_wrong;
  /// How often a problem's fastest candidate is launched beside other work, and looked at; 0:
  /// never.
  int winner_launches = 100;
  std::string tolerance;  ///< path of a tolerance file; empty: the program's own
  // The gate's, which change nothing of what is run.
  std::vector<std::string> allow_suspect;     ///< variants whose times may be suspect
  std::map<std::string, double> least_share;  ///< by variant: of the problems of an operator
};

struct Config {
  std::string path;
  std::string description;
  std::optional<BackendId> backend;  ///< nothing: the GPU where there is one, else the host
  std::vector<Sweep> sweeps;
  Policy policy;
  std::string tuned;  ///< path of the table that "auto" consults; empty: the device's own
  /// Paths of the manifests of variants from outside (candidates/candidates.hpp).
  std::vector<std::string> candidates;
  Catalog catalog;  ///< what it was read by, with the variants of those manifests
};

/// Reads a config file, or the installed config of that path where there is no such file. Relative
/// paths in it start at its folder. The manifests that it names are read as well.
/// @throws InputError with the file, the JSON pointer, what stood there and what was expected
Config load_config(const std::string& path, const Catalog& catalog);

/// The files that a config was read from, and those that it has a run read: itself, the tensors,
/// the tolerances, the tuned table, the spaces of tiles, the manifests and their sources.
std::vector<std::string> files_of(const Config& config);

/// Reads a config that is part of a document. Relative paths start at `folder`.
Config read_config(const JsonNode& node, const Catalog& catalog, const std::string& folder);

/// A config's "policy", with every default written out (policy.hpp reads it).
Json policy_to_json(const Policy& policy);

/// The config with every default written out. Reading it back gives the same config.
Json config_to_json(const Config& config);

}  // namespace gla_bench
