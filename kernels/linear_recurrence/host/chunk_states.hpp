#pragma once
// The states of all chunks in memory, and the parallel scan that carries them from chunk to chunk.

#include <algorithm>

#include "kernels/linear_recurrence/host/rows.hpp"

namespace gla_bench::linear_recurrence::host {

/// The chunks of all pairs. For each of them a state [K, columns + extra] and a decay [K] in
/// memory.
struct ChunkStates {
  const Call& call;
  long long length;  ///< of a chunk, in tokens
  long long row;     ///< of a stored state
  Pieces pieces;
  float* states;
  float* decays;

  ChunkStates(const Call& c, long long chunk, void* states_, void* decays_)
      : call(c),
        length(chunk),
        row(c.values + c.extra),
        pieces(c, chunk),
        states(static_cast<float*>(states_)),
        decays(static_cast<float*>(decays_)) {}

  long long longest() const { return std::min(length, call.longest()); }
  float* state(long long chunk) const { return states + chunk * call.keys * row; }
  float* decay(long long chunk) const { return decays + chunk * call.keys; }
};

/// Which chunks come first.
enum class Order { forwards, backwards };

/// The associative scan (d2, S2) o (d1, S1) = (d2 d1, d2 S1 + S2) over the chunks of each pair,
/// where S2 comes behind S1 in this order: every chunk's state takes in those before it. It is a
/// tree of log2(chunks) levels up and as many down. All combinations of a level run in parallel.
void scan(const ChunkStates& chunks, Order order);

/// Combinations that the up and down sweeps make for `count` chunks of one pair.
double combinations_of(std::int64_t count);

/// Combinations of all pairs. Ragged sequences are counted as one long sequence.
double combinations(const Problem& problem, std::int64_t chunk);

}  // namespace gla_bench::linear_recurrence::host
