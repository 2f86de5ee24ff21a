#pragma once
// What is missing of a config whose shards are merged.

#include <cstddef>
#include <set>
#include <vector>

#include "harness/judge/merge/merge.hpp"

namespace gla_bench {

/// Bytes of a problem or a candidate in a message. Its options are a file's, and may be anything.
constexpr std::size_t most_shown = 1000;

/// Keys that lie elsewhere, in their order: a hundred thousand of them are large.
struct KeyOrder {
  bool operator()(const RecordKey* a, const RecordKey* b) const { return *a < *b; }
};
using KeySet = std::set<const RecordKey*, KeyOrder>;

/// What these parts of one run, in the order of their shards, do not bring. `rows`: the candidates
/// that have a row.
std::vector<Lacking> lacking(const std::vector<ShardPart>& parts, const KeySet& rows);

/// For people: a line for each, below it its candidates, `most` of each at most.
std::string describe(const std::vector<Lacking>& lacking, std::size_t most);

}  // namespace gla_bench
