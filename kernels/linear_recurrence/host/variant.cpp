#include "kernels/linear_recurrence/host/variant.hpp"

#include <algorithm>

#include "core/operator.hpp"
#include "kernels/linear_recurrence/refusal.hpp"

namespace gla_bench::linear_recurrence::host {

std::optional<std::string> refuse_place(const Problem& problem, const Limits& limits) {
  if (limits.arch != 0) return "runs on the host only";
  if (problem.direction != Direction::forward) return "forward only";
  return std::nullopt;
}

std::optional<std::string> refuse_chunk_form(const Problem& problem, const Tile& tile,
                                             const Limits& limits) {
  if (auto reason = refuse_place(problem, limits)) return reason;
  return refuse_states_apart(problem, tile.at("chunk"), "chunk");
}

std::optional<std::string> refuse_whole_form(const Problem& problem, const Tile&,
                                             const Limits& limits) {
  if (auto reason = refuse_place(problem, limits)) return reason;
  return refuse_states(problem);
}

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
  variant.reject = [](const Problem& problem, const Tile&, const Limits& limits) {
    return refuse_place(problem, limits);
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

double token_reads(const Problem& problem) {
  return 2 * key_bytes(problem) + gate_bytes(problem) + small_bytes(problem);
}

double columns(const Problem& problem) {
  return static_cast<double>(problem.shape.value_dim) + (flag(problem, "normalize") ? 1 : 0);
}

double float_rows(const Problem& problem, double columns) {
  return tokens(problem) * columns * 4;
}

double states_read(const Problem& problem) {
  return problem.initial_state ? state_bytes(problem) : 0.0;
}

double states_written(const Problem& problem) {
  return written_state_bytes(problem);
}

std::int64_t chunks(const Problem& problem, std::int64_t chunk) {
  const Shape& s = problem.shape;
  // Every ragged sequence may end in a chunk that is not full, but no chunk is without a token.
  const std::int64_t of_a_head = ragged(problem) ? s.seq / chunk + std::min(s.sequences, s.seq)
                                                 : s.batch * ceil_div(s.seq, chunk);
  return of_a_head * s.heads;
}

std::int64_t chunks_in_a_row(const Problem& problem, std::int64_t chunk) {
  return ceil_div(problem.shape.seq, chunk);
}

std::int64_t value_blocks(const Problem& problem, const Tile& tile) {
  return ceil_div(problem.shape.value_dim, tile.at("block_v"));
}

double chunk_flops(const Problem& problem, std::int64_t chunk) {
  const auto k = static_cast<double>(problem.shape.key_dim);
  const double v = columns(problem);
  const auto c = static_cast<double>(std::min(chunk, problem.shape.seq));
  return tokens(problem) * (4 * k * v + (c + 1) * (k + v));
}

}  // namespace gla_bench::linear_recurrence::host
