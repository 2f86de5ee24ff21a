#pragma once
// The outputs of chunks from the states before them, which the gradients of a normalizer need.

#include "linear_recurrence/backward/chunk/places.cuh"

/// With a normalizer: each slice's part of a chunk's outputs.
extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::backward::chunked::threads)
    chunk_gradient_outputs(const __grid_constant__ gla_bench::GradientParams g) {
  using namespace gla_bench::linear_recurrence::backward::chunked;
  extern __shared__ __align__(128) unsigned char shared[];
  const Place place(g);
  const gla_bench::linear_recurrence::backward::Sequence of(g, place.pair);
  const Chunk at = chunk_of(of, place.slice, place.number, shared);
  if (at.tokens <= 0) return;
  Column own;
  begin(at, own);
  own.store_prefixed(at);
  Scores{at, own}.form();
  const NoOthers none;
  Outputs<WorkRows, NoOthers>{at, work_rows(g, work::chunk_states, place.slot, place.slice), none}.run();
}
