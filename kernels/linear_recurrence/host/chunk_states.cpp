#include "kernels/linear_recurrence/host/chunk_states.hpp"

#include "kernels/linear_recurrence/host/math.hpp"
#include "kernels/linear_recurrence/host/variant.hpp"

namespace gla_bench::linear_recurrence::host {
namespace {

// Replaces `later` by (earlier o later).
void combine(const ChunkStates& c, long long earlier, long long later) {
  const float *before = c.state(earlier), *decay_before = c.decay(earlier);
  float *state = c.state(later), *decay = c.decay(later);
  for (long long i = 0; i < c.call.keys; ++i) {
    for (long long j = 0; j < c.row; ++j) state[i * c.row + j] += decay[i] * before[i * c.row + j];
    decay[i] = without_dust(decay[i] * decay_before[i]);
  }
}

// Runs one level of the tree: chunk i of a pair takes in chunk i - distance, for i = first, first +
// step, ..., counted in the order of the scan.
void level(const ChunkStates& c, Order order, long long first, long long step, long long distance) {
#pragma omp parallel for schedule(dynamic)
  for (long long chunk = 0; chunk < c.pieces.count(); ++chunk) {
    const Piece& piece = c.pieces.list[chunk];
    const bool forwards = order == Order::forwards;
    const long long index =
        forwards ? piece.index : c.pieces.count_of(piece.pair) - 1 - piece.index;
    if (index >= first && (index - first) % step == 0)
      combine(c, forwards ? chunk - distance : chunk + distance, chunk);
  }
}

}  // namespace

void scan(const ChunkStates& c, Order order) {
  const long long most = ceil_div(c.call.longest(), c.length);
  long long distance = 1;
  for (; distance < most; distance *= 2) level(c, order, 2 * distance - 1, 2 * distance, distance);
  for (distance /= 2; distance >= 1; distance /= 2)
    level(c, order, 3 * distance - 1, 2 * distance, distance);
}

double combinations_of(std::int64_t count) {
  std::int64_t total = 0, distance = 1;
  const auto of_level = [&](std::int64_t first, std::int64_t step) {
    if (first < count) total += (count - 1 - first) / step + 1;
  };
  for (; distance < count; distance *= 2) of_level(2 * distance - 1, 2 * distance);
  for (distance /= 2; distance >= 1; distance /= 2) of_level(3 * distance - 1, 2 * distance);
  return static_cast<double>(total);
}

double combinations(const Problem& problem, std::int64_t chunk) {
  const Shape& s = problem.shape;
  const double pairs =
      static_cast<double>(s.heads) * (ragged(problem) ? 1.0 : static_cast<double>(s.batch));
  return pairs * combinations_of(chunks_in_a_row(problem, chunk));
}

}  // namespace gla_bench::linear_recurrence::host
