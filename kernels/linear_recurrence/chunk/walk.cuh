#pragma once
// The walk over the chunks of one sequence. All chunked variants share it, for every member of the
// family.
//
// Idea: a block owns one (sequence, head) and `block_v` columns of V. Its state S^T [V, K] stays in
// registers as float32 accumulators. A warp owns warp_v columns of V times its share of K. For each
// chunk of C tokens, let b be the running sum of the gates inside the chunk and bn its last value:
//   o^T = S^T (q e^b)^T + v^T A^T,  S^T = S^T diag(e^bn) + v^T (k e^(bn-b)),
//   A_ij = sum_k q_ik k_jk e^(b_i-b_j), i >= j.
// S^T in accumulators already has the layout of the A operand of the first product.
//
// Decays per key (operands.cuh): no exponent is ever positive, except inside a diagonal block of 8
// tokens. The scores form a binary tree. Where i and j lie in sibling blocks of n = 8, 16, 32
// tokens, b_i - b_j is i's prefix in its block plus j's suffix in its own. q (in odd blocks) and k
// (in even ones) are multiplied by these factors, which are all <= 1. At each level they share one
// tile. Inside 8 tokens both refer to the middle. Gates are clamped at -20, so exponents stay
// within 80 nats, which bfloat16 and tf32 can represent. Factors are products of e^g, so that no
// long sum loses its small terms. With the bonus, b_i of q excludes i's gate and A_ii is q_i.(u
// k_i).
//
// One decay for all keys, or none (factors.cuh): q and k go to the tensor cores as they are. The
// scores, the sums and v take the factors. There is no elementwise phase, and no tile for it.
//
// Shared memory: walk_layout.h.
//
// Phases, each ended by a barrier: wait for the chunk to be in place; form the features; with
// decays per key, compute the decays of blocks of 8 tokens and the bonus, then the operands of all
// products; form the scores, and beside them the state's part of o; add the scores' part of o and
// form the new state. With three stages and no decays per key, all of this happens in one phase,
// together with the scores of the next chunk.

#include "device/async_copy.cuh"
#include "linear_recurrence/chunk/operands.cuh"
#include "linear_recurrence/chunk/products.cuh"
#include "linear_recurrence/chunk/ranges.cuh"
#include "linear_recurrence/chunk/rows.cuh"
#include "linear_recurrence/chunk/walk_state.cuh"
#include "linear_recurrence/params.h"

namespace gla_bench::linear_recurrence {

template <int chunk, int block_v, int warp_v, int warps_k, int stages, int terms, bool outputs,
          typename Stored, typename Keeps = KeepsNone>
struct ChunkWalk {
  using Tiles = WalkTiles<chunk, block_v, warp_v, warps_k, stages, terms, outputs>;
  static constexpr WalkLayout layout = Tiles::layout;
  static constexpr int threads = Tiles::threads, keys = Tiles::keys, key_ld = Tiles::key_ld;

  static constexpr bool per_key = Tiles::per_key, scalar = !per_key && trait::decay != 0;
  using Factors = ScalarFactors<Tiles>;

  const LinearRecurrenceParams& p;
  const WalkRange& range;
  const Tiles tiles;
  const Keeps keeps = {};

  __device__ __forceinline__ void run() const {
    const StatePhase<Tiles, Stored> states{first_v()};
    typename Tiles::State state;
    prepare();
    states.load(range.initial, state);
    const int chunks = static_cast<int>((range.end - range.begin + chunk - 1) / chunk);
    float total = 1.0f;
    if constexpr (Tiles::scores_ahead)
      walk_ahead(chunks, state);
    else
      walk(chunks, state, total);
    __syncthreads();
    if (outputs && chunks > 0) store_outputs(chunks - 1);
    if constexpr (Keeps::any) keep(keeps.behind(chunks), state);
    if (range.final != nullptr) states.store(range.final, state);
    store_rest(total);
  }

 private:
  /// Stores the state before chunk c where it is to be kept.
  __device__ __forceinline__ void keep_state([[maybe_unused]] int c,
                                             [[maybe_unused]] typename Tiles::State& state) const {
    if constexpr (Keeps::any) keep(keeps.before(c), state);
  }

  /// Stores the state there, with the normalizer where one belongs to it. Null: nowhere.
  __device__ __forceinline__ void keep(void* to, typename Tiles::State& state) const {
    if (to == nullptr) return;
    StatePhase<Tiles, typename Keeps::Stored>{first_v()}.store(to, state);
    if constexpr (Tiles::normalize)
      if (float* sums = keeps.normalizer(to); sums != nullptr)
        for (int k = threadIdx.x; k < dim::key_dim; k += threads) sums[k] = tiles.normalizer()[k];
  }

  /// `total` accumulates the scalar decays of the chunks.
  __device__ __forceinline__ void walk(int chunks, typename Tiles::State& state,
                                       [[maybe_unused]] float& total) const {
    const ProductPhase<Tiles> products{tiles};
    const RowPhase<Tiles> rows{tiles};
    typename Factors::Gates gates;
    constexpr int ahead = stages > 1 ? stages - 1 : 1;
    for (int c = 0; c < ahead; ++c) load_chunk(c, chunks);
    start_factors<1>(gates);
    for (int c = 0; c < chunks; ++c) {
      if (stages == 1 && c > 0) {
        __syncthreads();
        load_chunk(c, chunks);
        if (outputs) store_outputs(c - 1);
      }
      device::wait_copies<ahead - 1>();
      __syncthreads();
      if (stages > 1) load_chunk(c + ahead, chunks);
      if (stages > 1 && outputs && c > 0) store_outputs(c - 1);
      next_factors(c + 1, gates);
      keep_state(c, state);
      form_operands(c, rows);
      if constexpr (outputs) {
        products.form_scores(c);
        if constexpr (Tiles::normalize) rows.form_dots(c);
        typename Tiles::Output out = {};
        products.multiply_state(c, state, out);
        __syncthreads();
        products.decay_state(c, state);
        products.add_chunk(c, state, out);
        products.store_partial(c, out);
      } else {
        products.decay_state(c, state);
        products.add_chunk(c, state);
        if constexpr (scalar) total *= products.factors.decay(c)[0];
      }
      if constexpr (Tiles::normalize) rows.advance_normalizer(c, p.scale, p.epsilon);
    }
  }

  /// Forms the scores one chunk ahead. What needs them comes one barrier later, so one barrier per
  /// chunk is enough. Between two barriers, warps can turn to scores, state or outputs.
  __device__ __forceinline__ void walk_ahead(int chunks, typename Tiles::State& state) const {
    const ProductPhase<Tiles> products{tiles};
    const RowPhase<Tiles> rows{tiles};
    typename Factors::Gates gates;
    load_chunk(0, chunks);
    load_chunk(1, chunks);
    start_factors<2>(gates);
    device::wait_copies<1>();
    __syncthreads();
    form_operands(0, rows);
    if (chunks > 0) products.form_scores(0);
    for (int c = 0; c < chunks; ++c) {
      device::wait_copies<0>();
      __syncthreads();
      load_chunk(c + 2, chunks);
      if (c > 0) store_outputs(c - 1);
      next_factors(c + 2, gates);
      keep_state(c, state);
      if (c + 1 < chunks) {
        form_operands(c + 1, rows);
        products.form_scores(c + 1);
      }
      typename Tiles::Output out = {};
      products.multiply_state(c, state, out);
      products.decay_state(c, state);
      products.add_chunk(c, state, out);
      products.store_partial(c, out);
    }
  }

  /// Forms the scalar factors of the first chunks, and loads the gates of the chunk after them.
  template <int first>
  __device__ __forceinline__ void start_factors(typename Factors::Gates& gates) const {
    if constexpr (scalar) {
      load_gates(gates, 0);
#pragma unroll
      for (int c = 0; c < first; ++c) next_factors(c, gates);
    }
  }

  /// Forms the scalar factors of chunk c from its gates, then loads the gates of the next chunk.
  __device__ __forceinline__ void next_factors(int c, typename Factors::Gates& gates) const {
    if constexpr (scalar) {
      form_factors(c, gates);
      load_gates(gates, c + 1);
    }
  }

  __device__ __forceinline__ long long offset(const TokenStrides& strides, long long token) const {
    return range.batch * strides.batch + token * strides.seq + range.head * strides.heads;
  }
  __device__ __forceinline__ int first_v() const {
    return range.slice * block_v;
  }
  __device__ __forceinline__ long long first_token(int c) const {
    return range.begin + static_cast<long long>(c) * chunk;
  }
  /// Tokens of chunk c that exist. There are none after the last chunk.
  __device__ __forceinline__ int valid_tokens(int c) const {
    const long long left = range.end - first_token(c);
    return left < 0 ? 0 : left < chunk ? static_cast<int>(left) : chunk;
  }

  /// Clears the padding columns of the stages once for the whole walk. Where operands are formed in
  /// place, zeros stay zeros.
  __device__ __forceinline__ void prepare() const {
    for (int i = threadIdx.x; i < stages * Tiles::stage_bytes / 16; i += threads)
      reinterpret_cast<uint4*>(tiles.shared)[i] = make_uint4(0, 0, 0, 0);
    for (int k = threadIdx.x; k < keys; k += threads) {
      const bool exists = k < dim::key_dim;
      if constexpr (per_key && !outputs) tiles.total_decay()[k] = 1.0f;
      if constexpr (Tiles::bonus && outputs) {
        const io_t* u = static_cast<const io_t*>(p.u) + range.head * dim::key_dim;
        tiles.bonus_u()[k] = exists ? device::to_float(u[k]) : 0.0f;
      }
      if constexpr (Tiles::normalize) {
        const bool given = exists && range.initial_normalizer != nullptr;
        tiles.normalizer()[k] = given ? range.initial_normalizer[k] : 0.0f;
      }
    }
    __syncthreads();
  }

  /// Starts the copies of chunk c. Rows past the range become zeros, which are tokens that change
  /// nothing. Closes a group of copies even where there is no such chunk, so that the number of
  /// groups is the number of chunks.
  __device__ __forceinline__ void load_chunk(int c, int chunks) const {
    if (c < chunks) {
      const long long token = first_token(c), key = offset(p.key_strides, token);
      const int rows = valid_tokens(c);
      copy_keys(tiles.k_tile(c), static_cast<const io_t*>(p.k) + key, rows);
      if constexpr (per_key) {
        const long long gate = trait::packed_inputs != 0 ? offset(p.gate_strides, token) : key;
        device::copy_rows_async<threads, chunk, dim::key_dim, key_ld, dim::key_dim>(
            tiles.g_tile(c), static_cast<const gate_t*>(p.g) + gate, key_gate_strides(p).seq, rows,
            dim::key_dim);
      }
      if constexpr (outputs) copy_keys(tiles.q_tile(c), static_cast<const io_t*>(p.q) + key, rows);
      device::copy_rows_async<threads, chunk, block_v, Tiles::value_ld, value_alignment>(
          tiles.v_tile(c),
          static_cast<const io_t*>(p.v) + offset(p.value_strides, token) + first_v(),
          p.value_strides.seq, rows, dim::value_dim - first_v());
    }
    device::commit_copies();
  }

  __device__ __forceinline__ void copy_keys(io_t* target, const io_t* source, int rows) const {
    device::copy_rows_async<threads, chunk, dim::key_dim, key_ld, key_alignment>(
        target, source, p.key_strides.seq, rows, dim::key_dim);
  }

  __device__ __forceinline__ void load_gates(typename Factors::Gates& gates, int c) const {
    if (!Factors::forms()) return;
    const gate_t* first = static_cast<const gate_t*>(p.g) + offset(p.gate_strides, first_token(c));
    Factors{tiles}.load(gates, first, p.gate_strides.seq, valid_tokens(c));
  }

  /// Forms the scalar factors of chunk c. Where the decay is constant, they are formed only for the
  /// first chunks, because the slots keep them, and for a shorter last chunk.
  __device__ __forceinline__ void form_factors(int c, const typename Factors::Gates& gates) const {
    if constexpr (Factors::per_head) {
      const int rows = valid_tokens(c);
      if (c < Tiles::layout.factor_slots || (rows > 0 && rows < chunk))
        Factors{tiles}.form_powers(c, p.log_decay[range.head], rows);
    } else {
      if (Factors::forms()) Factors{tiles}.form(c, gates);
    }
  }

  /// Everything between a chunk's arrival and its products.
  __device__ __forceinline__ void form_operands(int c, const RowPhase<Tiles>& rows) const {
    if constexpr (trait::elu_features) {
      rows.form_features(c, valid_tokens(c));
      __syncthreads();
    }
    if constexpr (per_key) {
      const OperandPhase<Tiles> operands{tiles, valid_tokens(c)};
      operands.sum_gates(c);
      if constexpr (Tiles::bonus && outputs) rows.form_bonus(c);
      __syncthreads();
      operands.form_operands(c);
      __syncthreads();
    }
  }

  /// Stores what exists beside the state: the range's decay and the normalizer.
  __device__ __forceinline__ void store_rest([[maybe_unused]] float total) const {
    if constexpr (!outputs && scalar)
      if (range.decay != nullptr && threadIdx.x == 0) range.decay[0] = total;
    for (int k = threadIdx.x; k < dim::key_dim; k += threads) {
      if constexpr (!outputs && per_key)
        if (range.decay != nullptr) range.decay[k] = tiles.total_decay()[k];
      if constexpr (Tiles::normalize)
        if (range.final_normalizer != nullptr) range.final_normalizer[k] = tiles.normalizer()[k];
    }
  }

  /// Sums the warps' partial outputs of chunk c, scales them and writes them. Neighbouring threads
  /// write neighbouring elements.
  __device__ __forceinline__ void store_outputs(int c) const {
    constexpr int io_bytes = sizeof(io_t);
    constexpr int width = device::widest_access(dim::value_dim * io_bytes) / io_bytes;
    constexpr int per_row = block_v / width;
    io_t* o = static_cast<io_t*>(p.o) + offset(output_strides(p), first_token(c)) + first_v();
    const int rows = valid_tokens(c);
#pragma unroll 2
    for (int i = threadIdx.x; i < chunk * per_row; i += threads) {
      const int row = i / per_row, column = i % per_row * width;
      if (row >= rows || column >= dim::value_dim - first_v()) continue;
      float sum[width] = {};
#pragma unroll
      for (int w = 0; w < warps_k; ++w) {
        const float* from = tiles.partial(c) + (w * chunk + row) * Tiles::partial_ld + column;
        const auto part =
            *reinterpret_cast < const device::Pack<float, width<4 ? width : 4>*>(from);
#pragma unroll
        for (int j = 0; j < width; ++j)
          if (j < 4) sum[j] += part.value[j % 4];
        if constexpr (width == 8) {
          const auto rest = *reinterpret_cast<const device::Pack<float, 4>*>(from + 4);
#pragma unroll
          for (int j = 0; j < 4; ++j) sum[4 + j] += rest.value[j];
        }
      }
      const float scale = Tiles::normalize ? tiles.quotients()[row] : p.scale;
      device::Pack<io_t, width> packed;
#pragma unroll
      for (int j = 0; j < width; ++j) packed.value[j] = device::from_float<io_t>(scale * sum[j]);
      *reinterpret_cast<device::Pack<io_t, width>*>(o + row * output_strides(p).seq + column) =
          packed;
    }
  }
};

}  // namespace gla_bench::linear_recurrence
