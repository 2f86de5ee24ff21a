#include "harness/backends/cuda/reference/attention.hpp"

#include "core/rounding.hpp"
#include "harness/backends/cuda/device/check.hpp"
#include "harness/tensors/staging.hpp"
#include "reference/attention_blocked.hpp"

namespace gla_bench::cuda {
namespace {

using attention::DecaySums;
using attention::View;

constexpr const char* source = "reference/attention.cuh";
constexpr std::int64_t rows = 64, width = 128;  // reference::rows, reference::width

// Twin of reference::Params.
template <class Real>
struct Params {
  const float *q, *k, *v, *d_o, *given_lse;
  const Real* d;
  const double* decays;
  const int* resets;
  Real *o, *lse, *dq, *dk, *dv, *row_sums, *column_sums, *distances;
  long long seq, key_seq, heads, key_heads;
  int key_dim, value_dim;
  int causal;
  double scale;
};

std::int64_t blocks(std::int64_t extent, std::int64_t size) {
  return (extent + size - 1) / size;
}

// One call's memory on the device and its launches.
template <class Real>
class Computation {
 public:
  Computation(Device& device, const Library& library, const Operator& op, const Problem& problem,
              const HostTensors& inputs)
      : device_(device), library_(library), view_(op, problem, inputs), sums_(view_) {
    for (const TensorSpec& spec : op.tensors(problem)) {
      if (spec.role == TensorSpec::Role::input)
        upload(spec.name, inputs.at(spec.name));
      else
        outputs_[spec.name].resize(static_cast<std::size_t>(spec.elements()));
    }
    upload_decays();
  }

  std::map<std::string, std::vector<Real>> forward() {
    Params<Real> p = params();
    p.o = reserve("o");
    if (view_.lse) p.lse = reserve("lse");
    launch_rows("attention_forward", p, view_.seq, view_.pairs(), blocks(view_.values, width));
    return download();
  }

  std::map<std::string, std::vector<Real>> backward() {
    upload("d", attention::row_terms<Real>(view_));
    Params<Real> p = params();
    p.d = find<Real>("d");
    p.dq = reserve("dq");
    p.dk = reserve("dk");
    p.dv = reserve("dv");
    if (view_.log_decay != nullptr) {
      p.row_sums = upload("row sums", sums_.rows);
      p.column_sums = upload("column sums", sums_.columns);
      p.distances = upload("distances", sums_.distances);
    }
    launch_rows("attention_backward_queries", p, view_.seq, view_.pairs(),
                blocks(view_.keys, width));
    launch_rows("attention_backward_keys", p, view_.key_seq, view_.batch * view_.key_heads,
                blocks(view_.keys, width) + blocks(view_.values, width));
    if (view_.log_decay != nullptr) {
      fetch("row sums", sums_.rows);
      fetch("column sums", sums_.columns);
      fetch("distances", sums_.distances);
      outputs_["dlog_decay"] = attention::decay_gradients(view_, sums_);
    }
    return download();
  }

 private:
  template <class T>
  T* find(const char* name) const {
    const auto known = memory_.find(name);
    return known == memory_.end() ? nullptr : known->second.template as<T>();
  }

  template <class T>
  T* upload(const std::string& name, const std::vector<T>& values) {
    DeviceMemory& memory = memory_[name] =
        DeviceMemory(values.size() * sizeof(T), "the reference's '" + name + "'");
    copy(memory.data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
    return memory.as<T>();
  }

  Real* reserve(const std::string& name) {
    DeviceMemory& memory = memory_[name] =
        DeviceMemory(outputs_.at(name).size() * sizeof(Real), "the reference's '" + name + "'");
    return memory.as<Real>();
  }

  template <class T>
  void fetch(const std::string& name, std::vector<T>& values) {
    copy(values.data(), memory_.at(name).data(), values.size() * sizeof(T), cudaMemcpyDeviceToHost);
  }

  std::map<std::string, std::vector<Real>> download() {
    for (auto& [name, values] : outputs_)
      if (memory_.contains(name)) fetch(name, values);
    return std::move(outputs_);
  }

  void upload_decays() {
    if (view_.log_decay == nullptr) return;
    std::vector<double> sums;
    std::vector<std::int32_t> resets;
    for (std::int64_t pair = 0; pair < view_.pairs(); ++pair) {
      const attention::Decays decays = view_.decays(pair / view_.heads, pair % view_.heads);
      sums.insert(sums.end(), decays.sums.begin(), decays.sums.end());
      resets.insert(resets.end(), decays.resets.begin(), decays.resets.end());
    }
    upload("decays", sums);
    upload("resets", resets);
  }

  // Inputs, extents and scale; outputs are null.
  Params<Real> params() const {
    Params<Real> p{};
    p.q = find<float>("q");
    p.k = find<float>("k");
    p.v = find<float>("v");
    p.d_o = find<float>("do");
    p.given_lse = find<float>("lse");
    p.decays = find<double>("decays");
    p.resets = find<int>("resets");
    p.seq = view_.seq;
    p.key_seq = view_.key_seq;
    p.heads = view_.heads;
    p.key_heads = view_.key_heads;
    p.key_dim = static_cast<int>(view_.keys);
    p.value_dim = static_cast<int>(view_.values);
    p.causal = view_.causal ? 1 : 0;
    p.scale = view_.scale;
    return p;
  }

  void launch_rows(const char* entry, const Params<Real>& p, std::int64_t length,
                   std::int64_t pairs, std::int64_t columns) {
    const KernelLaunch at{
        entry,
        {static_cast<unsigned>(blocks(length, rows) * pairs), static_cast<unsigned>(columns), 1},
        {256, 1, 1},
        0};
    launch(bind_kernel(library_, at, sizeof p), &p, device_.stream());
  }

  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0) return;
    check(cudaMemcpyAsync(to, from, bytes, kind, device_.stream()), "cudaMemcpyAsync");
    device_.synchronize();
  }

  Device& device_;
  const Library& library_;
  View view_;
  DecaySums<Real> sums_;
  std::map<std::string, std::vector<Real>> outputs_;
  std::map<std::string, DeviceMemory> memory_;
};

}  // namespace

std::string attention_text(std::optional<Arithmetic> arithmetic) {
  const int mantissa = arithmetic ? kept_mantissa(*arithmetic) : 52;
  return std::string("using real_t = ") + (arithmetic ? "float" : "double") +
         ";\nnamespace rounding { constexpr int mantissa = " + std::to_string(mantissa) +
         "; }\n#include \"" + source + "\"\n";
}

bool has_attention(const Operator& op, const Problem& problem, double memory_bytes) {
  if (op.name != "attention" && op.name != "decay_attention") return false;
  double bytes = 0;
  for (const TensorSpec& spec : op.tensors(problem))
    bytes += static_cast<double>(spec.elements()) * 8;
  const double row_blocks =
      static_cast<double>(blocks(std::max(problem.shape.seq, problem.shape.keys_seq()), rows) *
                          problem.shape.batch * problem.shape.heads);
  return bytes <= memory_bytes && row_blocks <= 2147483647.0;
}

template <class Real>
std::map<std::string, std::vector<Real>> AttentionReference::compute(
    const Operator& op, const Problem& problem, const HostTensors& inputs,
    std::optional<Arithmetic> arithmetic) {
  const Library library(compiler_.get(attention_text(arithmetic), source, device_.arch()));
  Computation<Real> computation(device_, library, op, problem, inputs);
  return problem.direction == Direction::backward ? computation.backward() : computation.forward();
}

ReferenceTensors AttentionReference::reference(const Operator& op, const Problem& problem,
                                               const HostTensors& inputs) {
  return compute<double>(op, problem, inputs, std::nullopt);
}

HostTensors AttentionReference::baseline(const Operator& op, const Problem& problem,
                                         const HostTensors& inputs, Arithmetic arithmetic) {
  HostTensors outputs = compute<float>(op, problem, inputs, arithmetic);
  round_outputs(op, problem, outputs);
  return outputs;
}

}  // namespace gla_bench::cuda
