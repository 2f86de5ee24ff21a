// The backward of softmax over rows on the host. two_pass forms the sum of y dy over a row, then
// the gradients. blocked adds up the sums of separate blocks, which are read again for the
// gradients.

#include <algorithm>
#include <cstring>

#include "kernels/softmax_attention/host/rows.hpp"
#include "kernels/softmax_attention/host/variant.hpp"
#include "kernels/softmax_attention/rows/backward/softmax_backward.hpp"

namespace gla_bench::softmax_attention {
namespace {

using namespace host;

// Sums of sums of at most 1,024 products each, so that long rows keep float32's bits.
constexpr long long lanes = 8, stretch = 8192;

float sum_of_products(const float* y, const float* dy, long long count) {
  float total = 0;
  for (long long first = 0; first < count; first += stretch) {
    const long long last = std::min(count, first + stretch);
    float sums[lanes] = {};
    for (long long i = first; i < last; ++i) sums[i % lanes] += y[i] * dy[i];
    for (const float sum : sums) total += sum;
  }
  return total;
}

/// Turns dy into dx.
void form_gradients(const float* y, float* dy, long long count, float sum) {
  for (long long i = 0; i < count; ++i) dy[i] = y[i] * (dy[i] - sum);
}

SoftmaxBackwardParams params_of(const HostCall& call) {
  SoftmaxBackwardParams p;
  std::memcpy(&p, call.params.data(), sizeof p);
  return p;
}

/// A part of a row, and where results go from. It holds `most` columns.
struct Elements {
  std::vector<float> y, dy;

  explicit Elements(long long most) : y(scratch(most)), dy(scratch(most)) {}

  void read(const HostCall& call, const SoftmaxBackwardParams& p, long long first,
            long long count) {
    load(call.problem.dtype, p.y, first, 0, 1, count, y.data());
    load(call.problem.dtype, p.dy, first, 0, 1, count, dy.data());
  }
  void write(const HostCall& call, const SoftmaxBackwardParams& p, long long first, long long count,
             float sum) {
    form_gradients(y.data(), dy.data(), count, sum);
    store(call.problem.dtype, p.dx, first, 0, 1, count, dy.data(), p.scale);
  }
};

void run_two_pass(const HostCall& call) {
  const SoftmaxBackwardParams p = params_of(call);
#pragma omp parallel
  {
    Elements elements(p.columns);
#pragma omp for schedule(static)
    for (long long row = 0; row < p.rows; ++row) {
      elements.read(call, p, row * p.columns, p.columns);
      const float sum = sum_of_products(elements.y.data(), elements.dy.data(), p.columns);
      elements.write(call, p, row * p.columns, p.columns, sum);
    }
  }
}

void run_blocked(const HostCall& call) {
  const SoftmaxBackwardParams p = params_of(call);
  const long long block = call.tile.at("block");
#pragma omp parallel
  {
    Elements elements(std::min(block, p.columns));
#pragma omp for schedule(static)
    for (long long row = 0; row < p.rows; ++row) {
      const long long begin = row * p.columns;
      float sum = 0;
      for (long long first = 0; first < p.columns; first += block) {
        const long long count = std::min(block, p.columns - first);
        elements.read(call, p, begin + first, count);
        sum += sum_of_products(elements.y.data(), elements.dy.data(), count);
      }
      for (long long first = 0; first < p.columns; first += block) {
        const long long count = std::min(block, p.columns - first);
        elements.read(call, p, begin + first, count);
        elements.write(call, p, begin + first, count, sum);
      }
    }
  }
}

Variant gradients(std::string_view op, const char* name, const char* summary, TileSpace space,
                  void (*run)(const HostCall&)) {
  return with_gradient_params(make_variant(
      op, Direction::backward,
      {name,
       summary,
       std::move(space),
       {"softmax_attention/host/softmax_backward.cpp", "softmax_attention/host/rows.cpp",
        "softmax_attention/rows/backward/softmax_backward.cpp"},
       // What a row is read for again is still in the cache.
       [](const Problem& problem, const Tile&) {
         return Traffic{2 * row_bytes(problem), row_bytes(problem)};
       },
       gradient_flops,
       {},
       run}));
}

}  // namespace

Variant host_backward_two_pass(std::string_view op) {
  return gradients(op, "two_pass", "the sum of y dy over a row, then the gradients", {},
                   run_two_pass);
}

Variant host_backward_blocked(std::string_view op) {
  return gradients(op, "blocked", "sums of blocks, which are read again for the gradients",
                   {{"block", {1024, 128}, "columns of a block"}}, run_blocked);
}

}  // namespace gla_bench::softmax_attention
