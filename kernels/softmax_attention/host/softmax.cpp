// Softmax over rows on the host. three_pass forms the maximum, the sum and the quotient. online
// carries a running maximum and sum, then forms the quotient. online_blocked does the same for
// separate blocks and merges them.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/linear_recurrence/host/math.hpp"
#include "kernels/softmax_attention/host/rows.hpp"
#include "kernels/softmax_attention/host/variant.hpp"
#include "kernels/softmax_attention/variants.hpp"

namespace gla_bench::softmax_attention {
namespace {

using namespace host;
using linear_recurrence::host::exp_of_gate;

constexpr float infinity = std::numeric_limits<float>::infinity();

/// A largest element, and the sum of exp(scale (x - largest)). Merging is associative and
/// commutative. The difference is scaled, not the elements, because the difference is exact where
/// both are large.
struct Sum {
  float most = -infinity, sum = 0;

  void merge(const Sum& other, float scale) {
    const float high = std::max(most, other.most);
    if (high == -infinity) return;
    sum = sum * exp_of_gate(scale * (most - high)) +
          other.sum * exp_of_gate(scale * (other.most - high));
    most = high;
  }
};

// Sums of sums of at most 1,024 exponentials each. Of a hundred thousand small numbers, one float32
// after the other would lose what is below half a unit of the sum so far, always to the same side.
constexpr long long lanes = 8, stretch = 8192;

using Reduce = Sum (*)(const float* x, long long columns, long long block, float scale);

float sum_of_exponentials(const float* x, long long columns, float most, float scale) {
  float total = 0;
  for (long long first = 0; first < columns; first += stretch) {
    const long long last = std::min(columns, first + stretch);
    float sums[lanes] = {};
    for (long long i = first; i < last; ++i) sums[i % lanes] += exp_of_gate(scale * (x[i] - most));
    for (const float sum : sums) total += sum;
  }
  return total;
}

Sum in_two_passes(const float* x, long long columns, long long, float scale) {
  const float most = *std::max_element(x, x + columns);
  if (most == -infinity) return {};
  return {most, sum_of_exponentials(x, columns, most, scale)};
}

Sum running(const float* x, long long columns, long long, float scale) {
  Sum total;
  for (long long first = 0; first < columns; first += stretch) {
    const long long last = std::min(columns, first + stretch);
    Sum sums[lanes];
    for (long long i = first; i < last; ++i) sums[i % lanes].merge({x[i], 1.0f}, scale);
    for (const Sum& sum : sums) total.merge(sum, scale);
  }
  return total;
}

Sum of_blocks(const float* x, long long columns, long long block, float scale) {
  Sum total;
  for (long long first = 0; first < columns; first += block)
    total.merge(in_two_passes(x + first, std::min(block, columns - first), 0, scale), scale);
  return total;
}

void run(const HostCall& call, Reduce reduce) {
  SoftmaxParams p;
  std::memcpy(&p, call.params.data(), sizeof p);
  const auto block = call.tile.find("block");
  const long long length = block == call.tile.end() ? p.columns : block->second;
  const float scale = std::abs(p.scale);
#pragma omp parallel
  {
    std::vector<float> x = scratch(p.columns);
#pragma omp for schedule(static)
    for (long long row = 0; row < p.rows; ++row) {
      load(call.problem.dtype, p.x, row * p.columns, 0, 1, p.columns, x.data());
      // Elements carry the sign of the scale, so that the largest one has the largest logit.
      for (float& value : x) value = std::copysign(1.0f, p.scale) * value;
      const Sum total = reduce(x.data(), p.columns, length, scale);
      const float factor = total.sum > 0 ? 1 / total.sum : 0.0f;
      const float most = total.sum > 0 ? total.most : 0.0f;  // then -inf - 0 gives the zeros
      for (float& value : x) value = exp_of_gate(scale * (value - most));
      store(call.problem.dtype, p.y, row * p.columns, 0, 1, p.columns, x.data(), factor);
    }
  }
}

Variant rows(std::string_view op, const char* name, const char* summary, TileSpace space,
             Reduce reduce) {
  return make_variant(op, Direction::forward,
                      {name,
                       summary,
                       std::move(space),
                       {"softmax_attention/host/softmax.cpp", "softmax_attention/host/rows.cpp"},
                       [](const Problem& problem, const Tile&) {
                         return Traffic{row_bytes(problem), row_bytes(problem)};
                       },
                       [](const Problem& problem, const Tile&) {
                         return 5 * static_cast<double>(problem.shape.batch) *
                                static_cast<double>(problem.shape.columns);
                       },
                       {},
                       [reduce](const HostCall& call) { run(call, reduce); }});
}

}  // namespace

Variant host_three_pass(std::string_view op) {
  return rows(op, "three_pass", "maximum, sum of exponentials, quotient", {}, in_two_passes);
}

Variant host_online(std::string_view op) {
  return rows(op, "online", "running maximum and sum in one pass, then the quotient", {}, running);
}

Variant host_online_blocked(std::string_view op) {
  return rows(op, "online_blocked", "maxima and sums of blocks, merged",
              {{"block", {1024, 128}, "columns of a block"}}, of_blocks);
}

}  // namespace gla_bench::softmax_attention
