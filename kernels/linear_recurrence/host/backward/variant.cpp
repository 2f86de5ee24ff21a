#include "kernels/linear_recurrence/host/backward/variant.hpp"

#include <algorithm>
#include <utility>

#include "core/operator.hpp"

namespace gla_bench::linear_recurrence::host {
namespace {

std::optional<std::string> refuse(const Problem& problem, const Limits& limits) {
  if (limits.arch != 0) return "runs on the host only";
  if (problem.direction != Direction::backward) return "backward only";
  return std::nullopt;
}

bool is_normalized(const Problem& problem) {
  return flag(problem, "normalize");
}

// Gradients of gates, in float32 whatever the gates' dtype.
double gate_gradient_bytes(const Problem& problem) {
  return gate_bytes(problem) / (member_of(problem).decay == Decay::per_head
                                    ? 1.0
                                    : static_cast<double>(gate_bytes_each(problem)) / 4);
}

}  // namespace

Variant backward_variant(const Member& member, const BackwardForm& form) {
  std::vector<std::string> sources = form.sources;
  for (const char* source : {"backward/gradients.cpp", "rows.cpp"}) sources.emplace_back(source);
  for (std::string& source : sources) source = "linear_recurrence/host/" + source;
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

double stored_state_bytes(const Problem& problem) {
  return static_cast<double>(problem.shape.key_dim) * columns(problem) * 4;
}

double output_gradient_bytes(const Problem& problem) {
  return is_normalized(problem) ? float_rows(problem, columns(problem)) : value_bytes(problem);
}

double kept_output_bytes(const Problem& problem) {
  return is_normalized(problem) ? float_rows(problem, columns(problem)) : 0.0;
}

double gradient_bytes(const Problem& problem) {
  const Shape& s = problem.shape;
  const double bonus =
      member_of(problem).before_update ? static_cast<double>(s.heads * s.key_dim) * 4 : 0.0;
  return 2 * key_bytes(problem) + value_bytes(problem) + gate_gradient_bytes(problem) + bonus +
         states_read(problem);
}

double token_gradient_reads(const Problem& problem) {
  return token_reads(problem) + value_bytes(problem) + output_gradient_bytes(problem);
}

double chunk_gradient_flops(const Problem& problem, std::int64_t chunk) {
  const auto k = static_cast<double>(problem.shape.key_dim);
  const double v = columns(problem);
  const auto c = static_cast<double>(std::min(chunk, problem.shape.seq));
  return tokens(problem) * (8 * k * v + (c + 1) * (3 * k + 2 * v));
}

}  // namespace gla_bench::linear_recurrence::host
