#include "harness/report/stale.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/catalog.hpp"
#include "core/error.hpp"
#include "harness/backends/sources/source_hash.hpp"
#include "harness/config/candidates/candidates.hpp"

namespace gla_bench {
namespace {

/// The hashes of this program's variants and of those that records' manifests describe now; empty
/// for a variant that is not there.
class OwnHashes {
 public:
  const std::string& of(const Record& record) {
    const Key key{record.problem.op, record.variant, record.backend, record.problem.direction,
                  record.manifest};
    const auto [place, fresh] = known_.try_emplace(key);
    if (!fresh) return place->second;
    const Catalog catalog = catalog_of(record.manifest);
    const Variant* variant = catalog.find_variant(record.problem.op, record.variant, record.backend,
                                                  record.problem.direction);
    if (variant != nullptr) place->second = hashes_.of(*variant);
    return place->second;
  }

 private:
  using Key = std::tuple<std::string, std::string, BackendId, Direction, std::string>;

  /// Of a manifest that cannot be read any more: nothing, as of a variant that is gone.
  static Catalog catalog_of(const std::string& manifest) {
    if (manifest.empty()) return program_catalog();
    try {
      return with_manifest(program_catalog(), manifest);
    } catch (const InputError&) {
      return {};
    }
  }

  SourceHashes hashes_{SourceStore()};
  std::map<Key, std::string> known_;
};

}  // namespace

bool is_stale(const Record& record) {
  if (measured_elsewhere(record) || record.source_hash.empty() || !was_tried(record)) return false;
  static OwnHashes own;
  return own.of(record) != record.source_hash;
}

std::size_t count_stale(std::span<const Results> files) {
  std::size_t count = 0;
  for (const Results& results : files)
    count += static_cast<std::size_t>(
        std::count_if(results.records.begin(), results.records.end(), is_stale));
  return count;
}

}  // namespace gla_bench
