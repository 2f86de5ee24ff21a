#pragma once
// Expands a config on one backend: for each problem the candidates to try, and the refused ones as
// finished records.

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/catalog.hpp"
#include "harness/config/config.hpp"
#include "harness/config/draws/drawn_tiles.hpp"
#include "harness/records/record.hpp"

namespace gla_bench {

/// Where the candidates are to run.
struct Place {
  BackendId backend = BackendId::host;
  Limits limits;
  std::string device;      ///< UUID of the GPU; empty on the host
  double host_memory = 0;  ///< bytes that may be allocated on the host; 0: unknown
  /// Hash of the sources that a variant is built from.
  std::function<std::string(const Variant&)> source_hash;
  /// Hash of the code that verifies an operator's candidates here (verify/verifier_hash.hpp). May
  /// be empty, and may return an empty text: unknown.
  std::function<std::string(const std::string& op)> verifier_hash = {};
};

/// The place's verifier hash for the operator; empty where it is unknown.
std::string verifier_hash(const Place& place, const std::string& op);

/// The place as if all of its memory were free: what free memory decides differs from run to run.
Place without_memory_limits(Place place);

struct Assignment {
  const Operator* op = nullptr;
  Problem problem;
  std::vector<Candidate> accepted;
  std::vector<Record> refused;  ///< each with its reason
  std::size_t narrowed = 0;     ///< how many tiles the config left out
  /// How `auto` arrived at those of the candidates that it stands for.
  std::map<std::pair<std::string, Tile>, ChosenBy> chosen;
};

class Chooser;

/// What the tiles of one variant cover in a drawn sweep.
struct CoveredTiles {
  std::size_t sweep = 0;  ///< its number in the config
  const Variant* variant = nullptr;
  TileCoverage coverage;
};

/// Lists each problem and each candidate once, in the config's order. Refused tiles share one
/// record per reason (reasons that differ only in numbers are the same); the record holds the first
/// tile and their count. A record is also refused where a variant has no implementation on the
/// backend, where a variant refuses a tile, and where a problem does not fit into memory. `auto`
/// becomes the candidate that `chooser` names; a null `chooser` chooses without a table. Where the
/// config also names that candidate itself, the two are one. `covered` may be null.
std::vector<Assignment> assignments(const Config& config, const Catalog& catalog,
                                    const Place& place, const Chooser* chooser = nullptr,
                                    std::vector<CoveredTiles>* covered = nullptr);

/// Notes in a record how `auto` chose its candidate, where it did.
void note_choice(std::span<const Assignment> work, Record& record);

/// Removes what is recorded already (same problem, variant, backend and tile). Returns how many
/// were removed.
std::size_t drop_recorded(std::vector<Assignment>& assignments, std::span<const Record> recorded);

/// The record of a candidate before it is run: what was asked for, and the bytes that it moves in
/// theory.
Record new_record(const Operator& op, const Candidate& candidate, const Place& place);

}  // namespace gla_bench
