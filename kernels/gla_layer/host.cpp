// The layer on the host. Products go through OpenBLAS in float32. gla runs as any of its host
// variants. The functions between them are loops over rows. Tensors between the stages are stored
// in the problem's dtype, as on a GPU.

#include <cblas.h>

#include <cmath>
#include <cstring>

#include "core/rounding.hpp"
#include "kernels/gla_layer/inner.hpp"
#include "kernels/gla_layer/variants.hpp"
#include "kernels/refusal.hpp"

namespace gla_bench::gla_layer {
namespace {

void read(DType dtype, const void* data, std::int64_t first, std::int64_t count, float* values) {
  const auto* words = static_cast<const std::uint16_t*>(data) + first;
  if (dtype == DType::float32)
    std::copy_n(static_cast<const float*>(data) + first, count, values);
  else if (dtype == DType::bfloat16)
    for (std::int64_t i = 0; i < count; ++i) values[i] = bfloat16_value(words[i]);
  else
    for (std::int64_t i = 0; i < count; ++i) values[i] = float16_value(words[i]);
}

void write(DType dtype, const float* values, std::int64_t first, std::int64_t count, void* data) {
  auto* words = static_cast<std::uint16_t*>(data) + first;
  if (dtype == DType::float32)
    std::copy_n(values, count, static_cast<float*>(data) + first);
  else if (dtype == DType::bfloat16)
    for (std::int64_t i = 0; i < count; ++i) words[i] = bfloat16_bits(values[i]);
  else
    for (std::int64_t i = 0; i < count; ++i) words[i] = float16_bits(values[i]);
}

float log_sigmoid(float z) {
  return std::min(z, 0.0f) - std::log1p(std::exp(-std::abs(z)));
}

float swish(float r) {
  return r / (1 + std::exp(-r));
}

// One call, with its problem, sizes and tensors.
class Layer {
 public:
  Layer(const HostCall& call, Form form)
      : call_(call), form_(form), n_(extents(call.problem)), dtype_(call.problem.dtype) {
    std::memcpy(&p_, call.params.data(), sizeof p_);
  }

  void run() const {
    project();
    call_.end_stage("projections");
    if (form_ == Form::composed) {
      product(p_.low, p_.w_2, rank, n_.keys, p_.gate_sums);
      over_rows(n_.keys, [this](std::int64_t row, float* z) { gate_row(row, z); });
    } else {
      gate_blocks();
    }
    call_.end_stage("gate");
    recurrence();
    call_.end_stage("gla");
    if (form_ == Form::composed) {
      over_rows(n_.values, [this](std::int64_t row, float* x) { output_gate_row(row, x); });
      over_rows(n_.values, [this](std::int64_t row, float* x) { norm_row(row, x); });
      over_rows(n_.values, [this](std::int64_t row, float* x) { multiply_row(row, x); });
    } else {
      over_rows(n_.values, [this](std::int64_t row, float* x) { norm_gate_row(row, x); });
    }
    call_.end_stage("norm_gate");
    stored_product(p_.gated, p_.w_o, n_.values, n_.model, p_.y);
    call_.end_stage("output");
  }

 private:
  // Rows of a product that are converted at a time. This keeps the converted copy small.
  static constexpr std::int64_t block = 512;

  std::vector<float> matrix(const void* data, std::int64_t count) const {
    std::vector<float> values(static_cast<std::size_t>(count));
    read(dtype_, data, 0, count, values.data());
    return values;
  }

  // c = a b for some rows of a, all in float32.
  static void multiply(std::int64_t m, std::int64_t k, std::int64_t n, const float* a,
                       const float* b, float* c) {
    const auto size = [](std::int64_t extent) { return static_cast<blasint>(extent); };
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size(m), size(n), size(k), 1.0f, a,
                size(k), b, size(n), 0.0f, c, size(n));
  }

  // Multiplies all rows of a, in blocks. take(first row, rows, values) receives each block of the
  // result.
  template <class Take>
  void product_blocks(const void* a, const void* b, std::int64_t k, std::int64_t n,
                      Take take) const {
    const std::vector<float> weight = matrix(b, k * n);
    const std::int64_t most = std::min(block, n_.rows);
    std::vector<float> rows(static_cast<std::size_t>(most * k));
    std::vector<float> result(static_cast<std::size_t>(most * n));
    for (std::int64_t first = 0; first < n_.rows; first += block) {
      const std::int64_t count = std::min(block, n_.rows - first);
      read(dtype_, a, first * k, count * k, rows.data());
      multiply(count, k, n, rows.data(), weight.data(), result.data());
      take(first, count, result.data());
    }
  }

  void stored_product(const void* a, const void* b, std::int64_t k, std::int64_t n, void* c) const {
    product_blocks(a, b, k, n, [&](std::int64_t first, std::int64_t count, const float* values) {
      write(dtype_, values, first * n, count * n, c);
    });
  }

  void product(const void* a, const void* b, std::int64_t k, std::int64_t n, float* c) const {
    product_blocks(a, b, k, n, [&](std::int64_t first, std::int64_t count, const float* values) {
      std::copy_n(values, count * n, c + first * n);
    });
  }

  void project() const {
    stored_product(p_.x, p_.w_q, n_.model, n_.keys, p_.q);
    stored_product(p_.x, p_.w_k, n_.model, n_.keys, p_.k);
    stored_product(p_.x, p_.w_v, n_.model, n_.values, p_.v);
    stored_product(p_.x, p_.w_r, n_.model, n_.values, p_.r);
    stored_product(p_.x, p_.w_1, n_.model, rank, p_.low);
  }

  // Calls work(row, scratch of `columns` floats) for all rows, in parallel.
  template <class Work>
  void over_rows(std::int64_t columns, Work work) const {
#pragma omp parallel if (n_.rows * columns > 65536)
    {
      std::vector<float> scratch(static_cast<std::size_t>(columns));
#pragma omp for schedule(static)
      for (std::int64_t row = 0; row < n_.rows; ++row) work(row, scratch.data());
    }
  }

  void finish_gates(std::int64_t row, float* z) const {
    for (std::int64_t i = 0; i < n_.keys; ++i)
      z[i] = log_sigmoid(z[i] + element(p_.b_g, i)) * p_.gate_factor;
    write(dtype_, z, row * n_.keys, n_.keys, p_.g);
  }

  void gate_row(std::int64_t row, float* z) const {
    std::copy_n(p_.gate_sums + row * n_.keys, n_.keys, z);
    finish_gates(row, z);
  }

  void gate_blocks() const {
    product_blocks(p_.low, p_.w_2, rank, n_.keys,
                   [this](std::int64_t first, std::int64_t count, float* values) {
#pragma omp parallel for schedule(static) if (count * n_.keys > 65536)
                     for (std::int64_t i = 0; i < count; ++i)
                       finish_gates(first + i, values + i * n_.keys);
                   });
  }

  // Runs gla with its own parameters, which are stored after the layer's.
  void recurrence() const {
    const Inner inner = inner_of(BackendId::host, call_.problem, call_.tile).value();
    const ParamBytes params(call_.params.begin() + sizeof p_, call_.params.end());
    const auto& run = std::get<std::function<void(const HostCall&)>>(inner.variant->code);
    run({inner.problem, inner.tile, params});
  }

  float element(const void* data, std::int64_t at) const {
    float value = 0;
    read(dtype_, data, at, 1, &value);
    return value;
  }

  void output_gate_row(std::int64_t row, float* x) const {
    const std::int64_t at = row * n_.values;
    read(dtype_, p_.r, at, n_.values, x);
    for (std::int64_t i = 0; i < n_.values; ++i)
      p_.swish[at + i] = swish(x[i] + element(p_.b_r, i));
  }

  // Normalises every head of a row in place.
  void normalise(float* x) const {
    for (float* head = x; head < x + n_.values; head += n_.value_dim) {
      float mean = 0, variance = 0;
      for (std::int64_t i = 0; i < n_.value_dim; ++i) mean += head[i];
      mean /= static_cast<float>(n_.value_dim);
      for (std::int64_t i = 0; i < n_.value_dim; ++i)
        variance += (head[i] - mean) * (head[i] - mean);
      variance /= static_cast<float>(n_.value_dim);
      const float factor = 1 / std::sqrt(variance + p_.epsilon);
      for (std::int64_t i = 0; i < n_.value_dim; ++i) head[i] = (head[i] - mean) * factor;
    }
  }

  void norm_row(std::int64_t row, float* x) const {
    read(dtype_, p_.o, row * n_.values, n_.values, x);
    normalise(x);
    std::copy_n(x, n_.values, p_.normed + row * n_.values);
  }

  void multiply_row(std::int64_t row, float* x) const {
    const std::int64_t at = row * n_.values;
    for (std::int64_t i = 0; i < n_.values; ++i) x[i] = p_.swish[at + i] * p_.normed[at + i];
    write(dtype_, x, at, n_.values, p_.gated);
  }

  void norm_gate_row(std::int64_t row, float* x) const {
    const std::int64_t at = row * n_.values;
    read(dtype_, p_.o, at, n_.values, x);
    normalise(x);
    for (std::int64_t i = 0; i < n_.values; ++i)
      x[i] *= swish(element(p_.r, at + i) + element(p_.b_r, i));
    write(dtype_, x, at, n_.values, p_.gated);
  }

  const HostCall& call_;
  Form form_;
  Extents n_;
  DType dtype_;
  GlaLayerParams p_{};
};

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits& limits) {
  if (limits.arch != 0) return "runs on the host only";
  if (auto reason = refuse_problem(problem)) return reason;
  if (auto reason = refuse_choice(inner_axes(), tile)) return reason;
  return refuse_inner(BackendId::host, problem, tile, limits);
}

ParamBytes bind(const Problem& problem, const Tile& tile, const Address& address) {
  const GlaLayerParams own = params(problem, address);
  ParamBytes bytes(sizeof own);
  std::memcpy(bytes.data(), &own, sizeof own);
  if (const auto inner = inner_of(BackendId::host, problem, tile)) {
    const ParamBytes behind = inner_params(*inner, address);
    bytes.insert(bytes.end(), behind.begin(), behind.end());
  }
  return bytes;
}

}  // namespace

Variant host_variant(Form form) {
  Variant v = description(form, BackendId::host);
  v.space = inner_axes();
  v.sources = inner_sources(BackendId::host);
  for (const char* source : {"gla_layer/host.cpp", "gla_layer/family.cpp", "gla_layer/inner.cpp"})
    v.sources.push_back(source);
  // The tensors between the stages are in the dtype, and so are the operands of every product.
  v.arithmetic = [](const Problem& problem, const Tile&) { return product_arithmetic(problem, 3); };
  v.reject = reject;
  v.workspace = [form](const Problem& problem, const Tile& tile) {
    std::vector<Region> list = regions(problem, form);
    if (const auto inner = inner_of(BackendId::host, problem, tile))
      for (Region& region : inner_workspace(*inner)) list.push_back(std::move(region));
    return list;
  };
  v.bind = bind;
  v.code = [form](const HostCall& call) { Layer(call, form).run(); };
  return v;
}

}  // namespace gla_bench::gla_layer
