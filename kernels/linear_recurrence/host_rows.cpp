#include "kernels/linear_recurrence/host_rows.hpp"

#include <algorithm>
#include <cstring>

#include "harness/rounding.hpp"

namespace gla_bench::linear_recurrence::host {
namespace {

long long offset(const Call& call, const TokenStrides& strides, const Rows& at, long long row) {
  return at.pair / call.p.heads * strides.batch + (at.first + row) * strides.seq +
         at.pair % call.p.heads * strides.heads + at.column;
}

template <class Element, class Widen>
void load_as(const Call& call, const void* tensor, const TokenStrides& strides, const Rows& at,
             float* out, Widen widen) {
  for (long long row = 0; row < at.rows; ++row, out += at.columns) {
    const Element* in = static_cast<const Element*>(tensor) + offset(call, strides, at, row);
    for (long long i = 0; i < at.columns; ++i) out[i] = widen(in[i]);
  }
}

template <class Element, class Narrow>
void store_as(const Call& call, void* tensor, const TokenStrides& strides, const Rows& at,
              const float* in, Narrow narrow) {
  for (long long row = 0; row < at.rows; ++row, in += at.columns) {
    Element* out = static_cast<Element*>(tensor) + offset(call, strides, at, row);
    for (long long i = 0; i < at.columns; ++i) out[i] = narrow(in[i]);
  }
}

// Types of their own, where a pointer to a function would hide the conversion from the loops.
constexpr auto same = [](float x) { return x; };
constexpr auto widen_bfloat16 = [](std::uint16_t x) { return bfloat16_value(x); };
constexpr auto widen_float16 = [](std::uint16_t x) { return float16_value(x); };
constexpr auto narrow_bfloat16 = [](float x) { return bfloat16_bits(x); };
constexpr auto narrow_float16 = [](float x) { return float16_bits(x); };

LinearRecurrenceParams params_of(const HostCall& call) {
  LinearRecurrenceParams params;
  std::memcpy(&params, call.params.data(), sizeof params);
  return params;
}

}  // namespace

Call::Call(const HostCall& call)
    : p(params_of(call)),
      dtype(call.problem.dtype),
      pairs(p.batch * p.heads),
      keys(p.key_dim),
      values(p.value_dim) {}

void load(const Call& call, const void* tensor, const TokenStrides& strides, const Rows& at,
          float* out) {
  switch (call.dtype) {
    case DType::float32:
      return load_as<float>(call, tensor, strides, at, out, same);
    case DType::bfloat16:
      return load_as<std::uint16_t>(call, tensor, strides, at, out, widen_bfloat16);
    case DType::float16:
      return load_as<std::uint16_t>(call, tensor, strides, at, out, widen_float16);
    case DType::int32:
      break;  // of index tensors, never of rows
  }
}

void store(const Call& call, void* tensor, const TokenStrides& strides, const Rows& at,
           const float* in) {
  switch (call.dtype) {
    case DType::float32:
      return store_as<float>(call, tensor, strides, at, in, same);
    case DType::bfloat16:
      return store_as<std::uint16_t>(call, tensor, strides, at, in, narrow_bfloat16);
    case DType::float16:
      return store_as<std::uint16_t>(call, tensor, strides, at, in, narrow_float16);
    case DType::int32:
      break;
  }
}

void load_state(const Call& call, const float* states, long long pair, long long column,
                long long columns, float* out) {
  if (!states) {
    std::fill_n(out, call.keys * columns, 0.0f);
    return;
  }
  const float* in = states + pair * call.keys * call.values + column;
  for (long long i = 0; i < call.keys; ++i)
    std::copy_n(in + i * call.values, columns, out + i * columns);
}

void store_state(const Call& call, float* states, long long pair, long long column,
                 long long columns, const float* in) {
  if (!states) return;
  float* out = states + pair * call.keys * call.values + column;
  for (long long i = 0; i < call.keys; ++i)
    std::copy_n(in + i * columns, columns, out + i * call.values);
}

}  // namespace gla_bench::linear_recurrence::host
