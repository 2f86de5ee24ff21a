#include "kernels/linear_recurrence/host/backward/variant.hpp"

#include <algorithm>
#include <utility>

namespace gla_bench::linear_recurrence::host {
namespace {

std::optional<std::string> refuse(const Problem& problem, const Limits& limits) {
  if (limits.arch != 0) return "runs on the host only";
  if (problem.direction != Direction::backward) return "backward only";
  return std::nullopt;
}

}  // namespace

Variant backward_variant(const Member& member, const BackwardForm& form) {
  std::vector<std::string> sources = form.sources;
  for (const char* source : {"backward/gradients.cpp", "rows.cpp"}) sources.emplace_back(source);
  for (std::string& source : sources) source = "linear_recurrence/host/" + source;
  sources.emplace_back("linear_recurrence/backward/gradients.cpp");
  Variant variant =
      make_variant(member, form.name, form.summary, form.space, form.run, std::move(sources));
  variant.direction = Direction::backward;
  variant.reject = [](const Problem& problem, const Tile&, const Limits& limits) {
    return refuse(problem, limits);
  };
  variant.traffic = form.traffic;
  variant.flops = form.flops;
  variant.workspace = [form](const Problem& problem, const Tile& tile) {
    return gradient_regions(problem, form.workspace(problem, tile), form.tasks(problem, tile));
  };
  variant.bind = [workspace = variant.workspace](const Problem& problem, const Tile& tile,
                                                 const Address& address) {
    return bind_gradients(problem, address, workspace(problem, tile));
  };
  return variant;
}

double chunk_gradient_flops(const Problem& problem, std::int64_t chunk) {
  const auto k = static_cast<double>(problem.shape.key_dim);
  const double v = columns(problem);
  const auto c = static_cast<double>(std::min(chunk, problem.shape.seq));
  return tokens(problem) * (8 * k * v + (c + 1) * (3 * k + 2 * v));
}

}  // namespace gla_bench::linear_recurrence::host
