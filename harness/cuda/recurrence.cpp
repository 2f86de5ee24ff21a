#include "harness/cuda/recurrence.hpp"

#include <algorithm>

#include "harness/cuda/check.hpp"
#include "harness/error.hpp"
#include "harness/staging.hpp"

namespace gla_bench::cuda {
namespace {

constexpr const char* source = "reference/linear_recurrence.cuh";
constexpr unsigned columns = 32;  // reference::columns

// Twin of reference::Params.
template <class Real>
struct Params {
  const float *q, *k, *v, *g, *initial_state;
  Real *o, *final_state;
  long long seq, heads;
  int value_dim;
  double scale;
};

int kept_mantissa(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::float32:
      return 23;
    case Arithmetic::tf32:
    case Arithmetic::float16:
      return 10;
    case Arithmetic::bfloat16:
      return 7;
  }
  return 23;
}

KernelLaunch launch_of(const Shape& s, std::int64_t batch) {
  const auto slices = static_cast<unsigned>((s.key_dim + 31) / 32);
  return {"linear_recurrence",
          {static_cast<unsigned>(batch * s.heads),
           static_cast<unsigned>((s.value_dim + columns - 1) / columns), 1},
          {columns * slices, 1, 1},
          0};
}

// One tensor's part for some batch rows, on the device.
struct Part {
  std::size_t per_batch = 0;  // elements
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
    double bytes_per_batch = 1;
    for (const TensorSpec& spec : op.tensors(problem))
      bytes_per_batch += static_cast<double>(spec.elements() / s.batch) * element_bytes(spec);
    const auto most = static_cast<std::int64_t>(memory_bytes / bytes_per_batch);
    step_ = std::clamp<std::int64_t>(most, 1, s.batch);
    kernel_ = bind_kernel(library, launch_of(s, step_), sizeof(Params<Real>));
    for (const TensorSpec& spec : op.tensors(problem)) {
      const auto per_batch = static_cast<std::size_t>(spec.elements() / s.batch);
      const std::size_t bytes = per_batch * static_cast<std::size_t>(step_) *
                                static_cast<std::size_t>(element_bytes(spec));
      parts_[spec.name] = {per_batch, DeviceMemory(bytes, "the recurrence's '" + spec.name + "'")};
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

  template <class T>
  T* find(const char* name) const {
    const auto part = parts_.find(name);
    return part == parts_.end() ? nullptr : part->second.memory.template as<T>();
  }

  void run_part(std::size_t first, std::size_t count) {
    for (const auto& [name, part] : parts_)
      if (const auto input = inputs_.find(name); !outputs_.contains(name)) {
        if (input == inputs_.end()) throw InputError("no values for input '" + name + "'");
        copy(part.memory.data(), input->second.data() + first * part.per_batch,
             count * part.per_batch * sizeof(float), cudaMemcpyHostToDevice);
      }
    const Params<Real> params{find<float>("q"),
                              find<float>("k"),
                              find<float>("v"),
                              find<float>("g"),
                              find<float>("initial_state"),
                              find<Real>("o"),
                              find<Real>("final_state"),
                              problem_.shape.seq,
                              problem_.shape.heads,
                              static_cast<int>(problem_.shape.value_dim),
                              scale_of(op_, problem_)};
    kernel_.grid = launch_of(problem_.shape, static_cast<std::int64_t>(count)).grid;
    launch(kernel_, &params, device_.stream());
    for (auto& [name, values] : outputs_) {
      const Part& part = parts_.at(name);
      copy(values.data() + first * part.per_batch, part.memory.data(),
           count * part.per_batch * sizeof(Real), cudaMemcpyDeviceToHost);
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

std::string recurrence_text(std::int64_t key_dim, std::optional<Arithmetic> arithmetic) {
  const int mantissa = arithmetic ? kept_mantissa(*arithmetic) : 52;
  return std::string("using real_t = ") + (arithmetic ? "float" : "double") +
         ";\nnamespace dim { constexpr int key_dim = " + std::to_string(key_dim) +
         "; }\nnamespace rounding { constexpr int mantissa = " + std::to_string(mantissa) +
         "; }\n#include \"" + source + "\"\n";
}

bool has_recurrence(const Operator& op, const Problem& problem) {
  return op.name == "gla" && problem.direction == Direction::forward;
}

template <class Real>
std::map<std::string, std::vector<Real>> Recurrence::walk(const Operator& op,
                                                          const Problem& problem,
                                                          const HostTensors& inputs,
                                                          std::optional<Arithmetic> arithmetic) {
  const Library library(
      compiler_.get(recurrence_text(problem.shape.key_dim, arithmetic), source, device_.arch()));
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
  std::vector<std::byte> stored;
  for (const TensorSpec& spec : op.tensors(problem)) {
    if (spec.role != TensorSpec::Role::output || spec.dtype == DType::float32) continue;
    stored.resize(static_cast<std::size_t>(spec.bytes()));
    encode(spec.dtype, outputs.at(spec.name), stored);
    decode(spec.dtype, stored, outputs.at(spec.name));
  }
  return outputs;
}

}  // namespace gla_bench::cuda
