#include "kernels/linear_recurrence/host/rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "core/operator.hpp"
#include "core/rounding.hpp"
#include "kernels/linear_recurrence/host/math.hpp"
#include "kernels/memory.hpp"

namespace gla_bench::linear_recurrence::host {
namespace {

long long offset(const Call& call, const TokenStrides& strides, const Rows& at, long long row) {
  const long long batch = call.p.cu_seqlens ? 0 : call.sequence(at.pair);
  return batch * strides.batch + (call.begin(at.pair) + at.first + row) * strides.seq +
         call.head(at.pair) * strides.heads + at.column;
}

// Each has a type of its own. A pointer to a function would hide the conversion from the loops.
constexpr auto same = [](float x) { return x; };
constexpr auto widen_bfloat16 = [](std::uint16_t x) { return bfloat16_value(x); };
constexpr auto widen_float16 = [](std::uint16_t x) { return float16_value(x); };
constexpr auto narrow_bfloat16 = [](float x) { return bfloat16_bits(x); };
constexpr auto narrow_float16 = [](float x) { return float16_bits(x); };

// Runs use(type_identity of the element, widen, narrow) for the dtype.
template <class Use>
void with_dtype(DType dtype, Use use) {
  switch (dtype) {
    case DType::float32:
      return use(std::type_identity<float>{}, same, same);
    case DType::bfloat16:
      return use(std::type_identity<std::uint16_t>{}, widen_bfloat16, narrow_bfloat16);
    case DType::float16:
      return use(std::type_identity<std::uint16_t>{}, widen_float16, narrow_float16);
    case DType::int32:
      break;  // used by index tensors, never by rows
  }
}

Rows all_keys(const Call& call, const Rows& at) {
  return {at.pair, at.first, at.rows, 0, call.keys};
}

void apply_features(const Call& call, long long elements, float* x) {
  if (!call.elu_features) return;
  for (long long i = 0; i < elements; ++i) x[i] = x[i] > 0 ? x[i] + 1 : exp_of_gate(x[i]);
}

LinearRecurrenceParams params_of(const HostCall& call) {
  LinearRecurrenceParams params;
  std::memcpy(&params, call.params.data(), sizeof params);
  return params;
}

// Offset of element (key 0, column) of a pair's state.
long long state_offset(const Call& call, long long pair, long long column) {
  return pair * call.p.state_strides.sequence + column * call.p.state_strides.value;
}

}  // namespace

Call::Call(const HostCall& call)
    : p(params_of(call)),
      dtype(call.problem.dtype),
      gate_dtype(gla_bench::gate_dtype(call.problem)),
      decay(member_of(call.problem).decay),
      before_update(member_of(call.problem).before_update),
      elu_features(option(call.problem, "feature_map") == "elu_plus_one"),
      raw_gates(option(call.problem, "gate_input") == "raw"),
      bfloat16_state(option(call.problem, "state_dtype") == "bfloat16"),
      pairs(p.sequences * p.heads),
      keys(p.key_dim),
      values(p.value_dim),
      extra(flag(call.problem, "normalize") ? 1 : 0) {
  if (p.initial_normalizer)
    normalizers.assign(p.initial_normalizer, p.initial_normalizer + pairs * keys);
}

long long Call::longest() const {
  long long most = 0;
  for (long long pair = 0; pair < pairs; pair += p.heads) most = std::max(most, length(pair));
  return most;
}

long long Call::place_after(long long pair, long long tokens) const {
  if (!p.states || tokens == 0) return -1;
  if (tokens % p.states_every != 0 && tokens != length(pair)) return -1;
  const long long before =
      p.cu_seqlens ? begin(pair) / p.states_every : sequence(pair) * (p.seq / p.states_every);
  const long long behind = p.cu_seqlens ? (begin(pair) + length(pair)) / p.states_every
                                        : before + p.seq / p.states_every;
  const long long place = before + (tokens - 1) / p.states_every;
  return place < behind ? place * p.heads + head(pair) : -1;
}

void load_rows(const Call& call, DType dtype, const void* tensor, const TokenStrides& strides,
               const Rows& at, float* out, long long out_row) {
  with_dtype(dtype, [&](auto tag, auto widen, auto) {
    using Element = typename decltype(tag)::type;
    for (long long row = 0; row < at.rows; ++row) {
      const Element* in = static_cast<const Element*>(tensor) + offset(call, strides, at, row);
      float* to = out + row * out_row;
      for (long long i = 0; i < at.columns; ++i) to[i] = widen(in[i]);
    }
  });
}

void store_rows(const Call& call, DType dtype, void* tensor, const TokenStrides& strides,
                const Rows& at, const float* in, long long in_row) {
  with_dtype(dtype, [&](auto tag, auto, auto narrow) {
    using Element = typename decltype(tag)::type;
    for (long long row = 0; row < at.rows; ++row, in += in_row) {
      Element* out = static_cast<Element*>(tensor) + offset(call, strides, at, row);
      for (long long i = 0; i < at.columns; ++i) out[i] = narrow(in[i]);
    }
  });
}

void load_queries(const Call& call, const Rows& at, float* out) {
  load_rows(call, call.dtype, call.p.q, call.p.key_strides, all_keys(call, at), out, call.keys);
  apply_features(call, at.rows * call.keys, out);
}

void load_keys(const Call& call, const Rows& at, float* out) {
  load_rows(call, call.dtype, call.p.k, call.p.key_strides, all_keys(call, at), out, call.keys);
  apply_features(call, at.rows * call.keys, out);
}

void load_log_decays(const Call& call, const Rows& at, float* out) {
  const long long keys = call.keys, elements = at.rows * keys;
  switch (call.decay) {
    case Decay::none:
      std::fill_n(out, elements, 0.0f);
      return;
    case Decay::per_head:
      std::fill_n(out, elements, call.p.log_decay[call.head(at.pair)]);
      return;
    case Decay::per_token:
      load_rows(call, call.gate_dtype, call.p.g, call.p.gate_strides,
                {at.pair, at.first, at.rows, 0, 1}, out, keys);
      for (long long t = 0; t < at.rows; ++t)
        std::fill_n(out + t * keys + 1, keys - 1, out[t * keys]);
      return;
    case Decay::per_key:
      load_rows(call, call.gate_dtype, call.p.g, call.p.gate_strides, all_keys(call, at), out,
                keys);
      break;
  }
  for (long long i = 0; call.raw_gates && i < elements; ++i) out[i] = -std::exp(out[i]);
}

void load_decays(const Call& call, const Rows& at, float* out) {
  const long long elements = at.rows * call.keys;
  if (call.decay == Decay::per_head) {
    // This is one number for all tokens, so an error in its last bit would count T times.
    const double decay = std::exp(static_cast<double>(call.p.log_decay[call.head(at.pair)]));
    std::fill_n(out, elements, static_cast<float>(decay));
    return;
  }
  load_log_decays(call, at, out);
  for (long long i = 0; i < elements; ++i) out[i] = exp_of_gate(out[i]);
}

void load_bonus(const Call& call, long long pair, float* out) {
  with_dtype(call.dtype, [&](auto tag, auto widen, auto) {
    const auto* in =
        static_cast<const typename decltype(tag)::type*>(call.p.u) + call.head(pair) * call.keys;
    for (long long i = 0; i < call.keys; ++i) out[i] = widen(in[i]);
  });
}

void load_values(const Call& call, const Rows& at, float* out) {
  const long long width = at.columns + call.extra;
  load_rows(call, call.dtype, call.p.v, call.p.value_strides, at, out, width);
  for (long long t = 0; call.extra && t < at.rows; ++t) out[t * width + at.columns] = 1.0f;
}

void store_outputs(const Call& call, const Rows& at, const float* in) {
  const long long width = at.columns + call.extra;
  if (call.extra == 0) {
    store_rows(call, call.dtype, call.p.o, call.p.output_strides, at, in, width);
    return;
  }
  with_dtype(call.dtype, [&](auto tag, auto, auto narrow) {
    using Element = typename decltype(tag)::type;
    for (long long row = 0; row < at.rows; ++row, in += width) {
      Element* out = static_cast<Element*>(call.p.o) + offset(call, call.p.output_strides, at, row);
      const float divisor = in[at.columns] + call.p.epsilon;
      for (long long i = 0; i < at.columns; ++i) out[i] = narrow(in[i] / divisor);
    }
  });
}

void load_state(const Call& call, const void* states, long long pair, long long column,
                long long columns, float* out, long long out_row) {
  const StateStrides& strides = call.p.state_strides;
  with_dtype(call.bfloat16_state ? DType::bfloat16 : DType::float32,
             [&](auto tag, auto widen, auto) {
               const auto* in = static_cast<const typename decltype(tag)::type*>(states) +
                                state_offset(call, pair, column);
               for (long long i = 0; i < call.keys; ++i)
                 for (long long j = 0; j < columns; ++j)
                   out[i * out_row + j] = widen(in[i * strides.key + j * strides.value]);
             });
}

void store_state(const Call& call, void* states, long long pair, long long column,
                 long long columns, const float* in, long long in_row) {
  const StateStrides& strides = call.p.state_strides;
  with_dtype(
      call.bfloat16_state ? DType::bfloat16 : DType::float32, [&](auto tag, auto, auto narrow) {
        auto* out =
            static_cast<typename decltype(tag)::type*>(states) + state_offset(call, pair, column);
        for (long long i = 0; i < call.keys; ++i)
          for (long long j = 0; j < columns; ++j)
            out[i * strides.key + j * strides.value] = narrow(in[i * in_row + j]);
      });
}

void load_initial(const Call& call, long long pair, long long column, long long columns,
                  float* out) {
  const long long width = columns + call.extra;
  if (!call.p.initial_state) {
    std::fill_n(out, call.keys * width, 0.0f);
    return;
  }
  load_state(call, call.p.initial_state, pair, column, columns, out, width);
  for (long long i = 0; call.extra && i < call.keys; ++i)
    out[i * width + columns] = call.normalizers[pair * call.keys + i];
}

void store_final(const Call& call, long long pair, long long column, long long columns,
                 const float* in) {
  if (!call.p.final_state) return;
  const long long width = columns + call.extra;
  store_state(call, call.p.final_state, pair, column, columns, in, width);
  for (long long i = 0; call.p.final_normalizer && column == 0 && i < call.keys; ++i)
    call.p.final_normalizer[pair * call.keys + i] = in[i * width + columns];
}

void store_between(const Call& call, long long pair, long long tokens, long long column,
                   long long columns, const float* in) {
  const long long place = call.place_after(pair, tokens), width = columns + call.extra;
  if (place < 0) return;
  store_state(call, call.p.states, place, column, columns, in, width);
  for (long long i = 0; call.p.normalizers && column == 0 && i < call.keys; ++i)
    call.p.normalizers[place * call.keys + i] = in[i * width + columns];
}

void copy_rectangle(long long rows, long long columns, const float* from, long long from_row,
                    float* to, long long to_row) {
  for (long long i = 0; i < rows; ++i) std::copy_n(from + i * from_row, columns, to + i * to_row);
}

Pieces::Pieces(const Call& call, long long length) {
  for (long long pair = 0; pair < call.pairs; ++pair) {
    begin.push_back(count());
    const long long tokens = call.length(pair);
    for (long long first = 0; first < tokens; first += length)
      list.push_back({pair, first / length, first, std::min(length, tokens - first)});
  }
  begin.push_back(count());
}

}  // namespace gla_bench::linear_recurrence::host
