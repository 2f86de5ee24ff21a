#include "harness/backends/cuda/reference/reference_runner.hpp"

#include <algorithm>
#include <cstddef>

#include "core/error.hpp"
#include "harness/backends/batch_rows.hpp"
#include "harness/backends/cuda/device/check.hpp"
#include "harness/backends/sources/prologue.hpp"

namespace gla_bench::cuda {
namespace {

template <class Real>
using Outputs = std::map<std::string, std::vector<Real>>;

bool is_input(const TensorSpec& spec) {
  return spec.role == TensorSpec::Role::input;
}

template <class Real>
Outputs<Real> empty_outputs(const Operator& op, const Problem& problem) {
  Outputs<Real> outputs;
  for (const TensorSpec& spec : op.tensors(problem))
    if (!is_input(spec)) outputs[spec.name].resize(static_cast<std::size_t>(spec.elements()));
  return outputs;
}

// The device memory and the launches of one problem.
template <class Real>
class Computation {
 public:
  Computation(Device& device, Compiler& compiler, const Operator& op, const Problem& problem,
              const HostTensors& inputs, std::optional<Arithmetic> arithmetic)
      : device_(device),
        reference_(*op.device_reference),
        problem_(problem),
        inputs_(inputs),
        arithmetic_(arithmetic),
        recipe_(*reference_.recipe(problem, arithmetic)),
        library_(code_of(compiler)),
        outputs_(empty_outputs<Real>(op, problem)) {
    for (const TensorSpec& spec : op.tensors(problem))
      if (is_input(spec)) upload(spec.name, input(spec.name));
    for (const auto& [name, values] : outputs_)
      if (!made_on_host(name)) reserve(name, values.size() * sizeof(Real));
    prepare_workspace();
  }

  Outputs<Real> run() {
    const ParamBytes params =
        recipe_.bind([&](std::string_view name) { return find(std::string(name)); });
    for (const KernelLaunch& step : recipe_.launches)
      launch(bind_kernel(library_, step, params.size()), params.data(), device_.stream());
    for (auto& [name, values] : outputs_)
      if (!made_on_host(name)) download(name, std::as_writable_bytes(std::span(values)));
    if (!recipe_.host_outputs.empty()) finish();
    return std::move(outputs_);
  }

 private:
  CodePtr code_of(Compiler& compiler) const {
    const Unit unit = unit_of(recipe_, arithmetic_);
    return compiler.get(unit.text, unit.source, device_.arch());
  }

  const std::vector<float>& input(const std::string& name) const {
    const auto found = inputs_.find(name);
    if (found == inputs_.end()) throw InputError("no values for input '" + name + "'");
    return found->second;
  }

  bool made_on_host(const std::string& name) const {
    const auto& list = recipe_.host_outputs;
    return std::find(list.begin(), list.end(), name) != list.end();
  }

  void prepare_workspace() {
    RegionBytes first;
    if (reference_.prepare) first = reference_.prepare(problem_, inputs_, arithmetic_);
    for (const Region& region : recipe_.workspace) {
      if (const auto given = first.find(region.name); given != first.end()) {
        given->second.resize(region.bytes);
        upload(region.name, given->second);
        continue;
      }
      check(cudaMemsetAsync(reserve(region.name, region.bytes), 0, region.bytes, device_.stream()),
            "cudaMemsetAsync");
    }
  }

  void finish() {
    RegionBytes last;
    for (const Region& region : recipe_.workspace) {
      last[region.name].resize(region.bytes);
      download(region.name, last[region.name]);
    }
    const RegionBytes made = reference_.finish(problem_, inputs_, last, arithmetic_);
    for (const std::string& name : recipe_.host_outputs) {
      const std::vector<std::byte>& bytes = made.at(name);
      const auto values = std::as_writable_bytes(std::span(outputs_.at(name)));
      if (bytes.size() != values.size())
        throw RunError("the device reference made " + std::to_string(bytes.size()) +
                       " bytes of output '" + name + "', which has " +
                       std::to_string(values.size()));
      std::copy(bytes.begin(), bytes.end(), values.begin());
    }
  }

  void* find(const std::string& name) const {
    const auto known = memory_.find(name);
    return known == memory_.end() ? nullptr : known->second.data();
  }

  void* reserve(const std::string& name, std::size_t bytes) {
    DeviceMemory& memory = memory_[name] = DeviceMemory(bytes, "the reference's '" + name + "'");
    return memory.data();
  }

  template <class T>
  void upload(const std::string& name, const std::vector<T>& values) {
    const std::size_t bytes = values.size() * sizeof(T);
    copy(reserve(name, bytes), values.data(), bytes, cudaMemcpyHostToDevice);
  }

  void download(const std::string& name, std::span<std::byte> to) {
    copy(to.data(), find(name), to.size(), cudaMemcpyDeviceToHost);
  }

  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0) return;
    check(cudaMemcpyAsync(to, from, bytes, kind, device_.stream()), "cudaMemcpyAsync");
    device_.synchronize();
  }

  Device& device_;
  const DeviceReference& reference_;
  const Problem& problem_;
  const HostTensors& inputs_;
  std::optional<Arithmetic> arithmetic_;
  ReferenceRecipe recipe_;
  Library library_;
  Outputs<Real> outputs_;
  std::map<std::string, DeviceMemory> memory_;
};

// The number of batch rows whose tensors take at most this many bytes, but at least one row.
template <class Real>
std::int64_t rows_at_once(const Operator& op, const Problem& problem,
                          const ReferenceMemory& memory) {
  if (!op.device_reference->splits_batch(problem)) return problem.shape.batch;
  const std::map<std::string, std::int64_t> per_row = elements_per_row(op, problem);
  double bytes = 1;
  for (const TensorSpec& spec : op.tensors(problem)) {
    const std::int64_t row = per_row.at(spec.name);
    bytes += static_cast<double>(row > 0 ? row : spec.elements()) *
             (is_input(spec) ? sizeof(float) : sizeof(Real));
  }
  const auto most = static_cast<std::int64_t>(memory.part / bytes);
  return std::clamp<std::int64_t>(most, 1, problem.shape.batch);
}

template <class Real>
Outputs<Real> compute(Device& device, Compiler& compiler, const Operator& op,
                      const Problem& problem, const HostTensors& inputs,
                      std::optional<Arithmetic> arithmetic, const ReferenceMemory& memory) {
  const std::int64_t step = rows_at_once<Real>(op, problem, memory), batch = problem.shape.batch;
  if (step == batch)
    return Computation<Real>(device, compiler, op, problem, inputs, arithmetic).run();
  const std::map<std::string, std::int64_t> per_row = elements_per_row(op, problem);
  Outputs<Real> outputs = empty_outputs<Real>(op, problem);
  for (std::int64_t first = 0; first < batch; first += step) {
    const BatchRows rows{first, std::min(step, batch - first)};
    const Problem part = with_batch(problem, rows.count);
    const HostTensors part_inputs = rows_of(op, problem, inputs, rows);
    put_rows(per_row, rows,
             Computation<Real>(device, compiler, op, part, part_inputs, arithmetic).run(), outputs);
  }
  return outputs;
}

}  // namespace

bool has_device_reference(const Operator& op, const Problem& problem,
                          std::optional<Arithmetic> arithmetic, const ReferenceMemory& memory) {
  if (!op.device_reference) return false;
  const auto recipe = op.device_reference->recipe(problem, arithmetic);
  if (!recipe) return false;
  if (op.device_reference->splits_batch(problem)) return true;
  double bytes = 0;
  for (const Region& region : recipe->workspace) bytes += static_cast<double>(region.bytes);
  for (const TensorSpec& spec : op.tensors(problem))
    bytes += static_cast<double>(spec.elements()) * sizeof(double);
  return bytes <= memory.whole;
}

ReferenceTensors ReferenceRunner::reference(const Operator& op, const Problem& problem,
                                            const HostTensors& inputs) {
  return compute<double>(device_, compiler_, op, problem, inputs, std::nullopt, memory_);
}

HostTensors ReferenceRunner::baseline(const Operator& op, const Problem& problem,
                                      const HostTensors& inputs, Arithmetic arithmetic) {
  return compute<float>(device_, compiler_, op, problem, inputs, arithmetic, memory_);
}

}  // namespace gla_bench::cuda
