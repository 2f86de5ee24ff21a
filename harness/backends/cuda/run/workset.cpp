#include "harness/backends/cuda/run/workset.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "harness/backends/cuda/device/check.hpp"
#include "harness/backends/cuda/run/comparison.hpp"
#include "harness/backends/other_inputs.hpp"
#include "harness/tensors/staging.hpp"

namespace gla_bench::cuda {
namespace {

std::vector<Region> regions_of(const std::vector<TensorSpec>& specs) {
  std::vector<Region> regions;
  for (const TensorSpec& spec : specs)
    if (spec.in_place_of.empty())
      regions.push_back({spec.name, static_cast<std::size_t>(spec.memory_bytes())});
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
      signed_(signed_inputs(op, problem)),
      buffers_(device.helpers(), device.stream(), regions_of(specs_)),
      sums_(specs_.size() * sizeof(unsigned long long), "checksums") {
  check_in_place(specs_);
  for (const TensorSpec& spec : specs_) {
    if (!is_input(spec)) continue;
    const auto values = inputs.find(spec.name);
    if (values == inputs.end())
      throw InputError(describe(problem) + ": no values for input '" + spec.name + "'");
    upload(spec, values->second);
  }
  for (const TensorSpec& spec : specs_)
    if (!spec.in_place_of.empty()) keep_original(spec);
  poison_outputs();
  staged_sums_ = input_checksums();
}

CudaWorkset::CudaWorkset(const CudaWorkset& other)
    : device_(other.device_),
      layout_(other.layout_),
      specs_(other.specs_),
      signed_(other.signed_),
      buffers_(device_.helpers(), device_.stream(), regions_of(specs_)),
      sums_(specs_.size() * sizeof(unsigned long long), "checksums") {
  for (const TensorSpec& spec : specs_) {
    if (!is_input(spec)) continue;
    const auto original =
        std::find_if(other.originals_.begin(), other.originals_.end(),
                     [&](const Original& each) { return each.name == spec.name; });
    const void* from =
        original == other.originals_.end() ? other.find(spec.name) : original->memory.data();
    check(cudaMemcpyAsync(find(spec.name), from, static_cast<std::size_t>(spec.memory_bytes()),
                          cudaMemcpyDeviceToDevice, device_.stream()),
          "cudaMemcpyAsync on the device");
  }
  for (const TensorSpec& spec : specs_)
    if (!spec.in_place_of.empty()) keep_original(spec);
  poison_outputs();
  staged_sums_ = input_checksums();
}

void CudaWorkset::upload(const TensorSpec& spec, const std::vector<float>& values) {
  std::vector<std::byte> stored(static_cast<std::size_t>(spec.memory_bytes()));
  pack(spec, layout_, values, stored);
  check(cudaMemcpyAsync(find(spec.name), stored.data(), stored.size(), cudaMemcpyHostToDevice,
                        device_.stream()),
        "cudaMemcpyAsync to the device");
  device_.synchronize();
}

void CudaWorkset::keep_original(const TensorSpec& output) {
  const auto bytes = static_cast<std::size_t>(output.memory_bytes());
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

std::byte* CudaWorkset::first_element(std::string_view name) const {
  for (const TensorSpec& spec : specs_)
    if (spec.name == name) return buffers_.find(memory_name(spec)) + spec.first_byte();
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

const HostTensors& CudaWorkset::download_outputs() {
  for (const TensorSpec& spec : specs_) {
    if (is_input(spec)) continue;
    const auto bytes = static_cast<std::size_t>(spec.memory_bytes());
    if (stored_.size() < bytes) stored_.resize(bytes);
    check(cudaMemcpyAsync(stored_.data(), find(spec.name), bytes, cudaMemcpyDeviceToHost,
                          device_.stream()),
          "cudaMemcpyAsync from the device");
    device_.synchronize();
    std::vector<float>& values = downloaded_[spec.name];
    values.resize(static_cast<std::size_t>(spec.elements()));
    unpack(spec, layout_, std::span(stored_).first(bytes), values);
  }
  return downloaded_;
}

std::unique_ptr<OutputComparison> CudaWorkset::compare(const TensorSpec& spec, const Chunks& chunks,
                                                       const ExpectedValues& expected) {
  DeviceMemory& copy = expected_[{expected.id, spec.name}];
  if (copy.data() == nullptr) {
    const std::size_t bytes = expected.values.size_bytes();
    std::size_t free = 0, all = 0;
    check(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
    if (bytes > free / 4) return nullptr;
    copy = DeviceMemory(bytes, "expected values of '" + spec.name + "'");
    check(cudaMemcpyAsync(copy.data(), expected.values.data(), bytes, cudaMemcpyHostToDevice,
                          device_.stream()),
          "cudaMemcpyAsync to the device");
    device_.synchronize();
  }
  return std::make_unique<CudaComparison>(device_, spec, layout_, chunks, find(spec.name),
                                          copy.as<double>());
}

std::uint64_t CudaWorkset::outputs_fingerprint() {
  std::uint64_t fingerprint = 0;
  for (const unsigned long long sum :
       checksums([](const TensorSpec& spec) { return !is_input(spec); }))
    fingerprint = (fingerprint ^ sum) * 0x9e3779b97f4a7c15ULL;  // odd: no sum is lost
  return fingerprint;
}

bool CudaWorkset::poison_left() {
  const Sums sums = sums_over([](const TensorSpec& spec) { return !is_input(spec); },
                              [&](const TensorSpec& spec, unsigned long long* sum) {
                                device_.helpers().count_poison(
                                    find(spec.name), static_cast<std::size_t>(spec.memory_bytes()),
                                    spec.dtype, sum, device_.stream());
                              });
  return std::any_of(sums.begin(), sums.end(), [](unsigned long long sum) { return sum > 0; });
}

CudaWorkset::Sums CudaWorkset::input_checksums() const {
  return checksums([this](const TensorSpec& spec) { return is_constant(spec); });
}

CudaWorkset::Sums CudaWorkset::checksums(
    const std::function<bool(const TensorSpec&)>& which) const {
  return sums_over(which, [&](const TensorSpec& spec, unsigned long long* sum) {
    device_.helpers().checksum(find(spec.name), static_cast<std::size_t>(spec.memory_bytes()), sum,
                               device_.stream());
  });
}

CudaWorkset::Sums CudaWorkset::sums_over(
    const std::function<bool(const TensorSpec&)>& which,
    const std::function<void(const TensorSpec&, unsigned long long* sum)>& add) const {
  Sums sums(specs_.size());
  const std::size_t bytes = sums.size() * sizeof(unsigned long long);
  auto* on_device = sums_.as<unsigned long long>();
  check(cudaMemsetAsync(on_device, 0, bytes, device_.stream()), "cudaMemsetAsync");
  for (std::size_t i = 0; i < specs_.size(); ++i)
    if (which(specs_[i])) add(specs_[i], on_device + i);
  check(cudaMemcpyAsync(sums.data(), on_device, bytes, cudaMemcpyDeviceToHost, device_.stream()),
        "cudaMemcpyAsync from the device");
  device_.synchronize();
  return sums;
}

std::optional<std::string> CudaWorkset::damage() {
  if (auto text = buffers_.damage()) return text;
  const Sums sums = input_checksums();
  for (std::size_t i = 0; i < specs_.size(); ++i)
    if (sums[i] != staged_sums_[i]) return "input '" + specs_[i].name + "' changed";
  return std::nullopt;
}

bool CudaWorkset::flip_signs(std::uint64_t pattern) {
  for (const TensorSpec& spec : signed_) {
    const auto original =
        std::find_if(originals_.begin(), originals_.end(),
                     [&](const Original& each) { return each.name == spec.name; });
    void* data = original == originals_.end() ? find(spec.name) : original->memory.data();
    device_.helpers().flip_signs(data, static_cast<std::size_t>(spec.memory_bytes()), spec.dtype,
                                 {pattern, spec.name}, device_.stream());
  }
  restore_updated();
  return !signed_.empty();
}

}  // namespace gla_bench::cuda
