// A few tokens against a large state, which is walked through once, in memory order. Each row of
// the state is read, takes all tokens one after the other in the core's registers and nearest
// cache, and is written, in place or not.
//
// A task owns one (sequence, head) pair. Key first, a row is one key's [V], which adds to every
// output. Value first, it is one value's [K], which makes one output of each token. A normalizer is
// one more column of the state.

#include <algorithm>

#include "core/operator.hpp"
#include "core/rounding.hpp"
#include "kernels/linear_recurrence/host/rows.hpp"
#include "kernels/linear_recurrence/host/variant.hpp"
#include "kernels/linear_recurrence/variants.hpp"

namespace gla_bench::linear_recurrence {
namespace {

using namespace host;

struct Buffers {
  std::vector<float> q, k, e, v, o, row, bonus, own;
  Buffers(const Call& call, long long tokens)
      : q(scratch(tokens * call.keys)),
        k(q),
        e(q),
        v(scratch(tokens * (call.values + call.extra))),
        o(v),
        row(scratch(std::max(call.keys, call.values + call.extra))),
        bonus(scratch(call.keys)),
        own(scratch(tokens)) {}
};

// Reads a row of the state in memory, from element `at` on. Zeros where there is no initial state.
void read_row(const Call& call, long long at, long long length, float* row) {
  if (call.p.initial_state == nullptr) {
    std::fill_n(row, length, 0.0f);
  } else if (call.bfloat16_state) {
    const auto* from = reinterpret_cast<const std::uint16_t*>(call.p.initial_state) + at;
    for (long long i = 0; i < length; ++i) row[i] = bfloat16_value(from[i]);
  } else {
    std::copy_n(call.p.initial_state + at, length, row);
  }
}

void write_row(const Call& call, long long at, long long length, const float* row) {
  if (call.p.final_state == nullptr) return;
  if (call.bfloat16_state) {
    auto* to = reinterpret_cast<std::uint16_t*>(call.p.final_state) + at;
    for (long long i = 0; i < length; ++i) to[i] = bfloat16_bits(row[i]);
  } else {
    std::copy_n(row, length, call.p.final_state + at);
  }
}

// Reads z of one key, which is kept after the key's row.
void read_normalizer(const Call& call, long long key, float* z) {
  if (call.extra == 0) return;
  *z = call.p.initial_normalizer ? call.normalizers[static_cast<std::size_t>(key)] : 0.0f;
}

void write_normalizer(const Call& call, long long key, float z) {
  if (call.extra > 0 && call.p.final_normalizer) call.p.final_normalizer[key] = z;
}

// Takes one token through one key's row: row = decay row + k v. Adds what q makes of the row to o.
template <bool before>
void key_step(long long width, float q, float k, float decay, const float* v, float* row,
              float* o) {
#pragma omp simd
  for (long long j = 0; j < width; ++j) {
    const float old = row[j], updated = decay * old + k * v[j];
    o[j] += q * (before ? old : updated);
    row[j] = updated;
  }
}

// Takes one token through one value's row. Returns the sum over its keys of q times the row.
template <bool before>
float value_step(long long keys, const float* q, const float* k, const float* decay, float v,
                 float* row) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (long long i = 0; i < keys; ++i) {
    const float old = row[i], updated = decay[i] * old + k[i] * v;
    sum += q[i] * (before ? old : updated);
    row[i] = updated;
  }
  return sum;
}

template <bool before>
void key_rows(const Call& call, long long pair, long long tokens, Buffers& b) {
  const long long width = call.values + call.extra;
  for (long long key = 0; key < call.keys; ++key) {
    const long long number = pair * call.keys + key;
    float* z = b.row.data() + call.values;
    read_row(call, number * call.values, call.values, b.row.data());
    read_normalizer(call, number, z);
    for (long long t = 0; t < tokens; ++t) {
      const long long at = t * call.keys + key;
      key_step<before>(width, b.q[at], b.k[at], b.e[at], b.v.data() + t * width, b.row.data(),
                       b.o.data() + t * width);
    }
    write_row(call, number * call.values, call.values, b.row.data());
    write_normalizer(call, number, call.extra > 0 ? *z : 0.0f);
  }
}

template <bool before>
void value_rows(const Call& call, long long pair, long long tokens, Buffers& b) {
  const long long width = call.values + call.extra;
  for (long long value = 0; value < width; ++value) {
    const bool normalizer = value == call.values;
    const long long at = (pair * call.values + value) * call.keys;
    if (!normalizer) read_row(call, at, call.keys, b.row.data());
    for (long long i = 0; normalizer && i < call.keys; ++i)
      read_normalizer(call, pair * call.keys + i, b.row.data() + i);
    for (long long t = 0; t < tokens; ++t) {
      const long long key = t * call.keys;
      b.o[t * width + value] =
          value_step<before>(call.keys, b.q.data() + key, b.k.data() + key, b.e.data() + key,
                             b.v[t * width + value], b.row.data());
    }
    if (!normalizer) write_row(call, at, call.keys, b.row.data());
    for (long long i = 0; normalizer && i < call.keys; ++i)
      write_normalizer(call, pair * call.keys + i, b.row[i]);
  }
}

// Applies the scale. Before the update, adds each token's own part through the bonus.
void finish(const Call& call, long long tokens, Buffers& b) {
  const long long width = call.values + call.extra;
  for (long long t = 0; t < tokens; ++t) {
    float own = 0;
    for (long long i = 0; call.before_update && i < call.keys; ++i)
      own += b.q[t * call.keys + i] * b.bonus[i] * b.k[t * call.keys + i];
    for (long long j = 0; j < width; ++j) {
      float& o = b.o[t * width + j];
      o = call.p.scale * (o + own * b.v[t * width + j]);
    }
  }
}

void decode_pair(const Call& call, bool value_first, long long pair, Buffers& b) {
  const long long tokens = call.length(pair);
  const Rows at{pair, 0, tokens, 0, call.values};
  load_queries(call, at, b.q.data());
  load_keys(call, at, b.k.data());
  load_decays(call, at, b.e.data());
  load_values(call, at, b.v.data());
  if (call.before_update) load_bonus(call, pair, b.bonus.data());
  std::fill(b.o.begin(), b.o.end(), 0.0f);
  const auto rows = value_first ? (call.before_update ? value_rows<true> : value_rows<false>)
                                : (call.before_update ? key_rows<true> : key_rows<false>);
  rows(call, pair, tokens, b);
  finish(call, tokens, b);
  store_outputs(call, at, b.o.data());
}

void run(const HostCall& host_call) {
  const Call call(host_call);
  const bool value_first = option(host_call.problem, "state_layout") == "value_first";
#pragma omp parallel
  {
    Buffers buffers(call, call.longest());
#pragma omp for schedule(dynamic)
    for (long long pair = 0; pair < call.pairs; ++pair)
      decode_pair(call, value_first, pair, buffers);
  }
}

}  // namespace

Variant host_decode(const Member& member) {
  Variant variant = make_variant(
      member, "decode", "for a few tokens: every row of the state read once and written once", {},
      run, {"linear_recurrence/host/decode.cpp", "linear_recurrence/host/rows.cpp"});
  variant.reject = refuse_whole_form;
  variant.traffic = [](const Problem& problem, const Tile&) -> Traffic {
    return {token_reads(problem) + value_bytes(problem) + states_read(problem),
            value_bytes(problem) + states_written(problem)};
  };
  variant.flops = [](const Problem& problem, const Tile&) {
    const double keys = tokens(problem) * static_cast<double>(problem.shape.key_dim);
    const bool decays = member_of(problem).decay != Decay::none;
    return keys *
           ((decays ? 5 : 4) * columns(problem) + (member_of(problem).before_update ? 3 : 0));
  };
  return variant;
}

}  // namespace gla_bench::linear_recurrence
