#include "core/variant.hpp"

#include "core/catalog.hpp"
#include "core/error.hpp"
#include "core/operator.hpp"

namespace gla_bench {

std::string_view name(BackendId backend) {
  return backend == BackendId::host ? "host" : "cuda";
}

std::optional<BackendId> parse_backend(std::string_view text) {
  if (text == "host") return BackendId::host;
  if (text == "cuda") return BackendId::cuda;
  return std::nullopt;
}

const std::string& stage_of(const Step& step) {
  return std::visit([](const auto& any) -> const std::string& { return any.stage; }, step);
}

const Variant* find_variant(std::string_view op, std::string_view name, BackendId backend,
                            Direction direction) {
  return Catalog{{}, variants()}.find_variant(op, name, backend, direction);
}

std::string describe(const Candidate& candidate) {
  return candidate.variant->name + " [" + std::string(name(candidate.variant->backend)) + "] " +
         describe(candidate.tile) + " on " + describe(candidate.problem);
}

std::vector<Region> workspace_of(const Candidate& candidate) {
  std::vector<Region> regions = candidate.variant->workspace(candidate.problem, candidate.tile);
  if (regions.empty()) return regions;
  const Operator* op = find_operator(candidate.problem.op);
  if (op == nullptr) return regions;
  for (const TensorSpec& tensor : op->tensors(candidate.problem))
    for (const Region& region : regions)
      if (region.name == tensor.name)
        throw BuildError(describe(candidate) + ": workspace region '" + region.name +
                         "' has the name of a tensor");
  return regions;
}

std::size_t workspace_bytes(const Candidate& candidate) {
  std::size_t total = 0;
  for (const Region& region : candidate.variant->workspace(candidate.problem, candidate.tile))
    total += region.bytes;
  return total;
}

std::size_t kept_bytes(const Candidate& candidate) {
  std::size_t total = 0;
  for (const Region& region : candidate.variant->workspace(candidate.problem, candidate.tile))
    if (region.kept) total += region.bytes;
  return total;
}

}  // namespace gla_bench
