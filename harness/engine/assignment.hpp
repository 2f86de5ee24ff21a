#pragma once
// A config on one backend: per problem the candidates to try, and the refused as finished records.

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/catalog.hpp"
#include "harness/config/config.hpp"
#include "harness/records/record.hpp"

namespace gla_bench {

/// Where the candidates are to run.
struct Place {
  BackendId backend = BackendId::host;
  Limits limits;
  std::string device;      ///< UUID of the GPU; empty on the host
  double host_memory = 0;  ///< bytes that may be taken on the host; 0: unknown
  /// Name of the sources that a variant is made of.
  std::function<std::string(const Variant&)> source_hash;
  /// What verifies candidates here (verify/verifier_hash.hpp); empty: unknown.
  std::string verifier_hash = {};
};

struct Assignment {
  const Operator* op = nullptr;
  Problem problem;
  std::vector<Candidate> accepted;
  std::vector<Record> refused;  ///< each with its reason
  std::size_t narrowed = 0;     ///< tiles that the config left out
  /// How `auto` came to those of the candidates that it stands for.
  std::map<std::pair<std::string, Tile>, ChosenBy> chosen;
};

class Chooser;

/// In the config's order, each problem and each candidate once. Refused tiles are one record for
/// each reason (numbers in it aside), with the first tile and their count. A variant that has no
/// implementation on the backend, a tile that a variant refuses and a problem that does not fit
/// give a refused record. `auto` becomes the candidate that `chooser` names (null: by no table),
/// which is one candidate with the same one named otherwise.
std::vector<Assignment> assignments(const Config& config, const Catalog& catalog,
                                    const Place& place, const Chooser* chooser = nullptr);

/// Puts into a record how `auto` came to it, where it did.
void note_choice(std::span<const Assignment> work, Record& record);

/// Takes out what is recorded already (same problem, variant, backend and tile). Returns how many.
std::size_t drop_recorded(std::vector<Assignment>& assignments, std::span<const Record> recorded);

/// A record of a candidate before anything happened to it: what was asked and what it moves on
/// paper.
Record new_record(const Operator& op, const Candidate& candidate, const Place& place);

}  // namespace gla_bench
