// parallel backward: quadratic in T. No states: every chunk of tokens meets every other one of its
// sequence, and nothing but sums for each key passes between blocks.
//
// Idea: a pair of chunks I > J meets in scores A = q_I k_J^T and their gradients C = do_I v_J^T,
// with q and k times their decays in their chunks and one of them times those of the chunks in
// between. Then
//   dq_I += C k_J,  dk_J += C^T q_I,  dv_J += A^T do_I.
// The initial state and the gradient of the final one, each with the decays up to the chunk, take
// the places of the states around a chunk, and the chunk with itself is what it is in the chunk
// forms (chunk/). The gradient of every gate of chunk B is also passed by pairs I > B > J. What
// I's queries read of all that was written before B is a sum for each key, which the walk of I over
// the earlier chunks has on its way; B adds these up over I. No part is a difference.
//
//   quadratic_operands  decayed k and q of a chunk, and the product of its decays
//   quadratic_outputs,  with a normalizer: gradients of numerators and denominators
//   gradient_outputs
//   quadratic_readers   a chunk's queries against all earlier chunks
//   quadratic_initial   the gradient of the initial state, where it is asked for
//   quadratic_gradients a chunk's keys and values against all later chunks, then the gradients of
//                       its tokens: scores.cuh, panels.cuh, gradients.cuh
//   gradient_values, .. add up what blocks have (sums.cuh)
//
// Grids: chunks * slices of K, slices fastest; quadratic_initial: sequences * heads * slices *
// panels, panels fastest.
//
// Shared memory: layout.h.
//
// Bytes: q, k and gates four times; v and do by each launch that meets chunks, which find those of
// one sequence in the L2 cache; the workspace's operands once written and read as often as v; with
// decays ceil(T / chunk)^2 / 2 rows [K] per head written and read.
//
// Workspace: workspace.cuh and sums.cuh.

#include "linear_recurrence/backward/quadratic/others.cuh"

namespace gla_bench::linear_recurrence::backward::chunked {

static_assert(layout.outside >= layout.end_of_scores, "scores come after what lies outside");

/// What a block works on: a chunk, a slice and, by their numbers, the sequence's other chunks.
struct OwnChunk {
  Place place;
  Sequence of;
  Pieces pieces;
  Chunk at;

  __device__ OwnChunk(const GradientParams& g, unsigned char* shared)
      : place(g),
        of(g, place.pair),
        pieces(of, place.slice),
        at(chunk_of(of, place.slice, place.number, shared)) {}
  OwnChunk(const OwnChunk&) = delete;
  /// False where a ragged sequence's slot holds no chunk.
  __device__ __forceinline__ bool exists() const { return at.tokens > 0; }
};

__device__ inline void store_operands(const OwnChunk& own) {
  const Chunk& at = own.at;
  Column column;
  begin(at, column);
  const auto store = [&](bool of_queries, const float(&x)[16]) {
    operand_t* to = own.pieces.operands(own.place.number, of_queries) +
                    16 * block_of_warp() * block_k + own_key();
#pragma unroll
    for (int t = 0; t < 16; ++t) to[t * block_k] = Ops::rounded(x[t]);
  };
  float x[16];
  column.suffixed(at, x);
  store(false, x);
  column.prefixed(at, 1.0f, x);
  store(true, x);
  if (decays_exist && block_of_warp() == 0)
    own.pieces.edge(own.place.number, total_decay, own_key()) = at.whole(own_key());
}

/// Each key's sum over the chunk's tokens of decayed tokens, in float32, times what they read of
/// others or get from them.
class KeySums {
 public:
  /// Needs the totals. Begins and ends with a barrier.
  __device__ __forceinline__ KeySums(const Chunk& at, const float (&tokens)[16]) : at_(at) {
    float* tile = at.floats(layout.decayed_q);
    __syncthreads();
#pragma unroll
    for (int t = 0; t < 16; ++t) tile[(16 * block_of_warp() + t) * block_k + own_key()] = tokens[t];
    __syncthreads();
#pragma unroll
    for (int n = 0; n < 4; ++n)
#pragma unroll
      for (int x = 0; x < 4; ++x)
        tokens_[n][x] = tile[(16 * block_of_warp() + tile_row() + x / 2 * 8) * block_k +
                             32 * group_of_warp() + 8 * n + tile_column() + x % 2];
    __syncthreads();
  }

  /// Calls store(key of the slice, sum) by one thread for each key. Has barriers.
  template <class Store>
  __device__ __forceinline__ void store(const float (&read)[4][4], Store store_sum) const {
    float* parts = at_.floats(layout.sums);
#pragma unroll
    for (int n = 0; n < 4; ++n)
#pragma unroll
      for (int x = 0; x < 2; ++x) {
        float sum = fmaf(tokens_[n][x], read[n][x], tokens_[n][x + 2] * read[n][x + 2]);
#pragma unroll
        for (int other = 16; other > 2; other /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, other);
        if (tile_row() == 0)
          parts[block_of_warp() * block_k + 32 * group_of_warp() + 8 * n + tile_column() + x] = sum;
      }
    __syncthreads();
    if (const int key = static_cast<int>(threadIdx.x); key < block_k) {
      float sum = 0.0f;
      for (int b = 0; b < blocks; ++b) sum += parts[b * block_k + key];
      store_sum(key, sum);
    }
    __syncthreads();
  }

 private:
  const Chunk& at_;
  float tokens_[4][4];
};

/// sum = rows of do, or of v, times the transposed state(key of the slice, column). Begins with a
/// barrier, ends without one.
template <bool gradients, class State>
__device__ __forceinline__ void multiply_state(const Chunk& at, State state, float (&sum)[4][4]) {
  const operand_t* rows = at.operands(layout.v) + 16 * block_of_warp() * panel_ld;
  const operand_t* states = at.operands(layout.state) + 32 * group_of_warp() * panel_ld;
  for (int first = 0; first < width; first += panel) {
    __syncthreads();
    load_panel<gradients>(at, first, at.operands(layout.v));
    load_state(at, first, state, at.operands(layout.state));
    __syncthreads();
#pragma unroll 2
    for (int c = 0; c < panel; c += Ops::depth) {
      const Ops::A a = Ops::load_raw_rows(rows + c, panel_ld);
#pragma unroll
      for (int n = 0; n < 4; n += 2) {
        Ops::B b[2];
        Ops::load_rows(b, states + 8 * n * panel_ld + c, panel_ld);
        Ops::multiply(sum[n], a, b[0]);
        Ops::multiply(sum[n + 1], a, b[1]);
      }
    }
  }
}

/// Stores what the chunk's tokens have of the states at the ends of the sequence, for the gates in
/// between. `tokens` are those of `sums`.
template <bool gradients>
__device__ __forceinline__ void store_edge(const OwnChunk& own, const KeySums& sums) {
  const GradientParams& g = own.of.g;
  const auto store = [&](float factor) {
    return [&own, factor](int key, float sum) {
      own.pieces.edge(own.place.number, gradients ? initial_read : final_written, key) =
          factor * sum;
    };
  };
  float sum[4][4] = {};
  if constexpr (gradients) {
    if (g.inputs.initial_state != nullptr)
      multiply_state<true>(
          own.at, [&](int n, int c) { return own.of.initial_state(own.at.key_of(n), c); }, sum);
    sums.store(sum, store(g.inputs.scale));
  } else {
    if (g.d_final_state != nullptr)
      multiply_state<false>(
          own.at, [&](int n, int c) { return own.of.final_gradient(own.at.key_of(n), c); }, sum);
    sums.store(sum, store(1.0f));
  }
}

__device__ inline void store_read(const OwnChunk& own) {
  const Chunk& at = own.at;
  KeyWalk<true> walk(at, own.pieces, own.place.number);
  if constexpr (decays_exist) {
    Column column;
    begin(at, column);
    float x[16];
    column.suffixed(at, x);
    store_edge<false>(own, KeySums(at, x));
    column.prefixed(at, 1.0f, x);
    const KeySums sums(at, x);
    store_edge<true>(own, sums);
    walk.run([&](long long n) {
      sums.store(walk.sum, [&](int key, float sum) {
        own.pieces.passing(own.place.number, n, key) = at.of.g.inputs.scale * sum;
      });
    });
  } else {
    walk.run([](long long) {});
  }
  float* to = own.pieces.read(own.place.number) + (16 * block_of_warp() + tile_row()) * block_k +
              32 * group_of_warp() + tile_column();
#pragma unroll
  for (int n = 0; n < 4; ++n)
#pragma unroll
    for (int x = 0; x < 4; ++x) to[x / 2 * 8 * block_k + 8 * n + x % 2] = walk.sum[n][x];
}

/// For each key of the slice, after store() and a barrier: the decays from the start of the
/// sequence to the chunk and from its end to that of the sequence, and what passes all of the
/// chunk, without its own decays. What goes from the initial state to the final one is not in it.
struct Outside {
  float* floats;
  __device__ __forceinline__ explicit Outside(const Chunk& at)
      : floats(at.floats(layout.outside)) {}
  __device__ __forceinline__ float& before(int key) const { return floats[key]; }
  __device__ __forceinline__ float& behind(int key) const { return floats[block_k + key]; }
  __device__ __forceinline__ float& through(int key) const { return floats[2 * block_k + key]; }

  __device__ __forceinline__ void store(const Pieces& all, long long number) const {
    const int key = static_cast<int>(threadIdx.x);
    if (key >= block_k) return;
    float to_start = 1.0f, to_end = 1.0f, pairs = 0.0f, of_initial = 0.0f, of_final = 0.0f;
    if constexpr (decays_exist) {
      for (long long n = all.count - 1; n > number; --n) {
        const float total = all.total(n, key);
        pairs = fmaf(total, pairs, all.passing(n, number, key));
        of_initial = fmaf(total, of_initial, all.edge(n, initial_read, key));
        to_end *= total;
      }
      for (long long n = 0; n < number; ++n) {
        const float total = all.total(n, key);
        of_final = fmaf(total, of_final, all.edge(n, final_written, key));
        to_start *= total;
      }
    }
    before(key) = to_start;
    behind(key) = to_end;
    through(key) = fmaf(to_start, of_initial, fmaf(to_end, of_final, pairs));
  }
};

/// What a chunk has from all other chunks, for Panels.
struct Others : OtherColumns<false> {
  const KeyWalk<false>& walk;

  __device__ __forceinline__ explicit Others(const KeyWalk<false>& written)
      : OtherColumns<false>{written.at, written.pieces, written.number}, walk(written) {}

  template <class Panels>
  __device__ __forceinline__ void seed(Panels& panels) const {
    const float scale = at.of.g.inputs.scale;
    const float* from = pieces.read(number) + (16 * block_of_warp() + tile_row()) * block_k +
                        32 * group_of_warp() + tile_column();
#pragma unroll
    for (int n = 0; n < 4; ++n)
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        panels.read[n][x] = from[x / 2 * 8 * block_k + 8 * n + x % 2];
        panels.written[n][x] = scale * walk.sum[n][x];
      }
#pragma unroll
    for (int n = 0; n < Panels::own_rows; ++n)
      if (const int key = warp() + n * warps; lane() == 0 && key < block_k)
        panels.through[n] = Outside(at).through(key);
  }
};

__device__ inline void store_gradients(const OwnChunk& own) {
  const Chunk& at = own.at;
  KeyWalk<false> walk(at, own.pieces, own.place.number);
  walk.run([](long long) {});
  __syncthreads();
  const Outside outside(at);
  outside.store(own.pieces, own.place.number);
  OwnSums sums;
  form_gradients(
      at,
      [&](int n, int column) {
        return outside.before(n) * own.of.initial_state(at.key_of(n), column);
      },
      [&](int n, int column) {
        return outside.behind(n) * own.of.final_gradient(at.key_of(n), column);
      },
      Others(walk), [](int) {}, sums);
  keep_sums(at, own.place.slot, sums);
}

/// Each slice's part of the chunk's outputs, for the gradients of a normalizer.
__device__ inline void store_outputs(const OwnChunk& own) {
  static_assert(!normalized || !decays_exist, "a normalizer that decays is not written");
  const Chunk& at = own.at;
  Column column;
  begin(at, column);
  column.store_prefixed(at);
  Scores{at, column}.form();
  const auto before = [&](int n, int c) { return own.of.initial_state(at.key_of(n), c); };
  const OtherColumns<true> others{at, own.pieces, own.place.number};
  Outputs<decltype(before), OtherColumns<true>>{at, before, others}.run();
}

/// A panel of the rows of the gradient of the initial state.
struct InitialPanel {
  const Chunk& start;  ///< the sequence's first chunk
  int first;           ///< column

  __device__ __forceinline__ bool exists(int n, int c) const {
    return start.key_of(n) < keys && first + c < width;
  }
  /// In place of the states' operands.
  __device__ __forceinline__ float& at(int n, int c) const {
    static_assert(4 * block_k * panel_ld <= layout.own_keys - layout.state);
    return start.floats(layout.state)[n * panel_ld + c];
  }
  /// Calls act(element, key, column) for this thread's share of the elements that exist.
  template <class Act>
  __device__ __forceinline__ void for_each(Act act) const {
    for (int i = static_cast<int>(threadIdx.x); i < block_k * panel; i += threads) {
      const int n = i / panel, c = i % panel;
      if (exists(n, c)) act(at(n, c), start.key_of(n), first + c);
    }
  }
};

/// The gradient of the final state with all decays, and each chunk's part, from the last chunk to
/// the first.
__device__ inline void store_initial(const Sequence& of, int slice, int first,
                                     unsigned char* shared) {
  const Pieces pieces(of, slice);
  const Chunk start = chunk_of(of, slice, 0, shared);
  const InitialPanel change{start, first};
  change.for_each([&](float& x, int key, int column) { x = of.final_gradient(key, column); });
  operand_t *queries = start.operands(layout.other_keys),
            *columns = start.operands(layout.other_columns);
  for (long long n = pieces.count; n-- > 0;) {
    __syncthreads();
    load_operands(pieces.operands(n, true), queries);
    load_panel<true>(chunk_of(of, slice, n, shared), first, columns);
    __syncthreads();
    outer_product(queries, columns, [&](int key, int column, float sum) {
      if (!change.exists(key, column)) return;
      float& x = change.at(key, column);
      x = fmaf(pieces.total(n, key), x, of.g.inputs.scale * sum);
    });
  }
  __syncthreads();
  change.for_each(
      [&](float& x, int key, int column) { of.store_initial_gradient(key, column, x); });
}

}  // namespace gla_bench::linear_recurrence::backward::chunked

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::backward::chunked::threads)
    quadratic_operands(const __grid_constant__ gla_bench::GradientParams g) {
  using namespace gla_bench::linear_recurrence::backward::chunked;
  extern __shared__ __align__(128) unsigned char shared[];
  const OwnChunk own(g, shared);
  if (own.exists()) store_operands(own);
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::backward::chunked::threads)
    quadratic_outputs(const __grid_constant__ gla_bench::GradientParams g) {
  using namespace gla_bench::linear_recurrence::backward::chunked;
  extern __shared__ __align__(128) unsigned char shared[];
  if constexpr (trait::normalize != 0) {
    const OwnChunk own(g, shared);
    if (own.exists()) store_outputs(own);
  }
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::backward::chunked::threads)
    quadratic_readers(const __grid_constant__ gla_bench::GradientParams g) {
  using namespace gla_bench::linear_recurrence::backward::chunked;
  extern __shared__ __align__(128) unsigned char shared[];
  const OwnChunk own(g, shared);
  if (own.exists()) store_read(own);
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::backward::chunked::threads)
    quadratic_initial(const __grid_constant__ gla_bench::GradientParams g) {
  using namespace gla_bench::linear_recurrence::backward;
  extern __shared__ __align__(128) unsigned char shared[];
  constexpr int panels = chunked::layout.panels;
  const long long task = blockIdx.x / panels;
  chunked::store_initial(Sequence(g, task / slices), static_cast<int>(task % slices),
                         static_cast<int>(blockIdx.x % panels) * chunked::panel, shared);
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::backward::chunked::threads)
    quadratic_gradients(const __grid_constant__ gla_bench::GradientParams g) {
  using namespace gla_bench::linear_recurrence::backward::chunked;
  extern __shared__ __align__(128) unsigned char shared[];
  const OwnChunk own(g, shared);
  if (own.exists()) store_gradients(own);
}
