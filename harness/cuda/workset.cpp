#include "harness/cuda/workset.hpp"

#include <algorithm>

#include "harness/cuda/check.hpp"
#include "harness/error.hpp"
#include "harness/other_inputs.hpp"
#include "harness/staging.hpp"

namespace gla_bench::cuda {
namespace {

std::vector<Region> regions_of(const std::vector<TensorSpec>& specs) {
  std::vector<Region> regions;
  for (const TensorSpec& spec : specs)
    if (spec.in_place_of.empty())
      regions.push_back({spec.name, static_cast<std::size_t>(spec.bytes())});
  return regions;
}

bool is_input(const TensorSpec& spec) {
  return spec.role == TensorSpec::Role::input;
}

}  // namespace

CudaWorkset::CudaWorkset(Device& device, const Operator& op, const Problem& problem,
                         const HostTensors& inputs)
    : device_(device),
      layout_(problem.layout),
      specs_(op.tensors(problem)),
      buffers_(device.helpers(), device.stream(), regions_of(specs_)),
      sums_(specs_.size() * sizeof(unsigned long long), "checksums") {
  check_in_place(specs_);
  for (const TensorSpec& spec : specs_) {
    if (!is_input(spec)) continue;
    const auto values = inputs.find(spec.name);
    if (values == inputs.end())
      throw InputError(describe(problem) + ": no values for input '" + spec.name + "'");
    upload(spec, values->second);
    if (is_negatable(spec, values->second)) negatable_.push_back(spec);
  }
  for (const TensorSpec& spec : specs_)
    if (!spec.in_place_of.empty()) keep_original(spec);
  poison_outputs();
  staged_sums_ = input_checksums();
}

void CudaWorkset::upload(const TensorSpec& spec, const std::vector<float>& values) {
  std::vector<std::byte> stored(static_cast<std::size_t>(spec.bytes()));
  pack(spec, layout_, values, stored);
  check(cudaMemcpyAsync(find(spec.name), stored.data(), stored.size(), cudaMemcpyHostToDevice,
                        device_.stream()),
        "cudaMemcpyAsync to the device");
  device_.synchronize();
}

void CudaWorkset::keep_original(const TensorSpec& output) {
  const auto bytes = static_cast<std::size_t>(output.bytes());
  originals_.push_back({output.in_place_of, bytes,
                        DeviceMemory(bytes, "the original of '" + output.in_place_of + "'")});
  check(cudaMemcpyAsync(originals_.back().memory.data(), find(output.name), bytes,
                        cudaMemcpyDeviceToDevice, device_.stream()),
        "cudaMemcpyAsync on the device");
}

std::byte* CudaWorkset::find(std::string_view name) const {
  for (const TensorSpec& spec : specs_)
    if (spec.name == name) return buffers_.find(memory_name(spec));
  return nullptr;
}

bool CudaWorkset::is_constant(const TensorSpec& spec) const {
  return is_input(spec) &&
         std::none_of(originals_.begin(), originals_.end(),
                      [&](const Original& original) { return original.name == spec.name; });
}

void CudaWorkset::restore_updated() const {
  for (const Original& original : originals_)
    check(cudaMemcpyAsync(find(original.name), original.memory.data(), original.bytes,
                          cudaMemcpyDeviceToDevice, device_.stream()),
          "cudaMemcpyAsync on the device");
}

void CudaWorkset::poison_outputs() {
  for (const TensorSpec& spec : specs_)
    if (!is_input(spec) && spec.in_place_of.empty()) buffers_.poison(spec.name);
  restore_updated();
}

HostTensors CudaWorkset::download_outputs() {
  HostTensors outputs;
  std::vector<std::byte> stored;
  for (const TensorSpec& spec : specs_) {
    if (is_input(spec)) continue;
    stored.resize(static_cast<std::size_t>(spec.bytes()));
    check(cudaMemcpyAsync(stored.data(), find(spec.name), stored.size(), cudaMemcpyDeviceToHost,
                          device_.stream()),
          "cudaMemcpyAsync from the device");
    device_.synchronize();
    std::vector<float>& values = outputs[spec.name];
    values.resize(static_cast<std::size_t>(spec.elements()));
    unpack(spec, layout_, stored, values);
  }
  return outputs;
}

std::vector<unsigned long long> CudaWorkset::input_checksums() const {
  std::vector<unsigned long long> sums(specs_.size());
  const std::size_t bytes = sums.size() * sizeof(unsigned long long);
  auto* on_device = sums_.as<unsigned long long>();
  check(cudaMemsetAsync(on_device, 0, bytes, device_.stream()), "cudaMemsetAsync");
  for (std::size_t i = 0; i < specs_.size(); ++i)
    if (is_constant(specs_[i]))
      device_.helpers().checksum(find(specs_[i].name), static_cast<std::size_t>(specs_[i].bytes()),
                                 on_device + i, device_.stream());
  check(cudaMemcpyAsync(sums.data(), on_device, bytes, cudaMemcpyDeviceToHost, device_.stream()),
        "cudaMemcpyAsync from the device");
  device_.synchronize();
  return sums;
}

std::optional<std::string> CudaWorkset::damage() {
  if (auto text = buffers_.damage()) return text;
  const std::vector<unsigned long long> sums = input_checksums();
  for (std::size_t i = 0; i < specs_.size(); ++i)
    if (sums[i] != staged_sums_[i]) return "input '" + specs_[i].name + "' changed";
  return std::nullopt;
}

bool CudaWorkset::negate_inputs() {
  for (const TensorSpec& spec : negatable_) {
    const auto original =
        std::find_if(originals_.begin(), originals_.end(),
                     [&](const Original& each) { return each.name == spec.name; });
    void* data = original == originals_.end() ? find(spec.name) : original->memory.data();
    device_.helpers().flip_signs(data, static_cast<std::size_t>(spec.bytes()), spec.dtype,
                                 device_.stream());
  }
  restore_updated();
  return !negatable_.empty();
}

}  // namespace gla_bench::cuda
