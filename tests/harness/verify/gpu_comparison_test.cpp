// Comparisons on the device against those on the host; skipped where there is no GPU.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "core/rounding.hpp"
#include "harness/verify/chunks.hpp"
#include "harness/verify/host_comparison.hpp"
#include "harness/verify/value_tests.hpp"
#include "harness/verify/verify.hpp"
#include "tests/harness/backends/cuda/gpu_fixture.hpp"

namespace gla_bench::cuda {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// The output lies where the input does, so that it holds what the test puts there.
Operator in_place(const TensorSpec& spec) {
  Operator op;
  op.name = "in_place";
  op.tensors = [spec](const Problem&) {
    TensorSpec x = spec, y = spec;
    x.name = "x";
    x.role = TensorSpec::Role::input;
    y.name = "y";
    y.role = TensorSpec::Role::output;
    y.in_place_of = "x";
    return std::vector<TensorSpec>{x, y};
  };
  return op;
}

class GpuComparison : public GpuFixture {
 protected:
  // Compares `got`, rounded to the spec's dtype, with `expected` in both places.
  void expect_the_same(const TensorSpec& spec, Layout layout, const std::vector<float>& got,
                       const std::vector<double>& expected) {
    problem_.layout = layout;
    problem_.dtype = spec.dtype;
    const Operator op = in_place(spec);
    const auto workset = backend_->stage(op, problem_, {{"x", got}});
    const Chunks chunks = chunks_of(spec);
    TensorSpec output = op.tensors(problem_)[1];
    const auto device = workset->compare(output, chunks, {++id_, expected});
    ASSERT_NE(device, nullptr);
    HostComparison host(output, workset->download_outputs().at("y"), expected);
    const std::string where = std::string(name(spec.dtype)) + " " +
                              std::to_string(spec.extents.size()) + " axes, " +
                              std::string(name(layout));
    expect_errors(device->error_sums(), host.error_sums(), where);
    expect_values(device->value_sums(), host.value_sums(), where);
    if (spec.dtype == DType::float32) {
      expect_counts(device->coarse_output(), host.coarse_output(), where);
      expect_counts(device->coarse_expected(), host.coarse_expected(), where);
    }
    for (const double rms : {0.0, 1.0}) {
      const auto a = device->worsts(rms), b = host.worsts(rms);
      ASSERT_EQ(a.size(), b.size()) << where;
      for (std::size_t i = 0; i < a.size(); ++i) {
        expect_near(a[i].error, b[i].error, where);
        EXPECT_EQ(a[i].at, b[i].at) << where << " chunk " << i;
      }
    }
    for (const std::int64_t at : {std::int64_t{0}, spec.elements() / 2, spec.elements() - 1}) {
      const float a = device->output(at), b = host.output(at);
      EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << where << " element " << at;
    }
  }

 private:
  static void expect_near(double a, double b, const std::string& where) {
    if (std::isfinite(b))
      EXPECT_NEAR(a, b, 1e-12 * std::abs(b) + 1e-300) << where;
    else
      EXPECT_EQ(std::isnan(a), std::isnan(b)) << where;
  }

  static void expect_errors(const std::vector<ErrorSums>& a, const std::vector<ErrorSums>& b,
                            const std::string& where) {
    ASSERT_EQ(a.size(), b.size()) << where;
    for (std::size_t i = 0; i < a.size(); ++i) {
      expect_near(a[i].error_squared, b[i].error_squared, where);
      expect_near(a[i].norm_squared, b[i].norm_squared, where);
      EXPECT_EQ(a[i].elements, b[i].elements) << where;
      EXPECT_EQ(a[i].unwritten, b[i].unwritten) << where;
      EXPECT_EQ(a[i].not_finite, b[i].not_finite) << where;
      EXPECT_EQ(a[i].first_bad, b[i].first_bad) << where;
    }
  }

  static void expect_values(const std::vector<ValueSums>& a, const std::vector<ValueSums>& b,
                            const std::string& where) {
    ASSERT_EQ(a.size(), b.size()) << where;
    for (std::size_t i = 0; i < a.size(); ++i) {
      // Signed sums cancel: their error is that of what was added up.
      EXPECT_NEAR(a[i].along, b[i].along, 1e-12 * b[i].squares + 1e-300) << where;
      EXPECT_NEAR(a[i].plain, b[i].plain, 1e-12 * b[i].absolutes + 1e-300) << where;
      expect_near(a[i].squares, b[i].squares, where);
      expect_near(a[i].fourths, b[i].fourths, where);
      expect_near(a[i].absolutes, b[i].absolutes, where);
    }
  }

  static void expect_counts(const CoarseCounts& a, const CoarseCounts& b,
                            const std::string& where) {
    EXPECT_EQ(a.all, b.all) << where;
    EXPECT_EQ(a.bfloat16, b.bfloat16) << where;
    EXPECT_EQ(a.float16, b.float16) << where;
  }

  std::uint64_t id_ = 0;
};

struct Shape {
  std::vector<std::int64_t> extents;
  bool tokens = false, value_first = false;
};

// Tokens in chunks with a ragged end, few tokens, lse, states in both orders, rows without tokens
// that are more than one block takes, one element.
std::vector<Shape> shapes() {
  return {{{3, 150, 4, 24}, true, false},
          {{2, 5, 3, 16}, true, false},
          {{2, 100, 6}, true, false},
          {{2, 3, 8, 20}, false, true},
          {{2, 3, 160, 160}, false, false},
          {{40, 1111}, false, false},
          {{1}, false, false}};
}

void for_all(const std::function<void(const TensorSpec&, Layout)>& act) {
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16})
    for (const Shape& shape : shapes())
      for (const Layout layout : {Layout::seq_first, Layout::head_first}) {
        TensorSpec spec{"y", TensorSpec::Role::output, dtype, shape.extents, shape.tokens};
        spec.value_first = shape.value_first;
        act(spec, layout);
      }
}

struct Values {
  std::vector<float> got;
  std::vector<double> expected;
};

// Values over some orders of magnitude, down to what float16 has no normal numbers for.
Values drawn(const TensorSpec& spec, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Values values;
  for (std::int64_t i = 0; i < spec.elements(); ++i) {
    const double value = normal(random) * std::exp2(static_cast<double>(random() % 20) - 16);
    values.expected.push_back(value);
    values.got.push_back(static_cast<float>(value * (1 + 1e-3 * normal(random))));
  }
  return values;
}

TEST_F(GpuComparison, SumsAreThoseOfTheHost) {
  for_all([&](const TensorSpec& spec, Layout layout) {
    const Values values = drawn(spec, 1);
    expect_the_same(spec, layout, values.got, values.expected);
  });
}

TEST_F(GpuComparison, WhatIsNotFiniteIsSeen) {
  for_all([&](const TensorSpec& spec, Layout layout) {
    Values values = drawn(spec, 2);
    const auto count = values.got.size();
    const auto put = [&](std::size_t at, float got, double expected) {
      values.got[at % count] = got;
      values.expected[at % count] = expected;
    };
    put(7, 0, 0);
    put(19, infinity, infinity);    // expected
    put(31, -infinity, -infinity);  // expected
    put(43, nan, static_cast<double>(nan));
    put(77, infinity, 1.0);
    put(101, nan, 1.0);
    put(103, -infinity, static_cast<double>(infinity));
    expect_the_same(spec, layout, values.got, values.expected);
  });
}

TEST_F(GpuComparison, PoisonIsUnwritten) {
  problem_.shape = {2, 70, 3, 8, 8};
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    problem_.dtype = dtype;
    const auto workset = backend_->stage(op_, problem_, inputs());
    workset->poison_outputs();
    const TensorSpec spec = op_.tensors(problem_)[1];
    const std::vector<double> expected(static_cast<std::size_t>(spec.elements()), 1.0);
    const auto comparison = workset->compare(spec, chunks_of(spec), {1, expected});
    ASSERT_NE(comparison, nullptr);
    const ErrorMetrics metrics = tensor_errors(spec, *comparison, expected);
    EXPECT_EQ(metrics.unwritten, spec.elements()) << name(dtype);
    EXPECT_EQ(metrics.not_finite, 0) << name(dtype);
  }
}

TEST_F(GpuComparison, MetricsAndValueTestsAreThoseOfTheHost) {
  TensorSpec spec{"y", TensorSpec::Role::output, DType::float32, {2, 200, 3, 32}, true};
  Values values = drawn(spec, 3);
  for (float& value : values.got) value = round_to(DType::bfloat16, value);
  const Operator op = in_place(spec);
  const auto workset = backend_->stage(op, problem_, {{"x", values.got}});
  const auto device =
      workset->compare(op.tensors(problem_)[1], chunks_of(spec), {1, values.expected});
  ASSERT_NE(device, nullptr);
  const ErrorMetrics a = tensor_errors(spec, *device, values.expected),
                     b = tensor_errors(spec, values.got, values.expected);
  EXPECT_NEAR(a.rel_l2, b.rel_l2, 1e-12 * b.rel_l2);
  EXPECT_NEAR(a.max_abs, b.max_abs, 1e-12 * b.max_abs);
  EXPECT_NEAR(a.worst_chunk_rel_l2, b.worst_chunk_rel_l2, 1e-12 * b.worst_chunk_rel_l2);
  EXPECT_EQ(a.worst.index, b.worst.index);
  EXPECT_EQ(a.worst.got, b.worst.got);
  const auto bits = kept_bits(spec, *device, {});
  EXPECT_EQ(bits, kept_bits(spec, values.got, values.expected, {}));
  EXPECT_EQ(bits, 8);
}

}  // namespace
}  // namespace gla_bench::cuda
