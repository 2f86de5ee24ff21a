#include "kernels/softmax_attention/host/tile.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/linear_recurrence/host/math.hpp"

namespace gla_bench::softmax_attention::host {
namespace {

using linear_recurrence::host::add_product;
using linear_recurrence::host::exp_of_gate;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr long long block = 64;  // positions whose decays are summed together

// The bias of a constant decay over a distance. It is 0 over no distance, even where the decay is
// -inf.
float constant_bias(float log_decay, long long distance) {
  return distance == 0 ? 0.0f : log_decay * static_cast<float>(distance);
}

}  // namespace

Biases::Biases(const Call& call) : call_(call) {
  if (call.decay != Decay::per_token) return;
  blocks_ = ceil_div(call.p.key_seq, block);
  sums_ = scratch(call.pairs * blocks_);
#pragma omp parallel for schedule(static)
  for (long long task = 0; task < call.pairs * blocks_; ++task) {
    float decays[block];
    const long long first = task % blocks_ * block;
    const long long count = std::min(block, call.p.key_seq - first);
    call.load_decays(call.pair(task / blocks_), first, count, decays);
    for (long long i = 0; i < count; ++i) sums_[task] += decays[i];
  }
}

float Biases::between(const Pair& at, long long first, long long last) const {
  float sum = 0;
  const long long pair = at.batch * call_.p.heads + at.head;
  for (long long t = first; t <= last;) {
    const long long end = std::min((t / block + 1) * block, last + 1);
    if (end - t == block) {
      sum += sums_[pair * blocks_ + t / block];
    } else {
      float decays[block], part = 0;
      call_.load_decays(at, t, end - t, decays);
      for (long long i = 0; i < end - t; ++i) part += decays[i];
      sum += part;
    }
    t = end;
  }
  return sum;
}

void Biases::add(const Pair& at, long long first_query, long long rows, long long first_key,
                 long long keys, float* scores) const {
  if (call_.decay == Decay::none) return;
  if (call_.decay == Decay::constant) {
    const float decay = call_.p.constant_log_decay[at.head];
    for (long long r = 0; r < rows; ++r)
      for (long long j = 0; j < keys; ++j) {
        const long long distance = call_.position(first_query + r) - first_key - j;
        if (distance >= 0) scores[r * keys + j] += constant_bias(decay, distance);
      }
    return;
  }
  if (first_key + keys - 1 <= call_.position(first_query))
    add_across(at, first_query, rows, first_key, keys, scores);
  else
    add_near(at, first_query, rows, first_key, keys, scores);
}

// Here all keys stand before all queries. The bias is the suffix sums of the keys' block, plus the
// blocks between, plus the prefix sums of the queries' block.
void Biases::add_across(const Pair& at, long long first_query, long long rows, long long first_key,
                        long long keys, float* scores) const {
  const long long origin = call_.position(first_query);
  std::vector<float> left = scratch(keys), right = scratch(rows), decays = scratch(keys + rows);
  call_.load_decays(at, first_key, keys, decays.data());
  for (long long j = keys - 1; j > 0; --j) left[j - 1] = left[j] + decays[j];
  const float middle = between(at, first_key + keys, origin);
  for (long long j = 0; j < keys; ++j) left[j] += middle;
  call_.load_decays(at, origin, rows, decays.data());
  for (long long r = 1; r < rows; ++r) right[r] = right[r - 1] + decays[r];
  for (long long r = 0; r < rows; ++r)
    for (long long j = 0; j < keys; ++j) scores[r * keys + j] += left[j] + right[r];
}

// Here keys and queries overlap. Each row is summed backwards from its query.
void Biases::add_near(const Pair& at, long long first_query, long long rows, long long first_key,
                      long long keys, float* scores) const {
  const long long last = call_.position(first_query + rows - 1);
  if (last < first_key) return;
  std::vector<float> decays = scratch(last - first_key + 1);
  call_.load_decays(at, first_key, last - first_key + 1, decays.data());
  for (long long r = 0; r < rows; ++r) {
    float sum = 0;
    for (long long j = call_.position(first_query + r) - first_key; j >= 0; --j) {
      if (j < keys) scores[r * keys + j] += sum;
      sum += decays[j];
    }
  }
}

ScoreTile::ScoreTile(const Call& call_, const Biases& biases_, long long rows_at_most,
                     long long keys_at_most)
    : call(call_),
      biases(biases_),
      q(scratch(rows_at_most * call.p.key_dim)),
      k(scratch(keys_at_most * call.p.key_dim)),
      key_rows(k),
      v(scratch(keys_at_most * call.p.value_dim)),
      scores(scratch(rows_at_most * keys_at_most)) {}

void ScoreTile::load_queries(const Pair& at, long long first, long long count) {
  pair = at;
  first_query = first;
  rows = count;
  call.load_queries(at, first, count, q.data());
  for (long long i = 0; i < count * call.p.key_dim; ++i) q[i] *= call.p.scale;
}

void ScoreTile::load_keys(const Pair& at, long long first, long long count) {
  first_key = first;
  keys = count;
  call.load_keys(at, first, count, key_rows.data());
  transpose(count, call.p.key_dim, key_rows.data(), k.data());
  call.load_values(at, first, count, v.data());
}

void ScoreTile::score() {
  std::fill_n(scores.begin(), rows * keys, 0.0f);
  add_product(rows, keys, call.p.key_dim, q.data(), call.p.key_dim, 1, k.data(), keys,
              scores.data(), keys);
  biases.add(pair, first_query, rows, first_key, keys, scores.data());
  for (long long r = 0; r < rows; ++r) {
    const long long seen = std::clamp(call.seen(first_query + r) - first_key, 0LL, keys);
    std::fill(scores.begin() + r * keys + seen, scores.begin() + (r + 1) * keys, -infinity);
  }
}

float softmax_row(float* row, long long seen, long long columns) {
  std::fill(row + seen, row + columns, 0.0f);
  const float high = seen > 0 ? *std::max_element(row, row + seen) : -infinity;
  if (high == -infinity) {
    std::fill(row, row + seen, 0.0f);
    return -infinity;
  }
  float sums[8] = {};
  for (long long j = 0; j < seen; ++j) row[j] = exp_of_gate(row[j] - high);
  for (long long j = 0; j < seen; ++j) sums[j % 8] += row[j];
  for (int i = 1; i < 8; ++i) sums[0] += sums[i];
  for (long long j = 0; j < seen; ++j) row[j] /= sums[0];
  return high + std::log(sums[0]);
}

Running::Running(const Call& call, long long rows_at_most, bool divide)
    : values(call.p.value_dim),
      divide_at_once(divide),
      o(scratch(rows_at_most * values)),
      most(scratch(rows_at_most)),
      sums(most),
      lse(most) {}

void Running::clear(long long rows) {
  std::fill_n(o.begin(), rows * values, 0.0f);
  std::fill_n(most.begin(), rows, -infinity);
  std::fill_n(sums.begin(), rows, 0.0f);
}

void Running::add(ScoreTile& tile) {
  for (long long r = 0; r < tile.rows; ++r) {
    float* row = tile.scores.data() + r * tile.keys;
    const float high = std::max(most[r], *std::max_element(row, row + tile.keys));
    if (high == -infinity) {
      std::fill_n(row, tile.keys, 0.0f);
      continue;
    }
    float shrink = exp_of_gate(most[r] - high), sum = 0;
    for (long long j = 0; j < tile.keys; ++j) row[j] = exp_of_gate(row[j] - high);
    for (long long j = 0; j < tile.keys; ++j) sum += row[j];
    const float before = sums[r] * shrink;
    sums[r] = before + sum;
    most[r] = high;
    if (divide_at_once) {
      shrink = before / sums[r];
      for (long long j = 0; j < tile.keys; ++j) row[j] /= sums[r];
    }
    for (long long c = 0; c < values; ++c) o[r * values + c] *= shrink;
  }
  add_product(tile.rows, values, tile.keys, tile.scores.data(), tile.keys, 1, tile.v.data(), values,
              o.data(), values);
}

void Running::finish(long long rows) {
  for (long long r = 0; r < rows; ++r) {
    lse[r] = sums[r] > 0 ? most[r] + std::log(sums[r]) : -infinity;
    const float factor = divide_at_once || !(sums[r] > 0) ? 1.0f : 1.0f / sums[r];
    for (long long c = 0; c < values; ++c) o[r * values + c] *= factor;
  }
}

}  // namespace gla_bench::softmax_attention::host
