#include "harness/backends/cuda/reference/recurrence.hpp"

#include <algorithm>
#include <cstdio>

#include "core/error.hpp"
#include "core/rounding.hpp"
#include "harness/backends/cuda/device/check.hpp"
#include "harness/tensors/staging.hpp"
#include "reference/linear_recurrence_traits.hpp"

namespace gla_bench::cuda {
namespace {

constexpr const char* source = "reference/linear_recurrence.cuh";
constexpr unsigned columns = 32;  // reference::columns

// Twin of reference::Params.
template <class Real>
struct Params {
  const float *q, *k, *v, *gate, *bonus, *boundaries, *initial_state, *initial_normalizer;
  Real *o, *final_state, *final_normalizer;
  long long seq, heads;
  int value_dim;
  double scale;
};

const recurrence::Traits* traits_of(const Operator& op) {
  for (const recurrence::Traits& traits : recurrence::family())
    if (traits.name == op.name) return &traits;
  return nullptr;
}

// The blocks for `batch` rows of the batch, or for all ragged sequences.
KernelLaunch launch_of(const Shape& s, std::int64_t batch) {
  const std::int64_t sequences = s.sequences > 0 ? s.sequences : batch;
  const auto slices = static_cast<unsigned>((s.key_dim + 31) / 32);
  return {"linear_recurrence",
          {static_cast<unsigned>(sequences * s.heads),
           static_cast<unsigned>((s.value_dim + columns - 1) / columns), 1},
          {columns * slices, 1, 1},
          0};
}

// Whether a tensor's first axis is the batch; the others are small and the same for all of it.
bool has_batch_axis(const TensorSpec& spec) {
  return spec.tokens || spec.extents.size() >= 3;
}

// One tensor's part for some batch rows, on the device.
struct Part {
  bool whole = false;       // the same for every batch row
  std::size_t per_row = 0;  // elements of a batch row, or of the whole tensor
  DeviceMemory memory;
};

// Runs the kernel over parts of the batch. `outputs` have their sizes.
template <class Real>
class Walk {
 public:
  Walk(Device& device, const Library& library, const Operator& op, const Problem& problem,
       const HostTensors& inputs, double memory_bytes,
       std::map<std::string, std::vector<Real>>& outputs)
      : device_(device), op_(op), problem_(problem), inputs_(inputs), outputs_(outputs) {
    const Shape& s = problem.shape;
    double bytes_per_row = 1;
    for (const TensorSpec& spec : op.tensors(problem))
      bytes_per_row += static_cast<double>(elements_per_row(spec)) * element_bytes(spec);
    const auto most = static_cast<std::int64_t>(memory_bytes / bytes_per_row);
    step_ = std::clamp<std::int64_t>(most, 1, s.batch);
    kernel_ = bind_kernel(library, launch_of(s, step_), sizeof(Params<Real>));
    for (const TensorSpec& spec : op.tensors(problem)) {
      const bool whole = !has_batch_axis(spec);
      const auto per_row = static_cast<std::size_t>(elements_per_row(spec));
      const std::size_t bytes = per_row * static_cast<std::size_t>(whole ? 1 : step_) *
                                static_cast<std::size_t>(element_bytes(spec));
      parts_[spec.name] = {whole, per_row,
                           DeviceMemory(bytes, "the recurrence's '" + spec.name + "'")};
    }
  }

  void run() {
    for (std::int64_t first = 0; first < problem_.shape.batch; first += step_)
      run_part(static_cast<std::size_t>(first),
               static_cast<std::size_t>(std::min(step_, problem_.shape.batch - first)));
  }

 private:
  static double element_bytes(const TensorSpec& spec) {
    return spec.role == TensorSpec::Role::input ? sizeof(float) : sizeof(Real);
  }

  std::int64_t elements_per_row(const TensorSpec& spec) const {
    return has_batch_axis(spec) ? spec.elements() / problem_.shape.batch : spec.elements();
  }

  template <class T>
  T* find(std::string_view name) const {
    const auto part = parts_.find(std::string(name));
    return part == parts_.end() ? nullptr : part->second.memory.template as<T>();
  }

  void run_part(std::size_t first, std::size_t count) {
    for (const auto& [name, part] : parts_)
      if (const auto input = inputs_.find(name); !outputs_.contains(name)) {
        if (input == inputs_.end()) throw InputError("no values for input '" + name + "'");
        copy(part.memory.data(), input->second.data() + (part.whole ? 0 : first * part.per_row),
             (part.whole ? 1 : count) * part.per_row * sizeof(float), cudaMemcpyHostToDevice);
      }
    const Params<Real> params{find<float>("q"),
                              find<float>("k"),
                              find<float>("v"),
                              find<float>(traits_of(op_)->gate),
                              find<float>("u"),
                              find<float>("cu_seqlens"),
                              find<float>("initial_state"),
                              find<float>("initial_normalizer"),
                              find<Real>("o"),
                              find<Real>("final_state"),
                              find<Real>("final_normalizer"),
                              problem_.shape.seq,
                              problem_.shape.heads,
                              static_cast<int>(problem_.shape.value_dim),
                              scale_of(op_, problem_)};
    kernel_.grid = launch_of(problem_.shape, static_cast<std::int64_t>(count)).grid;
    launch(kernel_, &params, device_.stream());
    for (auto& [name, values] : outputs_) {
      const Part& part = parts_.at(name);
      copy(values.data() + first * part.per_row, part.memory.data(),
           count * part.per_row * sizeof(Real), cudaMemcpyDeviceToHost);
    }
  }

  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    check(cudaMemcpyAsync(to, from, bytes, kind, device_.stream()), "cudaMemcpyAsync");
    device_.synchronize();
  }

  Device& device_;
  const Operator& op_;
  const Problem& problem_;
  const HostTensors& inputs_;
  std::map<std::string, std::vector<Real>>& outputs_;
  std::map<std::string, Part> parts_;
  BoundKernel kernel_;
  std::int64_t step_ = 1;
};

}  // namespace

std::string recurrence_text(const Operator& op, const Problem& problem,
                            std::optional<Arithmetic> arithmetic) {
  const recurrence::Traits& traits = *traits_of(op);
  const auto chosen = [&](bool has, const char* name, const char* value) {
    return has && option(op, problem, name) == value;
  };
  std::string text = arithmetic ? "using real_t = float;\n" : "using real_t = double;\n";
  const auto constant = [&](const char* scope, const char* name, int value) {
    text += std::string("namespace ") + scope + " { constexpr int " + name + " = " +
            std::to_string(value) + "; }\n";
  };
  constant("dim", "key_dim", static_cast<int>(problem.shape.key_dim));
  constant("rounding", "mantissa", arithmetic ? kept_mantissa(*arithmetic) : 52);
  constant("trait", "decay", static_cast<int>(traits.decay));
  constant("trait", "before_update", traits.before_update);
  constant("trait", "elu_features", chosen(traits.features, "feature_map", "elu_plus_one"));
  constant("trait", "normalize", chosen(traits.features, "normalize", "true"));
  constant("trait", "raw_gates", chosen(traits.raw_gates, "gate_input", "raw"));
  constant("trait", "ragged", problem.shape.sequences > 0);
  char epsilon[32];
  std::snprintf(epsilon, sizeof epsilon, "%.17g", recurrence::normalizer_epsilon);
  return text + "namespace normalizer { constexpr double epsilon = " + epsilon +
         "; }\n#include \"" + source + "\"\n";
}

bool has_recurrence(const Operator& op, const Problem& problem) {
  return traits_of(op) != nullptr && problem.direction == Direction::forward;
}

template <class Real>
std::map<std::string, std::vector<Real>> Recurrence::walk(const Operator& op,
                                                          const Problem& problem,
                                                          const HostTensors& inputs,
                                                          std::optional<Arithmetic> arithmetic) {
  const Library library(
      compiler_.get(recurrence_text(op, problem, arithmetic), source, device_.arch()));
  std::map<std::string, std::vector<Real>> outputs;
  for (const TensorSpec& spec : op.tensors(problem))
    if (spec.role == TensorSpec::Role::output)
      outputs[spec.name].resize(static_cast<std::size_t>(spec.elements()));
  Walk<Real>(device_, library, op, problem, inputs, memory_bytes_, outputs).run();
  return outputs;
}

ReferenceTensors Recurrence::reference(const Operator& op, const Problem& problem,
                                       const HostTensors& inputs) {
  return walk<double>(op, problem, inputs, std::nullopt);
}

HostTensors Recurrence::baseline(const Operator& op, const Problem& problem,
                                 const HostTensors& inputs, Arithmetic arithmetic) {
  HostTensors outputs = walk<float>(op, problem, inputs, arithmetic);
  round_outputs(op, problem, outputs);
  return outputs;
}

}  // namespace gla_bench::cuda
