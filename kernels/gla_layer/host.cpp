// The layer on the host. Products go through OpenBLAS in float32. gla runs as any of its host
// variants. The functions between them are loops over rows. Tensors between the stages are stored
// in the problem's dtype, as on a GPU.

#include <algorithm>
#include <cstring>

#include "kernels/gla_layer/host_layer.hpp"
#include "kernels/gla_layer/inner.hpp"
#include "kernels/gla_layer/variants.hpp"
#include "kernels/refusal.hpp"

namespace gla_bench::gla_layer {
namespace {

GlaLayerParams params_of(const HostCall& call) {
  GlaLayerParams params{};
  std::memcpy(&params, call.params.data(), sizeof params);
  return params;
}

// One call of the forward.
class Layer : HostLayer {
 public:
  Layer(const HostCall& call, Form form)
      : HostLayer(call.problem, params_of(call)), call_(call), form_(form) {}

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
  void gate_row(std::int64_t row, float* z) const {
    std::copy_n(p_.gate_sums + row * n_.keys, n_.keys, z);
    finish_gates(row, z);
  }

  // Runs gla with its own parameters, which are stored after the layer's.
  void recurrence() const {
    const Inner inner = inner_of(BackendId::host, call_.problem, call_.tile).value();
    const ParamBytes params(call_.params.begin() + sizeof p_, call_.params.end());
    const auto& run = std::get<std::function<void(const HostCall&)>>(inner.variant->code);
    run({inner.problem, inner.tile, params});
  }

  void output_gate_row(std::int64_t row, float* x) const {
    const std::int64_t at = row * n_.values;
    read(dtype_, p_.r, at, n_.values, x);
    for (std::int64_t i = 0; i < n_.values; ++i)
      p_.swish[at + i] = swish(x[i] + element(p_.b_r, i));
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

  const HostCall& call_;
  Form form_;
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
  for (const char* source : {"gla_layer/host.cpp", "gla_layer/host_layer.cpp",
                             "gla_layer/family.cpp", "gla_layer/inner.cpp"})
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
