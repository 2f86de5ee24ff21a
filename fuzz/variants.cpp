// A list of variants in place of the kernels', which a target would take minutes to build: those of
// every operator by the names that configs use, with a tile of two axes. They compute nothing.

#include "core/variant.hpp"

#include "core/operator.hpp"

namespace gla_bench {
namespace {

Variant variant_of(const Operator& op, Direction direction, BackendId backend, const char* name) {
  Variant variant;
  variant.op = op.name;
  variant.name = name;
  variant.backend = backend;
  variant.direction = direction;
  variant.space = {{"chunk", {64, 16, 32}, ""}, {"block_v", {32, 128}, ""}};
  variant.arithmetic = [](const Problem&, const Tile&) { return Arithmetic::float32; };
  variant.reject = [](const Problem&, const Tile&, const Limits&) { return std::nullopt; };
  variant.traffic = [](const Problem&, const Tile&) { return Traffic{}; };
  variant.flops = [](const Problem&, const Tile&) { return 0.0; };
  variant.workspace = [](const Problem&, const Tile&) { return std::vector<Region>{}; };
  return variant;
}

}  // namespace

std::span<const Variant> variants() {
  static const std::vector<Variant> list = [] {
    std::vector<Variant> all;
    for (const Operator& op : operators())
      for (const Direction direction : op.directions)
        for (const BackendId backend : {BackendId::host, BackendId::cuda})
          for (const char* name : {"recurrent", "decode", "chunk_fused", "flash2"})
            all.push_back(variant_of(op, direction, backend, name));
    return all;
  }();
  return list;
}

}  // namespace gla_bench
