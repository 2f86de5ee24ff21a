#include "kernels/softmax_attention/host/rows.hpp"

#include <cstring>

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

void Call::load_queries(const Pair& at, long long first, long long rows, float* out) const {
  load(dtype, p.q, offset(p.query_strides, at.batch, first, at.head), p.query_strides.seq, rows,
       p.key_dim, out);
}

void Call::load_keys(const Pair& at, long long first, long long rows, float* out) const {
  load(dtype, p.k, offset(p.key_strides, at.batch, first, at.head / group), p.key_strides.seq, rows,
       p.key_dim, out);
}

void Call::load_values(const Pair& at, long long first, long long rows, float* out) const {
  load(dtype, p.v, offset(p.value_strides, at.batch, first, at.head / group), p.value_strides.seq,
       rows, p.value_dim, out);
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
  load(gate_dtype, p.log_decay, offset(p.decay_strides, at.batch, first, at.head),
       p.decay_strides.seq, rows, 1, out);
}

}  // namespace gla_bench::softmax_attention::host
