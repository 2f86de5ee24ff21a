// Matrix products through cuBLAS against plain loops, on the device.

#include <cmath>

#include "tests/harness/backends/cuda/gpu_fixture.hpp"

namespace gla_bench::cuda {
namespace {

constexpr std::int64_t m = 33, n = 20, k = 48, batch = 3;

// a, b -> c, with no token axes; c starts as the result of `Zero` on workspace where the test wants
// it.
Operator product_operator(bool transpose_a, bool transpose_b, DType result) {
  Operator op;
  op.name = "product";
  op.tensors = [=](const Problem& p) {
    using Role = TensorSpec::Role;
    const std::int64_t a_rows = transpose_a ? k : m, a_columns = transpose_a ? m : k;
    const std::int64_t b_rows = transpose_b ? n : k, b_columns = transpose_b ? k : n;
    return std::vector<TensorSpec>{{"a", Role::input, p.dtype, {batch, a_rows, a_columns}, false},
                                   {"b", Role::input, p.dtype, {batch, b_rows, b_columns}, false},
                                   {"c", Role::output, result, {batch, m, n}, false}};
  };
  return op;
}

MatrixProduct product(bool transpose_a, bool transpose_b, DType dtype, DType result) {
  MatrixProduct p;
  p.m = m, p.n = n, p.k = k, p.batch = batch;
  p.alpha = 0.5, p.beta = 0;
  p.a = {"a", dtype, 0, transpose_a ? m : k, m * k, transpose_a};
  p.b = {"b", dtype, 0, transpose_b ? k : n, k * n, transpose_b};
  p.c = {"c", result, 0, n, m * n, false};
  p.arithmetic = dtype == DType::float32 ? Arithmetic::float32 : Arithmetic::bfloat16;
  return p;
}

std::vector<float> numbers(DType dtype, std::size_t count, double phase) {
  std::vector<float> list(count);
  for (std::size_t i = 0; i < count; ++i)
    list[i] = round_to(dtype, std::sin(phase + 1.7 * static_cast<double>(i)));
  return list;
}

class GpuMatrixProduct : public GpuFixture {
 protected:
  std::vector<float> run(const MatrixProduct& step, const Operator& op, const HostTensors& inputs) {
    Variant v = variant("twice");
    v.bind = [](const Problem&, const Tile&, const Address&) { return ParamBytes(); };
    v.code = [=](const Problem&, const Tile&) { return Recipe{"map.cuh", {}, {step}}; };
    const auto workset = backend_->stage(op, problem_, inputs);
    const auto plan = backend_->build({&v, problem_, {}});
    plan->prepare(*workset);
    plan->run();
    EXPECT_EQ(workset->damage(), std::nullopt);
    EXPECT_GT(plan->sample(CacheState::cold, 1), 0);
    return workset->download_outputs().at("c");
  }
};

TEST_F(GpuMatrixProduct, AgreesWithPlainLoops) {
  for (DType dtype : {DType::float32, DType::bfloat16, DType::float16})
    for (bool short_result : {false, true})
      for (bool transpose_a : {false, true})
        for (bool transpose_b : {false, true}) {
          problem_.dtype = dtype;
          const DType result = short_result ? dtype : DType::float32;
          const HostTensors inputs{{"a", numbers(dtype, m * k * batch, 0.3)},
                                   {"b", numbers(dtype, k * n * batch, 0.9)}};
          const auto c = run(product(transpose_a, transpose_b, dtype, result),
                             product_operator(transpose_a, transpose_b, result), inputs);
          const float *a = inputs.at("a").data(), *b = inputs.at("b").data();
          const double tolerance = result == DType::float32 ? 2e-5 : 4e-2;
          for (std::int64_t z = 0; z < batch; ++z)
            for (std::int64_t i = 0; i < m; ++i)
              for (std::int64_t j = 0; j < n; ++j) {
                double sum = 0;
                for (std::int64_t l = 0; l < k; ++l)
                  sum += 0.5 * a[z * m * k + (transpose_a ? l * m + i : i * k + l)] *
                         b[z * k * n + (transpose_b ? j * k + l : l * n + j)];
                ASSERT_NEAR(c[static_cast<std::size_t>((z * m + i) * n + j)], sum, tolerance)
                    << name(dtype) << " " << z << "," << i << "," << j;
              }
        }
}

// Each of these lengths is a multiple of 64 and a few more, of which cuBLAS 13.1 leaves out the
// rest where it is asked for one product on an H200.
TEST_F(GpuMatrixProduct, LeavesOutNoTermOfALongSum) {
  constexpr std::int64_t width = 128;
  for (DType dtype : {DType::bfloat16, DType::float16})
    for (std::int64_t terms : {2561, 3073, 6147, 12104}) {
      problem_.dtype = dtype;
      Operator op;
      op.name = "product";
      op.tensors = [=](const Problem& p) {
        using Role = TensorSpec::Role;
        return std::vector<TensorSpec>{{"a", Role::input, p.dtype, {terms, width}, false},
                                       {"b", Role::input, p.dtype, {terms, width}, false},
                                       {"c", Role::output, DType::float32, {width, width}, false}};
      };
      MatrixProduct p;
      p.m = p.n = width, p.k = terms;
      p.a = {"a", dtype, 0, width, 0, true};
      p.b = {"b", dtype, 0, width, 0, false};
      p.c = {"c", DType::float32, 0, width, 0, false};
      p.arithmetic = Arithmetic::bfloat16;
      const std::vector<float> ones(static_cast<std::size_t>(terms * width), 1.0f);
      const auto c = run(p, op, {{"a", ones}, {"b", ones}});
      EXPECT_EQ(c, std::vector<float>(width * width, static_cast<float>(terms)))
          << name(dtype) << " " << terms;
    }
}

}  // namespace
}  // namespace gla_bench::cuda
