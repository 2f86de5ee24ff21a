#pragma once
// A consumer of flash_sm90's backward: a warpgroup that has 64 keys and the sums of their dk and
// dv, or of its share of the columns of these.
//
// Scores are transposed: rows are keys, columns are queries. P^T and dS^T go from registers into
// the products dv += P^T do and dk += dS^T q. dS^T also goes to shared memory, where both consumers
// read it one step later for dq = dS k, so that neither waits for the other. A step's dq is added
// to float32 sums in device memory by a bulk reduction, in order by another warp (ordered.cuh), or
// stored, if no other block has keys of the same head.

#include "device/math.cuh"
#include "softmax_attention/sm90/backward/ordered.cuh"
#include "softmax_attention/sm90/backward/queries.cuh"
#include "softmax_attention/sm90/backward/query_sums.cuh"
#include "softmax_attention/sm90/backward/results.cuh"

namespace gla_bench::softmax_attention::sm90 {

/// `number`: of the consumer, or 0 for both where what they do is equally wide.
template <int number>
struct Consumer {
  static constexpr int own_barriers = 1;  ///< named barrier of the first consumer
  static constexpr int scores_of_thread = block_m / 2;
  using ScoreProducts = Products<block_m, io_t>;
  static constexpr int key_width = number == 0 ? layout.dk.first_width : layout.dk.second_width;
  static constexpr int value_width = number == 0 ? layout.dv.first_width : layout.dv.second_width;
  static constexpr int dq_width = number == 0 ? layout.dq.first_width : layout.dq.second_width;
  using KeyProducts = Products<key_width, io_t>;
  using ValueProducts = Products<value_width, io_t>;
  using QueryProducts = Products<dq_width, io_t>;
  using Scores = float[scores_of_thread];
  using DqSums = float[dq_width / 2];

  const BackwardSm90Params& p;
  const Memory memory;
  const Range range;
  float dk[key_width / 2], dv[value_width / 2];
  float gain = 1.0f, loss = 1.0f;  ///< of dS where operands are float16, and its inverse
  // With a decay, of the thread's two keys and the query head in hand:
  const DecaySum* sums_of_head;
  DecaySum last;      ///< up to the block's last key
  float bias[2];      ///< from there back to these
  bool flat, near;    ///< the spread of all of the warp's biases
  double row_sum[2];  ///< of dS or, with a constant decay, of (i - j) dS

  __device__ __forceinline__ Consumer(const BackwardSm90Params& params, const Memory& its_memory)
      : p(params), memory(its_memory), range(params.base) {}

  __device__ __forceinline__ void run() {
    if constexpr (scaled) {
      gain = gradient_gain(p.base, range.batch * p.base.key_heads + range.key_head);
      loss = 1.0f / (score_gain * gain);
    }
    clear(dk), clear(dv);
    barrier_wait(memory.keys_arrived(), 0);
    int step = 0, last_head = 0,
        before = 0;  // the last one was step `before` of query head `last_head`
    for (int h = 0; h < trait::group; ++h) {
      if constexpr (biased) begin_head(h);
      const auto [begin, end] = range.steps(h);
      for (int n = begin; n < end; ++n, ++step) {
        walk(step, n, last_head, before);
        last_head = h, before = n;
      }
      if constexpr (biased) end_head(h);
    }
    if (step > 0) {
      DqSums sums;
      multiply_dq(sums, memory.exchange(step - 1));
      add_dq(sums, memory.exchange(step - 1), last_head, before);
      copies_read_by_first();
    }
    write_results();
  }

 private:
  /// The key of the block that the thread holds in the upper (0) or lower half of its rows.
  static __device__ __forceinline__ int key_of(int half) {
    return first_row() + row_of(half);
  }
  static __device__ __forceinline__ void own_barrier() {
    named_barrier<128>(own_barriers + group());
  }
  /// Begins scores = X Y^T. X are the consumer's rows of keys or values, Y the rows of the step.
  template <int length>
  __device__ __forceinline__ void score(Scores& scores, unsigned x, unsigned y) const {
    pin(scores);
    products_fence();
#pragma unroll
    for (int k = 0; k < (length + 15) / 16; ++k)
      ScoreProducts::template shared<along_k>(
          scores, operand(x + first_row() * 128 + k / 4 * layout.key_panel + k % 4 * 32),
          operand(y + k / 4 * layout.query_panel + k % 4 * 32), k > 0);
    products_commit();
  }

  __device__ __forceinline__ void begin_head(int h) {
    sums_of_head = range.sums(h);
    last = sums_of_head[range.last_key];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      bias[i] = bias_between(last, own_sum(i));
      row_sum[i] = 0.0;
    }
    const Spread spread = spread_of(fmaxf(fabsf(bias[0]), fabsf(bias[1])));
    flat = __all_sync(0xffffffffu, spread == Spread::none);
    near = __all_sync(0xffffffffu, spread != Spread::far);
  }
  /// The sum of log decays up to one of the thread's two keys.
  __device__ __forceinline__ DecaySum own_sum(int half) const {
    const int key = range.first_key + key_of(half);
    return sums_of_head[key < range.last_key ? key : range.last_key];
  }
  __device__ __forceinline__ void end_head(int h) const {
    if (layout.by_columns && group() != 0) return;
    double* out = static_cast<double*>(p.base.work[work::key_sums]) +
                  range.sequence(h) * p.base.key_seq + range.first_key;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      double sum = row_sum[i];
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      if (lane() % 4 == 0 && range.first_key + key_of(i) <= range.last_key)
        out[key_of(i)] = static_cast<double>(loss) * sum;
    }
  }

  /// Turns scores into P^T.
  __device__ __forceinline__ void weigh(Scores& scores, int n, const Stage& stage) const {
    const bool edge = range.on_edge(n);
    if constexpr (biased) {
      const DecaySum begin = load_sum(stage.record);
      if (edge && (!near || spread_of(begin) == Spread::far)) return weigh_pairs(scores, n, stage);
      const float between = bias_between(begin, last);
      if (edge || !flat || between != 0.0f) {
        const float by[2] = {bias[0] + between, bias[1] + between};
        if (edge)
          weigh<true, true>(scores, n, stage, by);
        else
          weigh<false, true>(scores, n, stage, by);
        return;
      }
    } else if (edge) {
      return weigh<true, false>(scores, n, stage, {});
    }
    weigh<false, false>(scores, n, stage, {});
  }
  /// A key is seen by the queries from this column of the step on. It is relative to the thread's
  /// first column.
  __device__ __forceinline__ int first_column(int half, int n) const {
    const int key = range.first_key + key_of(half);
    const int first = key > range.last_key ? block_m
                      : trait::causal != 0 ? key - range.position(n * block_m)
                                           : 0;
    return first - lane() % 4 * 2;
  }
  /// `edge`: near the diagonal or the last key. `shifted`: each of the thread's keys has a bias.
  template <bool edge, bool shifted>
  __device__ __forceinline__ void weigh(Scores& scores, int n, const Stage& stage,
                                        const float (&by)[2]) const {
    const float factor = p.base.scale * device::log2_e;
    int first[2];
    if constexpr (edge) first[0] = first_column(0, n), first[1] = first_column(1, n);
#pragma unroll
    for (int i = 0; i < scores_of_thread; i += 4) {
      const float4 two = load_pairs(stage, i);
#pragma unroll
      for (int h = 0; h < 2; ++h)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& score = scores[i + 2 * h + e];
          const float lse = e == 0 ? two.x : two.z;
          score = device::exp2_fast(fmaf(score, factor, shifted ? lse + by[h] : lse));
          if constexpr (edge)
            if (i / 4 * 8 + e < first[h]) score = 0.0f;
        }
    }
  }
  /// Every pair of key and query has its own bias, from the sums of log decays themselves.
  __device__ __forceinline__ void weigh_pairs(Scores& scores, int n, const Stage& stage) const {
    const float factor = p.base.scale * device::log2_e;
    const int first[2] = {first_column(0, n), first_column(1, n)};
    const DecaySum own[2] = {own_sum(0), own_sum(1)};
#pragma unroll
    for (int i = 0; i < scores_of_thread; i += 4)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const DecaySum query = load_sum(stage.sums() + (column_of(i) + e) * 16);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          float& score = scores[i + 2 * h + e];
          const bool seen = i / 4 * 8 + e >= first[h] && query.resets == own[h].resets;
          score = fmaf(score, factor, __int_as_float(query.unused)) + difference(query, own[h]);
          score = seen ? device::exp2_fast(score) : 0.0f;
        }
      }
  }
  /// (-lse, D) of the two queries that the thread's scores i and i + 1 belong to.
  static __device__ __forceinline__ float4 load_pairs(const Stage& stage, int i) {
    float4 two;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(two.x), "=f"(two.y), "=f"(two.z), "=f"(two.w)
                 : "r"(stage.pairs() + column_of(i) * 8)
                 : "memory");
    return two;
  }
  /// Turns dP^T into dS^T.
  __device__ __forceinline__ void differentiate(const Scores& weights, Scores& gradients, int n,
                                                const Stage& stage) {
    float sum[2] = {0.0f, 0.0f};
    const int apart = range.position(n * block_m) + column_of(0) - range.first_key;
#pragma unroll
    for (int i = 0; i < scores_of_thread; i += 4) {
      const float4 two = load_pairs(stage, i);
#pragma unroll
      for (int h = 0; h < 2; ++h)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& gradient = gradients[i + 2 * h + e];
          const float difference = gradient - (e == 0 ? two.y : two.w);
          gradient = weights[i + 2 * h + e] * (scaled ? gain * difference : difference);
          if constexpr (per_token) sum[h] += gradient;
          if constexpr (biased && !per_token)
            sum[h] = fmaf(static_cast<float>(apart - key_of(h)) + static_cast<float>(i / 4 * 8 + e),
                          gradient, sum[h]);
        }
    }
    if constexpr (biased) row_sum[0] += sum[0], row_sum[1] += sum[1];
  }

  /// sum += s^T y, with s^T in registers and the step's rows of y.
  template <class Product, int size>
  static __device__ __forceinline__ void add(float (&sum)[size], Packed<block_m>& packed,
                                             unsigned y) {
    pin(sum);
    pin_packed(packed);
    products_fence();
#pragma unroll
    for (int k = 0; k < block_m / 16; ++k)
      Product::template registers<along_mn>(sum, packed[k],
                                            operand(y + k * 16 * 128, layout.query_panel), true);
    products_commit();
  }

  __device__ __forceinline__ void walk(int step, int n, int last_head, int before) {
    const Stage stage = memory.stage(step);
    Scores scores, gradients;
    barrier_wait(stage.queries_arrived(), stage.parity);
    score<dim::key_dim>(scores, memory.keys(), stage.queries);
    barrier_wait(stage.gradients_arrived(), stage.parity);
    score<dim::value_dim>(gradients, memory.values(), stage.d_outputs);
    products_wait<1>();
    pin(scores);
    weigh(scores, n, stage);
    products_wait<0>();
    pin(gradients);
    differentiate(scores, gradients, n, stage);
    Packed<block_m> weights, packed;
    pack_rows<block_m>(scores, weights);
    const Exchange exchange = memory.exchange(step);
    if (step >= 2) barrier_wait(exchange.read, exchange.parity ^ 1u);
    if (per_token && hands_on()) put_query_sums(gradients, exchange.query_sums);
    pack_rows<block_m>(gradients, packed);
    if (hands_on()) put_rows(packed, exchange.gradient, layout.key_panel, first_row());
    publish_shared();
    arrive_as_warp(exchange.written);
    const unsigned of_dv = place_of(own_column(layout.dv.second), layout.query_panel);
    const unsigned of_dk = place_of(own_column(layout.dk.second), layout.query_panel);
    add<ValueProducts>(dv, weights, stage.d_outputs + of_dv);
    add<KeyProducts>(dk, packed, stage.queries + of_dk);
    const auto release_stage = [&] {
      pin(dv), pin(dk), pin_packed(weights), pin_packed(packed);
      arrive_as_warp(stage.gradients_free());
      barrier_arrive(stage.queries_free());
    };
    if (!layout.dq_beside || step == 0) {
      products_wait<0>();
      release_stage();
      if (step == 0) return;
    }
    DqSums sums;
    multiply_dq(sums, memory.exchange(step - 1));
    if constexpr (layout.dq_beside) {
      products_wait<1>();
      release_stage();
    }
    add_dq(sums, memory.exchange(step - 1), last_head, before);
  }

  /// Begins dq = dS k of a step.
  __device__ __forceinline__ void multiply_dq(DqSums& sums, const Exchange& exchange) const {
    barrier_wait(exchange.written, exchange.parity);
    const unsigned gradient =
        exchange.gradient + (layout.dq_by_columns ? 0 : group() * layout.key_panel);
    const unsigned keys = memory.keys() + place_of(own_column(layout.dq.second), layout.key_panel);
    pin(sums);
    products_fence();
#pragma unroll
    for (int k = 0; k < layout.block_n / 16; ++k)
      QueryProducts::template shared<along_mn, along_mn>(
          sums, operand(gradient + k * 16 * 128, layout.key_panel),
          operand(keys + k * 16 * 128, layout.key_panel), k > 0);
    products_commit();
  }

  /// Waits for the product, and adds it to the sums in device memory.
  __device__ __forceinline__ void add_dq(DqSums& sums, const Exchange& exchange, int h,
                                         int n) const {
    copies_read_by_first();  // the place of the last step's dq
    products_wait<0>();
    pin(sums);
    arrive_as_warp(exchange.read);
    if constexpr (!layout.dq_in_shared) {
      if constexpr (per_token) {
        own_barrier();
        add_query_sums(p.base, range, exchange.query_sums, h, n, loss);
        own_barrier();
      }
      if constexpr (whole) return store_dq(p.base, range, sums, loss * p.base.scale, h, n);
      float* to = dq_of_consumer(h, n) + threadIdx.x % 128 * 4;
#pragma unroll
      for (int i = 0; i < dq_width / 2; i += 4)
        add_vector(to + i * 128, loss * sums[i], loss * sums[i + 1], loss * sums[i + 2],
                   loss * sums[i + 3]);
      return;
    }
    if constexpr (ordered)
      named_barrier<ordering_threads>(place_free);
    else
      own_barrier();
    // The consumer's warps have met since they wrote these, and meet again before they write
    // others.
    if constexpr (per_token && !ordered)
      add_query_sums(p.base, range, exchange.query_sums, h, n, loss);
    const unsigned to = memory.dq(group()) + threadIdx.x % 128 * 16;
#pragma unroll
    for (int i = 0; i < dq_width / 2; i += 4)
      asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to + i / 4 * 128 * 16),
                   "f"(loss * sums[i]), "f"(loss * sums[i + 1]), "f"(loss * sums[i + 2]),
                   "f"(loss * sums[i + 3])
                   : "memory");
    publish_shared();
    if constexpr (ordered) {
      named_arrive<ordering_threads>(place_written);
    } else {
      own_barrier();
      if (first_of_group()) {
        add_bulk(dq_of_consumer(h, n), memory.dq(group()), dq_width / 2 * 128 * 4);
        copies_commit();
      }
    }
  }
  /// The consumer's sums of a step's dq in device memory.
  __device__ __forceinline__ float* dq_of_consumer(int h, int n) const {
    return dq_of_step(p.base, range, h, n) + group() * layout.dq.first_width / 2 * 128;
  }
  static __device__ __forceinline__ void copies_read_by_first() {
    if (first_of_group()) copies_read<0>();
  }

  /// Hands rows of a result to bulk copies through the place of the keys or values, from column
  /// `first` on. Where both consumers have a part of a panel, the first has it copied.
  template <bool shares_panel, int size>
  __device__ __forceinline__ void write(const float (&sum)[size], float factor, int first,
                                        unsigned to, const TensorMap& map) const {
    constexpr int width = 2 * size;
    Packed<width> rows;
    pack_rows<width>(sum, rows, factor, factor);
    put_columns(rows, to, first);
    publish_shared();
    if constexpr (shares_panel)
      named_barrier<256>(own_barriers + layout.consumers);
    else
      own_barrier();
    if (first_of_group() && (!shares_panel || group() == 0))
      for (int column = first; column < first + width; column += layout.columns)
        copy_out(map, to + column / layout.columns * layout.key_panel + first_row() * 128, column,
                 range.first_key + first_row(), range.key_head, range.batch);
  }
  __device__ __forceinline__ void write_results() const {
    if constexpr (divided) {
      float4* to = part_of_results(p.base, range);
      to = leave(to, dv, 1.0f / score_gain);
      leave(to, dk, loss * p.base.scale);
      return;
    }
    // The other consumer reads all keys for its dq.
    named_barrier<256>(own_barriers + layout.consumers);
    write<layout.dv.shares_panel>(dv, 1.0f / score_gain, own_column(layout.dv.second),
                                  memory.values(), p.dv);
    write<layout.dk.shares_panel>(dk, loss * p.base.scale, own_column(layout.dk.second),
                                  memory.keys(), p.dk);
    if (first_of_group()) {
      copies_commit();
      copies_read<0>();
    }
  }
};

}  // namespace gla_bench::softmax_attention::sm90
