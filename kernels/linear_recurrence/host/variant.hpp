#pragma once
// What the descriptions of the host variants have in common.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/linear_recurrence/family.hpp"

namespace gla_bench::linear_recurrence::host {

/// Why the variant cannot run here (not the host) or so (not forward), or nothing.
std::optional<std::string> refuse_place(const Problem& problem, const Limits& limits);

/// The same, or why a chunk form has no such states between: they are not those of whole chunks.
std::optional<std::string> refuse_chunk_form(const Problem& problem, const Tile& tile,
                                             const Limits& limits);

/// The same for a form that has no states between at all.
std::optional<std::string> refuse_whole_form(const Problem& problem, const Tile& tile,
                                             const Limits& limits);

/// A member's variant on the host in float32: name, summary, tile space, bind and what never
/// differs. The caller sets traffic, flops and, where it has any, the workspace.
Variant make_variant(const Member& member, const std::string& name, const std::string& summary,
                     TileSpace space, std::function<void(const HostCall&)> code,
                     std::vector<std::string> sources);

/// batch * seq * heads.
double tokens(const Problem& problem);

/// Bytes of q, k, the gates and the small inputs, each once.
double token_reads(const Problem& problem);

/// Columns of the state: V, and the normalizer's.
double columns(const Problem& problem);

/// Bytes of a float32 [B,T,H,columns] array.
double float_rows(const Problem& problem, double columns);

/// Bytes of the initial state where the problem has one, and of those that are outputs.
double states_read(const Problem& problem);
double states_written(const Problem& problem);

/// Chunks of all sequences and heads. For ragged sequences, the most there can be.
std::int64_t chunks(const Problem& problem, std::int64_t chunk);

/// The most chunks of one sequence that can follow one another.
std::int64_t chunks_in_a_row(const Problem& problem, std::int64_t chunk);

/// Blocks of the value dimension.
std::int64_t value_blocks(const Problem& problem, const Tile& tile);

/// Operations of a chunk form: 4KV per token and head for the state, and the lower triangle of the
/// scores and of their product with v.
double chunk_flops(const Problem& problem, std::int64_t chunk);

}  // namespace gla_bench::linear_recurrence::host
