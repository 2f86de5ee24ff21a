#include "kernels/linear_recurrence/family.hpp"

#include <array>
#include <cstring>
#include <string>

#include "core/operator.hpp"
#include "kernels/memory.hpp"

namespace gla_bench::linear_recurrence {
namespace {

constexpr std::array<Member, 5> all_members{{{"linear_attention", Decay::none, "", false},
                                             {"retention", Decay::per_head, "log_decay", false},
                                             {"simple_gla", Decay::per_token, "g", false},
                                             {"gla", Decay::per_key, "g", false},
                                             {"rwkv6", Decay::per_key, "w", true}}};

constexpr float normalizer_epsilon = 1e-6f;  // reference/linear_recurrence has the same

StateStrides state_strides(const Problem& problem) {
  const Shape& s = problem.shape;
  const bool value_first = option(problem, "state_layout") == "value_first";
  return {s.key_dim * s.value_dim, value_first ? 1 : s.value_dim, value_first ? s.key_dim : 1};
}

bool bfloat16_state(const Problem& problem) {
  return option(problem, "state_dtype") == "bfloat16";
}

double tokens(const Problem& problem) {
  const Shape& s = problem.shape;
  return static_cast<double>(s.batch) * static_cast<double>(s.seq) * static_cast<double>(s.heads);
}

double io_bytes(const Problem& problem) {
  return static_cast<double>(size_of(problem.dtype));
}

/// Numbers of the gate tensor for each token and head.
std::int64_t gate_dim(const Problem& problem) {
  return member_of(problem).decay == Decay::per_key ? problem.shape.key_dim : 1;
}

}  // namespace

std::span<const Member> members() {
  return all_members;
}

const Member& member_of(const Problem& problem) {
  for (const Member& member : all_members)
    if (member.op == problem.op) return member;
  return all_members[3];
}

bool ragged(const Problem& problem) {
  return problem.shape.sequences > 0;
}

std::int64_t sequences(const Problem& problem) {
  const Shape& s = problem.shape;
  return (s.sequences > 0 ? s.sequences : s.batch) * s.heads;
}

std::int64_t states_every(const Problem& problem) {
  const std::string every = option(problem, "states_every");
  const std::int64_t tokens = every.empty() ? 0 : std::stoll(every);
  return tokens <= problem.shape.seq ? tokens : 0;
}

std::int64_t states_between(const Problem& problem) {
  const Shape& s = problem.shape;
  const std::int64_t every = states_every(problem);
  return every == 0 ? 0 : s.batch * (s.seq / every) * s.heads;
}

LinearRecurrenceParams params(const Problem& problem, const Address& address,
                              const std::vector<Region>& regions) {
  const Shape& s = problem.shape;
  const Member& member = member_of(problem);
  const bool constant = member.decay == Decay::per_head;
  LinearRecurrenceParams p{};
  p.q = address("q");
  p.k = address("k");
  p.v = address("v");
  p.g = constant || member.gate.empty() ? nullptr : address(member.gate);
  p.log_decay = constant ? static_cast<const float*>(address(member.gate)) : nullptr;
  p.u = address("u");
  p.cu_seqlens = static_cast<const int*>(address("cu_seqlens"));
  p.initial_state = static_cast<const float*>(address("initial_state"));
  p.initial_normalizer = static_cast<const float*>(address("initial_normalizer"));
  p.o = address("o");
  p.final_state = static_cast<float*>(address("final_state"));
  p.final_normalizer = static_cast<float*>(address("final_normalizer"));
  p.states_every = states_every(problem);
  if (p.states_every > 0) {
    p.states = static_cast<float*>(address("states"));
    p.normalizers = static_cast<float*>(address("normalizers"));
  }
  for (std::size_t i = 0; i < regions.size(); ++i) p.work[i] = address(regions[i].name);
  p.key_strides = input_strides(problem, s.seq, s.heads, s.key_dim);
  p.value_strides = input_strides(problem, s.seq, s.heads, s.value_dim);
  p.gate_strides = dense_strides(problem, s.seq, s.heads, gate_dim(problem));
  p.output_strides = dense_strides(problem, s.seq, s.heads, s.value_dim);
  p.state_strides = state_strides(problem);
  p.batch = s.batch;
  p.seq = s.seq;
  p.heads = s.heads;
  p.sequences = s.sequences > 0 ? s.sequences : s.batch;
  p.key_dim = static_cast<int>(s.key_dim);
  p.value_dim = static_cast<int>(s.value_dim);
  p.scale = static_cast<float>(scale_of(*find_operator(problem.op), problem));
  p.epsilon = normalizer_epsilon;
  return p;
}

ParamBytes bind(const Problem& problem, const Address& address,
                const std::vector<Region>& regions) {
  const LinearRecurrenceParams p = params(problem, address, regions);
  ParamBytes bytes(sizeof p);
  std::memcpy(bytes.data(), &p, sizeof p);
  return bytes;
}

std::vector<Constant> constants(const Problem& problem, const Tile& tile) {
  const Member& member = member_of(problem);
  std::vector<Constant> list{
      {"dim", "key_dim", static_cast<int>(problem.shape.key_dim)},
      {"dim", "value_dim", static_cast<int>(problem.shape.value_dim)},
      {"trait", "decay", static_cast<int>(member.decay)},
      {"trait", "before_update", member.before_update},
      {"trait", "elu_features", option(problem, "feature_map") == "elu_plus_one"},
      {"trait", "normalize", flag(problem, "normalize")},
      {"trait", "raw_gate", option(problem, "gate_input") == "raw"},
      {"trait", "float32_gates", gate_bytes_each(problem) == 4},
      {"trait", "packed_inputs", packed_inputs(problem)},
      {"trait", "ragged", ragged(problem)},
      {"trait", "value_first", option(problem, "state_layout") == "value_first"},
      {"trait", "state_bytes", bfloat16_state(problem) ? 2 : 4},
      {"trait", "states", states_every(problem) > 0}};
  for (const auto& [axis, value] : tile) list.push_back({"tile", axis, value});
  return list;
}

int gate_bytes_each(const Problem& problem) {
  return static_cast<int>(size_of(gate_dtype(problem)));
}

double key_bytes(const Problem& problem) {
  return tokens(problem) * static_cast<double>(problem.shape.key_dim) * io_bytes(problem);
}

double value_bytes(const Problem& problem) {
  return tokens(problem) * static_cast<double>(problem.shape.value_dim) * io_bytes(problem);
}

double gate_bytes(const Problem& problem) {
  switch (member_of(problem).decay) {
    case Decay::none:
      return 0;
    case Decay::per_head:
      return static_cast<double>(problem.shape.heads) * 4;
    case Decay::per_token:
    case Decay::per_key:
      return tokens(problem) * static_cast<double>(gate_dim(problem) * gate_bytes_each(problem));
  }
  return 0;
}

double small_bytes(const Problem& problem) {
  const Shape& s = problem.shape;
  const double bonus = member_of(problem).before_update
                           ? static_cast<double>(s.heads * s.key_dim) * io_bytes(problem)
                           : 0;
  return bonus + (ragged(problem) ? static_cast<double>(s.sequences + 1) * 4 : 0);
}

double state_bytes(const Problem& problem) {
  const auto keys =
      static_cast<double>(sequences(problem)) * static_cast<double>(problem.shape.key_dim);
  return keys * static_cast<double>(problem.shape.value_dim) * (bfloat16_state(problem) ? 2 : 4) +
         (flag(problem, "normalize") ? keys * 4 : 0);
}

double written_state_bytes(const Problem& problem) {
  const double all = state_bytes(problem);
  return (problem.final_state ? all : 0.0) + static_cast<double>(states_between(problem)) * all /
                                                 static_cast<double>(sequences(problem));
}

Variant cuda_variant(const Member& member, const CudaForm& form) {
  Variant v;
  v.op = member.op;
  v.name = form.name;
  v.summary = form.summary;
  v.backend = BackendId::cuda;
  v.space = form.space;
  v.sources = form.sources;
  v.sources.push_back("linear_recurrence/family.cpp");
  v.sources.push_back("linear_recurrence/refusal.cpp");
  v.sources.push_back("refusal.cpp");
  v.arithmetic = form.arithmetic;
  v.reject = form.reject;
  v.traffic = form.traffic;
  v.flops = form.flops;
  v.workspace = form.workspace ? form.workspace
                               : [](const Problem&, const Tile&) { return std::vector<Region>{}; };
  v.bind = [workspace = v.workspace](const Problem& problem, const Tile& tile,
                                     const Address& address) {
    return linear_recurrence::bind(problem, address, workspace(problem, tile));
  };
  v.code = form.recipe;
  return v;
}

}  // namespace gla_bench::linear_recurrence
