// Manifests of kernels from outside: one that is taken reads the same when it is written. Whatever
// its expressions are, the variant refuses or gives its launches, for problems of every kind.

#include <nlohmann/json.hpp>

#include "fuzz/target.hpp"
#include "harness/backends/sources/architecture.hpp"
#include "harness/config/candidates/manifest.hpp"
#include "harness/config/candidates/manifest_variant.hpp"

namespace {

using namespace gla_bench;

/// A plain problem, one with all that problems may have, and one in another layout with options.
std::vector<Problem> problems_of(const Manifest& manifest, const Operator& op) {
  Problem plain;
  plain.op = manifest.op;
  plain.direction = manifest.direction;
  plain.dtype = manifest.dtypes.begin()->first;
  plain.shape = {2, 33, 3, 40, 72};
  Problem most = plain;
  most.initial_state = true;
  most.shape.batch = 1;
  most.shape.sequences = 4;
  most.scale = 0.5;
  Problem other = plain;
  other.layout = manifest.layouts.back();
  for (const OptionAxis& axis : op.options) other.options[axis.name] = axis.values.back();
  return {plain, most, other};
}

void launch(const Variant& variant, const Problem& problem, const Tile& tile) {
  if (variant.reject(problem, tile, limits_of(90))) return;
  variant.traffic(problem, tile);
  variant.flops(problem, tile);
  variant.workspace(problem, tile);
  variant.arithmetic(problem, tile);
  if (variant.stages) variant.stages(problem, tile);
  if (variant.backend == BackendId::host) return;
  std::get<std::function<Recipe(const Problem&, const Tile&)>>(variant.code)(problem, tile);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Catalog catalog = program_catalog();
  Manifest manifest;
  const auto read = [&] {
    const Json document = parse_json(fuzz::text_of(data, size), "input");
    manifest = read_manifest(JsonNode(document, "input"), catalog);
  };
  if (!fuzz::takes("input", read)) return 0;
  const Json written = manifest_to_json(manifest);
  const Json document = parse_json(written.dump(), "again");
  const Json again = manifest_to_json(read_manifest(JsonNode(document, "again"), catalog));
  fuzz::expect_same(written.dump(), again.dump(), "written and read again it differs");
  const Operator& op = *catalog.find_operator(manifest.op);
  const Variant variant = variant_of(manifest, op, "", {});
  const std::vector<Tile> tiles =
      tile_count(variant.space) > 1000 ? std::vector<Tile>{} : all_tiles(variant.space);
  for (const Problem& problem : problems_of(manifest, op)) {
    variant.reject(problem, {}, limits_of(90));
    for (std::size_t i = 0; i < tiles.size() && i < 8; ++i) launch(variant, problem, tiles[i]);
  }
  return 0;
}
