#include "harness/backends/host/workset.hpp"

#include <omp.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "harness/backends/mix.hpp"
#include "harness/backends/other_inputs.hpp"
#include "harness/tensors/staging.hpp"

namespace gla_bench {
namespace {

// Threads that wait for one another cost more than they save on fewer words than this.
constexpr std::int64_t serial_words = std::int64_t{1} << 20;

std::uint64_t checksum(std::span<const std::byte> bytes) {
  const auto words = static_cast<std::int64_t>(bytes.size() / sizeof(std::uint64_t));
  std::uint64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum) if (words > serial_words)
  for (std::int64_t i = 0; i < words; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i * 8, sizeof word);
    sum += mix(word + mix(static_cast<std::uint64_t>(i) + 1));
  }
  for (std::size_t i = static_cast<std::size_t>(words) * 8; i < bytes.size(); ++i)
    sum += mix(std::to_integer<std::uint64_t>(bytes[i]) + mix(~i));
  return sum;
}

std::size_t bytes_of(const TensorSpec& spec) {
  return static_cast<std::size_t>(spec.memory_bytes());
}

}  // namespace

HostWorkset::HostWorkset(const Operator& op, const Problem& problem, const HostTensors& inputs)
    : layout_(problem.layout), specs_(op.tensors(problem)), signed_(signed_inputs(op, problem)) {
  check_in_place(specs_);
  for (const TensorSpec& spec : specs_) {
    if (!spec.in_place_of.empty()) continue;
    auto [place, added] =
        memory_.try_emplace(spec.name, Memory{{spec.name, bytes_of(spec)}, {}, false});
    if (spec.role == TensorSpec::Role::output) continue;
    Memory& memory = place->second;
    pack(spec, layout_, inputs.at(spec.name), memory.buffer.bytes());
    const auto bytes = memory.buffer.bytes();
    memory.original.assign(bytes.begin(), bytes.end());
  }
  for (const TensorSpec& spec : specs_)
    if (!spec.in_place_of.empty()) memory_.at(memory_name(spec)).updated = true;
}

HostWorkset::HostWorkset(const HostWorkset& other)
    : layout_(other.layout_), specs_(other.specs_), signed_(other.signed_) {
  for (const auto& [name, memory] : other.memory_) {
    const GuardedBuffer& buffer =
        memory_
            .try_emplace(
                name, Memory{{name, memory.buffer.bytes().size()}, memory.original, memory.updated})
            .first->second.buffer;
    std::copy(memory.original.begin(), memory.original.end(), buffer.bytes().begin());
  }
}

void HostWorkset::poison_outputs() {
  for (const TensorSpec& spec : specs_)
    if (spec.role == TensorSpec::Role::output && spec.in_place_of.empty())
      memory_.at(spec.name).buffer.poison();
  restore_updated();
}

bool HostWorkset::restore_updated() {
  bool any = false;
  for (auto& [name, memory] : memory_) {
    if (!memory.updated) continue;
    std::copy(memory.original.begin(), memory.original.end(), memory.buffer.bytes().begin());
    any = true;
  }
  return any;
}

const HostTensors& HostWorkset::download_outputs() {
  for (const TensorSpec& spec : specs_) {
    if (spec.role != TensorSpec::Role::output) continue;
    std::vector<float>& values = downloaded_[spec.name];
    values.resize(static_cast<std::size_t>(spec.elements()));
    unpack(spec, layout_, memory_.at(memory_name(spec)).buffer.bytes(), values);
  }
  return downloaded_;
}

std::optional<std::string> HostWorkset::damage() {
  for (const auto& [name, memory] : memory_) {
    if (const auto found = memory.buffer.damage()) return found;
    const auto& original = memory.original;
    if (original.empty() || memory.updated) continue;
    if (std::memcmp(original.data(), memory.buffer.bytes().data(), original.size()) != 0)
      return "input '" + name + "' changed";
  }
  return std::nullopt;
}

bool HostWorkset::flip_signs(std::uint64_t pattern) {
  for (const TensorSpec& spec : signed_) {
    Memory& memory = memory_.at(spec.name);
    gla_bench::flip_signs(spec.dtype, {pattern, spec.name}, memory.original);
    if (!memory.updated)
      std::copy(memory.original.begin(), memory.original.end(), memory.buffer.bytes().begin());
  }
  restore_updated();
  return !signed_.empty();
}

// As the GPU's checksum: a sum over words and places, so that threads may add in any order.
std::uint64_t HostWorkset::outputs_fingerprint() {
  std::uint64_t fingerprint = 0;
  for (const TensorSpec& spec : specs_)
    if (spec.role == TensorSpec::Role::output)
      fingerprint = (fingerprint ^ checksum(memory_.at(memory_name(spec)).buffer.bytes())) *
                    0x9e3779b97f4a7c15ULL;  // odd: no sum is lost
  return fingerprint;
}

void* HostWorkset::address(std::string_view name) {
  for (const TensorSpec& spec : specs_)
    if (spec.name == name)
      return memory_.at(memory_name(spec)).buffer.bytes().data() + spec.first_byte();
  return nullptr;
}

}  // namespace gla_bench
