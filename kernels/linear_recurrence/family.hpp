#pragma once
// What the host side of every linear-recurrence variant shares: the members of the family,
// parameters, constants and byte counts.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "core/variant.hpp"
#include "kernels/linear_recurrence/params.h"
#include "kernels/refusal.hpp"

namespace gla_bench::linear_recurrence {

/// What a token's decay depends on. Kernels see the number as trait::decay.
enum class Decay { none = 0, per_head = 1, per_token = 2, per_key = 3 };

/// An operator of the family, described by what sets it apart for its kernels.
struct Member {
  std::string_view op;
  Decay decay;
  std::string_view gate;  ///< the tensor that holds the log decays: "g", "w", "log_decay", or ""
  /// Whether the output reads the state before the update, with the token itself added through the
  /// bonus u.
  bool before_update;
};

/// The family's operators, in the order of the list of variants.
std::span<const Member> members();

/// The member that solves the problem; gla for a problem of another family.
const Member& member_of(const Problem& problem);

/// Whether sequences are ragged (cu_seqlens).
bool ragged(const Problem& problem);

/// Number of independent sequences: batch (or the number of ragged sequences) * heads.
std::int64_t sequences(const Problem& problem);

/// The tokens between the states that are outputs (option states_every), or 0 where there are none:
/// not asked for, or no sequence is long enough.
std::int64_t states_every(const Problem& problem);

/// The number of these states, of all sequences and heads.
std::int64_t states_between(const Problem& problem);

/// The kernel parameters: the tensors' addresses, the strides of the problem's layouts, sizes and
/// scale. `regions`: the names of the workspace regions, in the order of Params::work.
LinearRecurrenceParams params(const Problem& problem, const Address& address,
                              const std::vector<Region>& regions);

/// params() as the bytes that a launch takes.
ParamBytes bind(const Problem& problem, const Address& address, const std::vector<Region>& regions);

/// Constants of a kernel. They are dim::key_dim, dim::value_dim, every axis of the tile as
/// tile::<axis>, and what the member and the problem's options mean to a kernel. The latter are
/// trait::decay (Decay), ::before_update, ::elu_features, ::normalize, ::raw_gate (g holds w_raw,
/// and the log decay is -exp(w_raw)), ::float32_gates, ::packed_inputs (q, k and v are slices
/// of wider rows), ::ragged, ::value_first (states are [V,K]), ::state_bytes and ::states (there
/// are states after every states_every tokens).
std::vector<Constant> constants(const Problem& problem, const Tile& tile);

/// Bytes of one number of the gates per token or per key.
int gate_bytes_each(const Problem& problem);
/// One pass over q (or k): bytes of a [B,T,H,K] tensor in the problem's dtype.
double key_bytes(const Problem& problem);
/// Bytes of a [B,T,H,V] tensor in the problem's dtype.
double value_bytes(const Problem& problem);
/// Bytes of the log decays, whatever they depend on.
double gate_bytes(const Problem& problem);
/// Bytes of the small tensors that are also read: bonus, cu_seqlens.
double small_bytes(const Problem& problem);
/// Bytes of one state [N,H,K,V] in its dtype, with its normalizer where there is one.
double state_bytes(const Problem& problem);
/// Bytes of all states that are outputs: the final one, and those after every states_every tokens.
double written_state_bytes(const Problem& problem);

/// The parts of a CUDA variant that differ. Empty functions mean that there is no workspace.
struct CudaForm {
  std::string_view name, summary;
  TileSpace space;
  std::vector<std::string> sources;  ///< below kernels/; the family's own and refusal.cpp are added
  std::function<Arithmetic(const Problem&, const Tile&)> arithmetic;
  std::function<std::optional<std::string>(const Problem&, const Tile&, const Limits&)> reject;
  std::function<Traffic(const Problem&, const Tile&)> traffic;
  std::function<double(const Problem&, const Tile&)> flops;
  std::function<std::vector<Region>(const Problem&, const Tile&)> workspace;
  std::function<Recipe(const Problem&, const Tile&)> recipe;
};

/// The variant of one member that the form describes.
Variant cuda_variant(const Member& member, const CudaForm& form);

/// The variants of this family, CUDA and host, for the operators it covers.
std::vector<Variant> variants();

}  // namespace gla_bench::linear_recurrence
