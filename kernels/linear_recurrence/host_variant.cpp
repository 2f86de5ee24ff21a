#include "kernels/linear_recurrence/host_variant.hpp"

#include <algorithm>

namespace gla_bench::linear_recurrence::host {

Variant make_variant(const Member& member, const std::string& name, const std::string& summary,
                     TileSpace space, std::function<void(const HostCall&)> code,
                     std::vector<std::string> sources) {
  Variant variant;
  variant.op = member.op;
  variant.name = name;
  variant.summary = summary;
  variant.backend = BackendId::host;
  variant.space = std::move(space);
  variant.sources = std::move(sources);
  variant.arithmetic = [](const Problem&, const Tile&) { return Arithmetic::float32; };
  variant.reject = [](const Problem& problem, const Tile&,
                      const Limits& limits) -> std::optional<std::string> {
    if (limits.arch != 0) return "runs on the host only";
    if (problem.direction != Direction::forward) return "forward only";
    return std::nullopt;
  };
  variant.workspace = [](const Problem&, const Tile&) { return std::vector<Region>{}; };
  variant.bind = [](const Problem& problem, const Tile&, const Address& address) {
    return linear_recurrence::bind(problem, address, {});
  };
  variant.code = std::move(code);
  return variant;
}

double tokens(const Problem& problem) {
  const Shape& s = problem.shape;
  return static_cast<double>(s.batch) * static_cast<double>(s.seq) * static_cast<double>(s.heads);
}

double float_rows(const Problem& problem, double columns) {
  return tokens(problem) * columns * 4;
}

double states_read(const Problem& problem) {
  return problem.initial_state ? state_bytes(problem) : 0.0;
}

double states_written(const Problem& problem) {
  return problem.final_state ? state_bytes(problem) : 0.0;
}

std::int64_t chunks(const Problem& problem, std::int64_t chunk) {
  return ceil_div(problem.shape.seq, chunk);
}

std::int64_t value_blocks(const Problem& problem, const Tile& tile) {
  return ceil_div(problem.shape.value_dim, tile.at("block_v"));
}

double chunk_flops(const Problem& problem, std::int64_t chunk) {
  const auto k = static_cast<double>(problem.shape.key_dim);
  const auto v = static_cast<double>(problem.shape.value_dim);
  const auto c = static_cast<double>(std::min(chunk, problem.shape.seq));
  return tokens(problem) * (4 * k * v + (c + 1) * (k + v));
}

}  // namespace gla_bench::linear_recurrence::host
