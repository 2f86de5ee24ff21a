#pragma once
// What the host side of every variant of the softmax family shares: parameters, constants and byte
// counts. The family is softmax, attention and decay_attention.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/variant.hpp"
#include "kernels/refusal.hpp"
#include "kernels/softmax_attention/params.h"

namespace gla_bench::softmax_attention {

/// What is added to the logits: nothing, or the sum of log decays between key and query. Kernels
/// see the number as trait::decay.
enum class Decay { none = 0, constant = 1, per_token = 2 };

Decay decay_of(const Problem& problem);

/// Whether a query sees no keys after its own position. In decay_attention this is always so.
bool causal(const Problem& problem);

/// Whether a forward pass writes lse. A backward pass receives it as an input.
bool writes_lse(const Problem& problem);

/// The number of query heads for each key head.
std::int64_t group(const Problem& problem);

/// The number of products q.k that count, over batch and query heads: the causal pairs, or all.
double pairs(const Problem& problem);

/// Whether sequences are ragged.
bool ragged(const Problem& problem);
std::int64_t sequences(const Problem& problem);
/// Blocks of `rows` tokens for each head of all sequences together, of T or Tk `tokens`. Of ragged
/// batches, the slots that their blocks have whatever the lengths are (ragged.cuh).
std::int64_t blocks_of(const Problem& problem, std::int64_t tokens, std::int64_t rows);
/// Whether keys are in pages, which block_table finds.
bool paged(const Problem& problem);
/// Bytes of cu_seqlens and cu_seqlens_k, or of block_table and cache_seqlens.
double index_bytes(const Problem& problem);
/// Says that keys are in pages and the variant has no block_table, or returns nothing.
std::optional<std::string> refuse_pages(const Problem& problem);

/// SoftmaxParams with the tensors' addresses, sizes and scale. `regions` lists the names of the
/// workspace regions in the order of Params::work.
SoftmaxParams softmax_params(const Problem& problem, const Address& address,
                             const std::vector<Region>& regions);

/// AttentionParams with the tensors' addresses (o and lse in both directions), the strides of the
/// problem's layout, sizes and scale.
AttentionParams attention_params(const Problem& problem, const Address& address,
                                 const std::vector<Region>& regions);

/// The operator's Params as the bytes that a launch takes.
ParamBytes bind(const Problem& problem, const Address& address, const std::vector<Region>& regions);

/// Every axis of the tile as tile::<axis>. For attention also dim::key_dim, dim::value_dim and
/// trait::causal, ::decay (a Decay), ::lse (whether there is one, as an output or an input),
/// ::group, ::float32_gates, ::packed_inputs (q, k and v are slices of wider rows), ::ragged and
/// ::page_size (0: not paged).
std::vector<Constant> constants(const Problem& problem, const Tile& tile);

/// Bytes of x, which equal those of y, of softmax.
double row_bytes(const Problem& problem);
/// Bytes of q (or dq), of k (or dk), of v (or dv) and of o (or its gradient), in the problem's
/// dtype.
double query_bytes(const Problem& problem);
double key_bytes(const Problem& problem);
double value_bytes(const Problem& problem);
double output_bytes(const Problem& problem);
/// Bytes of the log decays, in every form that they come in.
double decay_bytes(const Problem& problem);
/// Bytes of the gradient of the log decays, float32.
double decay_gradient_bytes(const Problem& problem);
/// Bytes of lse [B,T,H], whether or not it is an output.
double lse_bytes(const Problem& problem);

/// Says why the kernels do not serve the problem: sizes outside their range (B, T, H, Tk, Hk >= 1;
/// K, V in 1..512), heads that are not a multiple of the key heads, or an operator or direction
/// that is not the variant's. Returns nothing if they serve it.
std::optional<std::string> refuse_problem(const Problem& problem, std::string_view op,
                                          Direction direction);

/// The parts in which CUDA variants differ. A `workspace` left empty means no workspace.
struct CudaForm {
  std::string_view name, summary;
  TileSpace space;
  std::vector<std::string> sources;  ///< below kernels/; family.cpp and refusal.cpp are added
  std::function<Arithmetic(const Problem&, const Tile&)> arithmetic;
  /// Asked after refuse_problem(), refuse_choice() and refuse_architecture(), whose checks it need
  /// not repeat. refuse_workspace() follows it.
  std::function<std::optional<std::string>(const Problem&, const Tile&, const Limits&)> reject;
  std::function<Traffic(const Problem&, const Tile&)> traffic;
  std::function<double(const Problem&, const Tile&)> flops;
  std::function<std::vector<Region>(const Problem&, const Tile&)> workspace;
  std::function<Recipe(const Problem&, const Tile&)> recipe;
  bool takes_ragged = false;  ///< whether the kernels know cu_seqlens
  bool takes_pages = false;   ///< whether the kernels know block_table
};

/// The same traffic with the inputs of whole numbers, which the kernels read once.
std::function<Traffic(const Problem&, const Tile&)> with_indices(
    std::function<Traffic(const Problem&, const Tile&)> traffic);

/// The variant of one operator and direction that the form describes.
Variant cuda_variant(std::string_view op, Direction direction, const CudaForm& form);

/// All variants of this family, CUDA and host.
std::vector<Variant> variants();

}  // namespace gla_bench::softmax_attention
