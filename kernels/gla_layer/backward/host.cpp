// The layer's backward on the host: the forward up to o, then backwards through the same stages.
// In training the forward goes on to y, and the backward begins with what it left. Products go
// through OpenBLAS in float32, and gla's backward or training is any of its host variants. The
// tensors between the stages are stored in the problem's dtype, as on a GPU.

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/gla_layer/backward/family.hpp"
#include "kernels/gla_layer/host_layer.hpp"
#include "kernels/gla_layer/inner.hpp"
#include "kernels/refusal.hpp"

namespace gla_bench::gla_layer {
namespace {

GlaLayerGradients params_of(const HostCall& call) {
  GlaLayerGradients params{};
  std::memcpy(&params, call.params.data(), sizeof params);
  return params;
}

class LayerGradients : HostLayer {
 public:
  explicit LayerGradients(const HostCall& call)
      : HostLayer(call.problem, params_of(call).layer), call_(call), g_(params_of(call)) {}

  void backward() const {
    project();
    call_.end_stage("projections");
    gate_blocks();
    call_.end_stage("gate");
    std::size_t params = sizeof g_;
    run_inner(outputs_inner_of(BackendId::host, call_.problem, call_.tile).value(), params);
    call_.end_stage("gla");
    form_gated();
    gradients_before_gla();
    call_.end_stage("norm_gate");
    run_inner(inner_of(BackendId::host, call_.problem, call_.tile).value(), params);
    call_.end_stage("gla_backward");
    gradients_behind_gla();
    call_.end_stage("weights");
  }

  // gla's training is one call. At the end of its forward the layer's goes on to y, and the
  // gradients of gla's outputs are formed.
  void training() const {
    project();
    gate_blocks();
    const std::function<void(std::string_view)> stage_ended = [this](std::string_view pass) {
      if (pass != "forward") return;
      form_gated();
      stored_product(p_.gated, p_.w_o, n_.values, n_.model, p_.y);
      call_.end_stage("forward");
      gradients_before_gla();
    };
    std::size_t params = sizeof g_;
    run_inner(inner_of(BackendId::host, call_.problem, call_.tile).value(), params, &stage_ended);
    gradients_behind_gla();
    call_.end_stage("backward");
  }

 private:
  void form_gated() const {
    over_rows(n_.values, [this](std::int64_t row, float* x) { norm_gate_row(row, x); });
  }

  void gradients_before_gla() const {
    changes_of_product(g_.dy, p_.w_o, n_.model, n_.values,
                       [this](auto... rows) { write_rows(g_.d_gated, n_.values, rows...); });
    over_rows(4 * n_.value_dim,
              [this](std::int64_t row, float* x) { norm_gate_gradients(row, x); });
  }

  void gradients_behind_gla() const {
    gate_gradients();
    weight_gradients();
    input_gradients();
  }

  // The parameters of what runs of gla lie behind the layer's, one after the other. `at` goes on
  // to the next.
  void run_inner(const Inner& inner, std::size_t& at,
                 const std::function<void(std::string_view)>* stage_ended = nullptr) const {
    const std::size_t size = inner_params(inner, [](std::string_view) { return nullptr; }).size();
    const auto first = call_.params.begin() + static_cast<std::ptrdiff_t>(at);
    const ParamBytes params(first, first + static_cast<std::ptrdiff_t>(size));
    at += size;
    const auto& run = std::get<std::function<void(const HostCall&)>>(inner.variant->code);
    run({inner.problem, inner.tile, params, stage_ended});
  }

  void write_rows(void* to, std::int64_t columns, std::int64_t first, std::int64_t count,
                  const float* values) const {
    write(dtype_, values, first * columns, count * columns, to);
  }

  // What the gradient of a product says of its left factor: changes [rows, columns] times the
  // transpose of weight [length, columns], in blocks of rows.
  void changes_of_product(const void* changes, const void* weight, std::int64_t columns,
                          std::int64_t length, const Rows& take) const {
    const std::vector<float> transposed = matrix(weight, length * columns);
    std::vector<float> result(static_cast<std::size_t>(std::min(block, n_.rows) * length));
    over_blocks(changes, columns, [&](std::int64_t first, std::int64_t count, float* rows) {
      const auto size = [](std::int64_t extent) { return static_cast<blasint>(extent); };
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, size(count), size(length), size(columns),
                  1.0f, rows, size(columns), transposed.data(), size(columns), 0.0f, result.data(),
                  size(length));
      take(first, count, result.data());
    });
  }

  void over_blocks(const void* tensor, std::int64_t columns, const Rows& take) const {
    std::vector<float> rows(static_cast<std::size_t>(std::min(block, n_.rows) * columns));
    for (std::int64_t first = 0; first < n_.rows; first += block) {
      const std::int64_t count = std::min(block, n_.rows - first);
      read(dtype_, tensor, first * columns, count * columns, rows.data());
      take(first, count, rows.data());
    }
  }

  // The gradient of a weight [length, columns]: factor times the sum over all tokens.
  void over_tokens(const void* left, std::int64_t length, const void* changes, std::int64_t columns,
                   float factor, float* to) const {
    std::vector<float> rows(static_cast<std::size_t>(std::min(block, n_.rows) * length));
    over_blocks(changes, columns, [&](std::int64_t first, std::int64_t count, float* values) {
      read(dtype_, left, first * length, count * length, rows.data());
      const auto size = [](std::int64_t extent) { return static_cast<blasint>(extent); };
      cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, size(length), size(columns), size(count),
                  factor, rows.data(), size(length), values, size(columns),
                  first == 0 ? 0.0f : 1.0f, to, size(columns));
    });
  }

  // The gradient of a bias.
  void column_sums(const void* changes, std::int64_t columns, float factor, float* to) const {
    std::vector<double> sums(static_cast<std::size_t>(columns), 0.0);
    over_blocks(changes, columns, [&](std::int64_t, std::int64_t count, const float* values) {
      for (std::int64_t i = 0; i < count * columns; ++i)
        sums[i % columns] += static_cast<double>(values[i]);
    });
    for (std::int64_t i = 0; i < columns; ++i) to[i] = factor * static_cast<float>(sums[i]);
  }

  // do and dr of a token. The scratch holds a head's o, r, dgated and do, one after the other.
  void norm_gate_gradients(std::int64_t row, float* scratch) const {
    const std::int64_t size = n_.value_dim;
    float *o = scratch, *open = o + size, *d_gated = open + size, *d_o = d_gated + size;
    for (std::int64_t head = 0; head < n_.heads; ++head) {
      const std::int64_t at = row * n_.values + head * size;
      read(dtype_, p_.o, at, size, o);
      read(dtype_, p_.r, at, size, open);
      read(dtype_, g_.d_gated, at, size, d_gated);
      const float factor = normalise_head(o);
      float sum = 0, projection = 0;
      for (std::int64_t i = 0; i < size; ++i) {
        const float x = open[i] + element(p_.b_r, head * size + i);
        const float sigmoid = 1 / (1 + std::exp(-x));
        d_o[i] = d_gated[i] * x * sigmoid;
        sum += d_o[i];
        projection += d_o[i] * o[i];
        d_gated[i] *= o[i] * sigmoid * (1 + x * (1 - sigmoid));
      }
      sum /= static_cast<float>(size);
      projection /= static_cast<float>(size);
      for (std::int64_t i = 0; i < size; ++i) d_o[i] = factor * (d_o[i] - sum - o[i] * projection);
      write(dtype_, d_o, at, size, g_.d_o);
      write(dtype_, d_gated, at, size, g_.dr);
    }
  }

  // Normalises one head in place, and returns what its deviations were multiplied by.
  float normalise_head(float* x) const {
    const std::int64_t size = n_.value_dim;
    float mean = 0, variance = 0;
    for (std::int64_t i = 0; i < size; ++i) mean += x[i];
    mean /= static_cast<float>(size);
    for (std::int64_t i = 0; i < size; ++i) variance += (x[i] - mean) * (x[i] - mean);
    const float factor = 1 / std::sqrt(variance / static_cast<float>(size) + p_.epsilon);
    for (std::int64_t i = 0; i < size; ++i) x[i] = (x[i] - mean) * factor;
    return factor;
  }

  // dz and dlow, both times the divisor.
  void gate_gradients() const {
    product_blocks(p_.low, p_.w_2, rank, n_.keys,
                   [this](std::int64_t first, std::int64_t count, float* z) {
#pragma omp parallel for schedule(static) if (count * n_.keys > 65536)
                     for (std::int64_t row = 0; row < count; ++row)
                       finish_gate_gradients(first + row, z + row * n_.keys);
                   });
    changes_of_product(g_.dz, p_.w_2, n_.keys, rank,
                       [this](auto... rows) { write_rows(g_.d_low, rank, rows...); });
  }

  void finish_gate_gradients(std::int64_t row, float* z) const {
    for (std::int64_t i = 0; i < n_.keys; ++i)
      z[i] = g_.dg[row * n_.keys + i] / (1 + std::exp(z[i] + element(p_.b_g, i)));
    write(dtype_, z, row * n_.keys, n_.keys, g_.dz);
  }

  void weight_gradients() const {
    over_tokens(p_.x, n_.model, g_.dq, n_.keys, 1, g_.dw_q);
    over_tokens(p_.x, n_.model, g_.dk, n_.keys, 1, g_.dw_k);
    over_tokens(p_.x, n_.model, g_.dv, n_.values, 1, g_.dw_v);
    over_tokens(p_.x, n_.model, g_.dr, n_.values, 1, g_.dw_r);
    over_tokens(p_.x, n_.model, g_.d_low, rank, p_.gate_factor, g_.dw_1);
    over_tokens(p_.low, rank, g_.dz, n_.keys, p_.gate_factor, g_.dw_2);
    over_tokens(p_.gated, n_.values, g_.dy, n_.model, 1, g_.dw_o);
    column_sums(g_.dz, n_.keys, p_.gate_factor, g_.db_g);
    column_sums(g_.dr, n_.values, 1, g_.db_r);
  }

  void input_gradients() const {
    std::fill_n(g_.dx_sums, n_.rows * n_.model, 0.0f);
    add_to_input(g_.dq, p_.w_q, n_.keys, 1);
    add_to_input(g_.dk, p_.w_k, n_.keys, 1);
    add_to_input(g_.dv, p_.w_v, n_.values, 1);
    add_to_input(g_.dr, p_.w_r, n_.values, 1);
    add_to_input(g_.d_low, p_.w_1, rank, p_.gate_factor);
    write(dtype_, g_.dx_sums, 0, n_.rows * n_.model, g_.dx);
  }

  void add_to_input(const void* changes, const void* weight, std::int64_t columns,
                    float factor) const {
    changes_of_product(changes, weight, columns, n_.model,
                       [&](std::int64_t first, std::int64_t count, const float* values) {
                         float* to = g_.dx_sums + first * n_.model;
                         for (std::int64_t i = 0; i < count * n_.model; ++i)
                           to[i] += factor * values[i];
                       });
  }

  const HostCall& call_;
  GlaLayerGradients g_;
};

std::optional<std::string> reject(Direction direction, const Problem& problem, const Tile& tile,
                                  const Limits& limits) {
  if (limits.arch != 0) return "runs on the host only";
  if (auto reason = refuse_problem(problem, direction)) return reason;
  if (auto reason = refuse_choice(inner_axes(direction), tile)) return reason;
  return refuse_inner(BackendId::host, problem, tile, limits);
}

ParamBytes bind(const Problem& problem, const Tile& tile, const Address& address) {
  const GlaLayerGradients own = gradient_params(problem, address);
  ParamBytes bytes(sizeof own);
  std::memcpy(bytes.data(), &own, sizeof own);
  for (const Inner& inner : inners_of(BackendId::host, problem, tile)) {
    const ParamBytes behind = inner_params(inner, address);
    bytes.insert(bytes.end(), behind.begin(), behind.end());
  }
  return bytes;
}

}  // namespace

Variant host_gradient_variant(Direction direction) {
  const bool trains = direction == Direction::training;
  Variant v = gradient_description(BackendId::host, direction);
  v.space = inner_axes(direction);
  v.sources = inner_sources(BackendId::host, direction);
  for (const char* source :
       {"gla_layer/backward/host.cpp", "gla_layer/backward/family.cpp", "gla_layer/host_layer.cpp",
        "gla_layer/family.cpp", "gla_layer/inner.cpp"})
    v.sources.push_back(source);
  v.arithmetic = [](const Problem& problem, const Tile&) { return product_arithmetic(problem, 3); };
  v.reject = [direction](const Problem& problem, const Tile& tile, const Limits& limits) {
    return reject(direction, problem, tile, limits);
  };
  v.bind = bind;
  v.code = [trains](const HostCall& call) {
    const LayerGradients layer(call);
    trains ? layer.training() : layer.backward();
  };
  return v;
}

}  // namespace gla_bench::gla_layer
