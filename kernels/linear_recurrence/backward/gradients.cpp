#include "kernels/linear_recurrence/backward/gradients.hpp"

#include <algorithm>
#include <cstring>

#include "core/operator.hpp"
#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/host/variant.hpp"
#include "kernels/memory.hpp"

namespace gla_bench::linear_recurrence {
namespace {

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

bool has_head_sums(const Problem& problem) {
  const Member& member = member_of(problem);
  return member.before_update || member.decay == Decay::per_head;
}

ParamBytes bind_gradients(const Problem& problem, const Address& address,
                          const std::vector<Region>& regions) {
  const Shape& s = problem.shape;
  const Member& member = member_of(problem);
  const auto has = [&](const char* name) {
    return std::any_of(regions.begin(), regions.end(),
                       [&](const Region& region) { return region.name == name; });
  };
  const auto floats = [&](const std::string& name) { return static_cast<float*>(address(name)); };
  GradientParams g{};
  g.inputs = params(problem, address, regions);
  g.d_o = address("do");
  g.d_final_state = address("dfinal_state");
  g.d_final_normalizer = floats("dfinal_normalizer");
  g.dq = address("dq");
  g.dk = address("dk");
  g.dv = address("dv");
  if (!member.gate.empty()) g.d_gate = floats("d" + std::string(member.gate));
  g.du = floats("du");
  g.d_initial_state = address("dinitial_state");
  g.d_initial_normalizer = floats("dinitial_normalizer");
  g.key_strides = dense_strides(problem, s.seq, s.heads, s.key_dim);
  g.value_strides = dense_strides(problem, s.seq, s.heads, s.value_dim);
  if (has(outputs_region)) g.d_outputs = floats(outputs_region);
  if (has(sums_region)) g.sums = static_cast<double*>(address(sums_region));
  ParamBytes bytes(sizeof g);
  std::memcpy(bytes.data(), &g, sizeof g);
  return bytes;
}

double stored_state_bytes(const Problem& problem) {
  return static_cast<double>(problem.shape.key_dim) * host::columns(problem) * 4;
}

double output_gradient_bytes(const Problem& problem) {
  return is_normalized(problem) ? host::float_rows(problem, host::columns(problem))
                                : value_bytes(problem);
}

double kept_output_bytes(const Problem& problem) {
  return is_normalized(problem) ? host::float_rows(problem, host::columns(problem)) : 0.0;
}

double gradient_bytes(const Problem& problem) {
  const Shape& s = problem.shape;
  const double bonus =
      member_of(problem).before_update ? static_cast<double>(s.heads * s.key_dim) * 4 : 0.0;
  return 2 * key_bytes(problem) + value_bytes(problem) + gate_gradient_bytes(problem) + bonus +
         host::states_read(problem);
}

double token_gradient_reads(const Problem& problem) {
  return host::token_reads(problem) + value_bytes(problem) + output_gradient_bytes(problem);
}

}  // namespace gla_bench::linear_recurrence
