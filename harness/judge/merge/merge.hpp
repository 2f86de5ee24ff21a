#pragma once
// Results files of shards become one file. Pure functions of what the files hold: the result does
// not depend on the order in which they are given.

#include <cstdint>
#include <string>
#include <vector>

#include "harness/records/record_file.hpp"

namespace gla_bench {

/// A row of a shard's file.
struct ShardRow {
  RecordKey key;
  std::string line;         ///< the record as JSON
  std::string source_hash;  ///< empty where the row says none
  std::string verifier_hash;
  std::int64_t place =
      0;  ///< of its problem in the whole config; 0: the shard was not asked for it
};

/// A shard's file, with its rows reduced to what merging needs.
struct ShardPart {
  Shard shard;
  Results head;  ///< without its records
  std::vector<ShardRow> rows;
};

/// @throws InputError for a file that is of no shard, whose journal cannot be taken, or that is
/// complete and has a row of a problem that the shard was not asked for
ShardPart shard_part(Results file);

/// What a whole file lacks: one line for each shard, or for each group of problems.
struct Lacking {
  std::string what;
  std::vector<std::string> candidates;  ///< by describe(), where they are known
};

struct MergedFile {
  Results head;                    ///< without its records
  std::vector<std::string> lines;  ///< its records as JSON, in the order of the config's problems
  std::vector<Lacking> lacking;    ///< empty: it is whole
};

/// One file of all parts. Its environment is that of the first shard; the ceilings are the highest
/// that a part measured. A row that two parts have alike is there once.
/// @throws InputError naming both files: another number of shards, config, policy, device, source
/// or verifier, and a row that two parts have differently
MergedFile merge(std::vector<ShardPart> parts);

/// The parts of each kind of device apart, in the order of their first shards.
std::vector<std::vector<ShardPart>> parts_by_device(std::vector<ShardPart> parts);

}  // namespace gla_bench
