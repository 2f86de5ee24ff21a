#include "harness/backends/other_inputs.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include "harness/backends/mix.hpp"
#include "harness/tensors/staging.hpp"

namespace gla_bench {
namespace {

constexpr std::int64_t bits_of_a_word = 64;

}  // namespace

std::vector<TensorSpec> signed_inputs(const Operator& op, const Problem& problem) {
  std::vector<TensorSpec> list;
  if (!op.signed_inputs) return list;
  const std::vector<std::string> names = op.signed_inputs(problem);
  for (const TensorSpec& spec : op.tensors(problem))
    if (spec.role == TensorSpec::Role::input &&
        std::find(names.begin(), names.end(), spec.name) != names.end())
      list.push_back(spec);
  return list;
}

SignStream::SignStream(std::uint64_t pattern, std::string_view tensor) : key(mix(pattern)) {
  for (const char c : tensor) key = mix(key ^ (static_cast<unsigned char>(c) + 0x100ULL));
}

std::uint64_t SignStream::word(std::uint64_t index) const {
  return mix(key + mix(index + 1));
}

void flip_signs(DType dtype, SignStream stream, std::span<std::byte> stored) {
  if (dtype == DType::int32) throw std::logic_error("whole numbers have no sign to flip");
  // In little-endian order, sign and exponent are in an element's last two bytes. An exponent of
  // all ones is an infinity or a NaN.
  const unsigned exponent = dtype == DType::float16 ? 0x7c00u : 0x7f80u;
  const std::size_t size = size_of(dtype);
  const auto count = static_cast<std::int64_t>(stored.size() / size);
  const std::int64_t words = (count + bits_of_a_word - 1) / bits_of_a_word;
  std::byte* bytes = stored.data() + size - 2;
#pragma omp parallel for schedule(static) if (count > 65536)
  for (std::int64_t word = 0; word < words; ++word) {
    std::uint64_t picked = stream.word(static_cast<std::uint64_t>(word));
    const std::int64_t end = std::min(count, (word + 1) * bits_of_a_word);
    for (std::int64_t i = word * bits_of_a_word; i < end; ++i, picked >>= 1) {
      std::byte* at = bytes + static_cast<std::size_t>(i) * size;
      std::uint16_t bits = 0;
      std::memcpy(&bits, at, sizeof bits);
      if ((picked & 1) != 0 && (bits & exponent) != exponent) at[1] ^= std::byte{0x80};
    }
  }
}

HostTensors flipped(const Operator& op, const Problem& problem, const HostTensors& inputs,
                    std::uint64_t pattern) {
  HostTensors others = inputs;
  std::vector<std::byte> stored;
  for (const TensorSpec& spec : signed_inputs(op, problem)) {
    const auto found = others.find(spec.name);
    if (found == others.end()) continue;
    stored.assign(static_cast<std::size_t>(spec.memory_bytes()), std::byte{0xff});
    pack(spec, problem.layout, found->second, stored);
    flip_signs(spec.dtype, {pattern, spec.name}, stored);
    unpack(spec, problem.layout, stored, found->second);
  }
  return others;
}

FlippedSigns::FlippedSigns(Workset& workset, std::uint64_t pattern)
    : workset_(workset), pattern_(pattern), any_(workset.flip_signs(pattern)) {}

FlippedSigns::~FlippedSigns() {
  try {
    if (any_) workset_.flip_signs(pattern_);
  } catch (const std::exception&) {
  }
}

}  // namespace gla_bench
