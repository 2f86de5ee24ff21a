#include "kernels/softmax_attention/host/rows.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/rounding.hpp"
#include "kernels/memory.hpp"

namespace gla_bench::softmax_attention::host {
namespace {

template <class Element, class Widen>
void load_as(const void* tensor, long long offset, long long stride, long long rows,
             long long columns, float* out, Widen widen) {
  for (long long row = 0; row < rows; ++row, out += columns) {
    const Element* in = static_cast<const Element*>(tensor) + offset + row * stride;
    for (long long i = 0; i < columns; ++i) out[i] = widen(in[i]);
  }
}

template <class Element, class Narrow>
void store_as(void* tensor, long long offset, long long stride, long long rows, long long columns,
              const float* in, float factor, Narrow narrow) {
  for (long long row = 0; row < rows; ++row, in += columns) {
    Element* out = static_cast<Element*>(tensor) + offset + row * stride;
    for (long long i = 0; i < columns; ++i) out[i] = narrow(factor * in[i]);
  }
}

long long offset(const TokenStrides& strides, long long batch, long long token, long long head) {
  return batch * strides.batch + token * strides.seq + head * strides.heads;
}

/// Visits the runs of rows of keys that lie side by side: all of them or, of paged keys, those of
/// each page. `visit` is told their place along the batch and the tokens, the number of rows before
/// them, and theirs.
template <class Visit>
void for_each_run(const AttentionParams& p, long long batch, long long first, long long rows,
                  Visit visit) {
  if (p.page_size == 0) return visit(batch, first, 0LL, rows);
  for (long long row = 0; row < rows;) {
    const long long page = (first + row) / p.page_size, token = (first + row) % p.page_size;
    const long long count = std::min(rows - row, p.page_size - token);
    visit(static_cast<long long>(p.block_table[page]), token, row, count);
    row += count;
  }
}

/// Moves a pointer to bytes that may be const, where there is one.
void move(auto& tensor, long long bytes) {
  using Void = std::remove_reference_t<decltype(tensor)>;
  using Byte = std::conditional_t<std::is_same_v<Void, void*>, std::byte, const std::byte>;
  if (tensor != nullptr) tensor = static_cast<Byte*>(tensor) + bytes;
}

AttentionParams params_of(const HostCall& call) {
  AttentionParams params;
  std::memcpy(&params, call.params.data(), sizeof params);
  return params;
}

}  // namespace

void load(DType dtype, const void* tensor, long long offset, long long stride, long long rows,
          long long columns, float* out) {
  switch (dtype) {
    case DType::float32:
      return load_as<float>(tensor, offset, stride, rows, columns, out, [](float x) { return x; });
    case DType::bfloat16:
      return load_as<std::uint16_t>(tensor, offset, stride, rows, columns, out,
                                    [](std::uint16_t x) { return bfloat16_value(x); });
    case DType::float16:
      return load_as<std::uint16_t>(tensor, offset, stride, rows, columns, out,
                                    [](std::uint16_t x) { return float16_value(x); });
    case DType::int32:
      break;  // only index tensors have this type, never rows
  }
}

void store(DType dtype, void* tensor, long long offset, long long stride, long long rows,
           long long columns, const float* in, float factor) {
  switch (dtype) {
    case DType::float32:
      return store_as<float>(tensor, offset, stride, rows, columns, in, factor,
                             [](float x) { return x; });
    case DType::bfloat16:
      return store_as<std::uint16_t>(tensor, offset, stride, rows, columns, in, factor,
                                     [](float x) { return bfloat16_bits(x); });
    case DType::float16:
      return store_as<std::uint16_t>(tensor, offset, stride, rows, columns, in, factor,
                                     [](float x) { return float16_bits(x); });
    case DType::int32:
      break;
  }
}

void transpose(long long rows, long long columns, const float* from, float* to) {
  for (long long r = 0; r < rows; ++r)
    for (long long c = 0; c < columns; ++c) to[c * rows + r] = from[r * columns + c];
}

Call::Call(const HostCall& call)
    : p(params_of(call)),
      dtype(call.problem.dtype),
      gate_dtype(gla_bench::gate_dtype(call.problem)),
      causal(softmax_attention::causal(call.problem)),
      decay(decay_of(call.problem)),
      pairs(p.batch * p.heads),
      group(p.heads / p.key_heads) {}

Call Call::sequence(long long n) const {
  const long long query = p.cu_seqlens[n], key = p.cu_seqlens_k[n];
  const auto element = static_cast<long long>(size_of(dtype));
  const auto gate = static_cast<long long>(size_of(gate_dtype));
  Call one = *this;
  AttentionParams& to = one.p;
  to.seq = p.cu_seqlens[n + 1] - query;
  to.key_seq = p.cu_seqlens_k[n + 1] - key;
  move(to.q, query * p.query_strides.seq * element);
  move(to.k, key * p.key_strides.seq * element);
  move(to.v, key * p.value_strides.seq * element);
  move(to.log_decay, key * p.decay_strides.seq * gate);
  move(to.o, query * p.output_strides.seq * element);
  move(to.d_o, query * p.output_strides.seq * element);
  move(to.dq, query * p.dq_strides.seq * element);
  move(to.dk, key * p.dk_strides.seq * element);
  move(to.dv, key * p.dv_strides.seq * element);
  if (to.lse != nullptr) to.lse += query * p.lse_strides.seq;
  if (decay == Decay::per_token && to.d_log_decay != nullptr)
    to.d_log_decay += key * p.decay_strides.seq;
  to.sequences = 0;
  one.adds = true;
  return one;
}

Call Call::paged_sequence(long long n) const {
  const auto element = static_cast<long long>(size_of(dtype));
  Call one = *this;
  one.pairs = p.heads;
  AttentionParams& to = one.p;
  to.batch = 1;
  to.key_seq = p.cache_seqlens[n];
  to.block_table += n * p.pages_of_sequence;
  move(to.q, n * p.query_strides.batch * element);
  move(to.o, n * p.output_strides.batch * element);
  if (to.lse != nullptr) to.lse += n * p.lse_strides.batch;
  return one;
}

void Call::load_queries(const Pair& at, long long first, long long rows, float* out) const {
  load(dtype, p.q, offset(p.query_strides, at.batch, first, at.head), p.query_strides.seq, rows,
       p.key_dim, out);
}

void Call::load_keys(const Pair& at, long long first, long long rows, float* out) const {
  const auto run = [&](long long batch, long long token, long long row, long long count) {
    load(dtype, p.k, offset(p.key_strides, batch, token, at.head / group), p.key_strides.seq, count,
         p.key_dim, out + row * p.key_dim);
  };
  for_each_run(p, at.batch, first, rows, run);
}

void Call::load_values(const Pair& at, long long first, long long rows, float* out) const {
  const auto run = [&](long long batch, long long token, long long row, long long count) {
    load(dtype, p.v, offset(p.value_strides, batch, token, at.head / group), p.value_strides.seq,
         count, p.value_dim, out + row * p.value_dim);
  };
  for_each_run(p, at.batch, first, rows, run);
}

void Call::load_outputs(const void* tensor, const Pair& at, long long first, long long rows,
                        float* out) const {
  load(dtype, tensor, offset(p.output_strides, at.batch, first, at.head), p.output_strides.seq,
       rows, p.value_dim, out);
}

void Call::store_outputs(const Pair& at, long long first, long long rows, const float* in) const {
  store(dtype, p.o, offset(p.output_strides, at.batch, first, at.head), p.output_strides.seq, rows,
        p.value_dim, in);
}

void Call::load_decays(const Pair& at, long long first, long long rows, float* out) const {
  const auto run = [&](long long batch, long long token, long long row, long long count) {
    load(gate_dtype, p.log_decay, offset(p.decay_strides, batch, token, at.head),
         p.decay_strides.seq, count, 1, out + row);
  };
  for_each_run(p, at.batch, first, rows, run);
}

namespace {

// Outputs of a sequence whose queries see nothing, or whose keys nothing sees.
void write_empty(const Call& call) {
  const AttentionParams& p = call.p;
  const long long width = std::max(p.key_dim, p.value_dim);
  const std::vector<float> zeros = scratch(std::max(p.seq, p.key_seq) * width);
  const auto clear = [&](void* tensor, const TokenStrides& strides, long long head, long long rows,
                         long long columns) {
    if (tensor != nullptr)
      store(call.dtype, tensor, head * strides.heads, strides.seq, rows, columns, zeros.data());
  };
  const bool backward = p.d_o != nullptr;
  for (long long head = 0; head < p.heads; ++head) {
    if (!backward) clear(p.o, p.output_strides, head, p.seq, p.value_dim);
    for (long long i = 0; !backward && p.lse != nullptr && i < p.seq; ++i)
      p.lse[call.lse_at({0, head}, i)] = -std::numeric_limits<float>::infinity();
    clear(p.dq, p.dq_strides, head, p.seq, p.key_dim);
    for (long long t = 0; call.decay == Decay::per_token && p.d_log_decay && t < p.key_seq; ++t)
      p.d_log_decay[t * p.decay_strides.seq + head * p.decay_strides.heads] = 0;
  }
  for (long long head = 0; head < p.key_heads; ++head) {
    clear(p.dk, p.dk_strides, head, p.key_seq, p.key_dim);
    clear(p.dv, p.dv_strides, head, p.key_seq, p.value_dim);
  }
}

}  // namespace

void for_each_sequence(const HostCall& host_call, const std::function<void(const Call&)>& run) {
  const Call call(host_call);
  const bool paged = call.p.page_size > 0;
  if (call.p.sequences == 0 && !paged) return run(call);
  if (call.decay == Decay::constant && call.p.d_log_decay != nullptr)
    std::fill_n(call.p.d_log_decay, call.p.heads, 0.0f);
  for (long long n = 0; n < (paged ? call.p.batch : call.p.sequences); ++n) {
    const Call one = paged ? call.paged_sequence(n) : call.sequence(n);
    if (one.p.seq > 0 && one.p.key_seq > 0)
      run(one);
    else
      write_empty(one);
  }
}

}  // namespace gla_bench::softmax_attention::host
