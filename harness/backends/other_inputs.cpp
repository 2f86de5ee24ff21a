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

constexpr std::size_t word_bytes = sizeof(std::uint64_t), bits_of_a_word = 8 * word_bytes;

// Threads that wait for one another cost more than they save on less than this.
constexpr std::size_t serial_bytes = std::size_t{8} << 20;

// The two or four elements of a word of 64 bits, in little-endian order.
struct Lanes {
  explicit Lanes(DType dtype) : count(word_bytes / size_of(dtype)) {
    const unsigned bits = static_cast<unsigned>(bits_of_a_word / count);
    const std::uint64_t one_exponent = dtype == DType::float32    ? 0x7f800000U
                                       : dtype == DType::bfloat16 ? 0x7f80U
                                                                  : 0x7c00U;
    for (unsigned lane = 0; lane < count; ++lane) {
      shifts[lane] = bits * (lane + 1) - 1 - lane;
      sign |= std::uint64_t{1} << (bits * (lane + 1) - 1);
      exponent |= one_exponent << (bits * lane);
    }
  }

  // The sign bits of those elements whose bit is set, from the lowest.
  std::uint64_t signs(std::uint64_t picked) const {
    std::uint64_t result = 0;
    for (unsigned lane = 0; lane < count; ++lane)
      result |= (picked & std::uint64_t{1} << lane) << shifts[lane];
    return result;
  }

  // The sign bits of those elements whose exponent is not all ones, as that of infinities and NaN.
  std::uint64_t finite(std::uint64_t word) const {
    // Below the sign bit of its lane, so that no sum carries into the next one.
    const std::uint64_t missing = (word & exponent) ^ exponent;
    return (missing + ~sign) & sign;
  }

  // Flips the elements in the first bytes of a word.
  void flip(std::byte* at, std::size_t bytes, std::uint64_t picked) const {
    std::uint64_t word = 0;
    std::memcpy(&word, at, bytes);
    word ^= signs(picked) & finite(word);
    std::memcpy(at, &word, bytes);
  }

  std::size_t count;
  std::uint64_t sign = 0, exponent = 0;
  unsigned shifts[4] = {};
};

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
  const Lanes lanes(dtype);
  const std::size_t stride = bits_of_a_word * size_of(dtype);
  const auto blocks = static_cast<std::int64_t>((stored.size() + stride - 1) / stride);
#pragma omp parallel for schedule(static) if (stored.size() > serial_bytes)
  for (std::int64_t block = 0; block < blocks; ++block) {
    const auto index = static_cast<std::size_t>(block);
    std::byte* at = stored.data() + index * stride;
    std::size_t left = std::min(stride, stored.size() - index * stride);
    std::uint64_t picked = stream.word(index);
    for (; left >= word_bytes; left -= word_bytes, at += word_bytes, picked >>= lanes.count)
      lanes.flip(at, word_bytes, picked);
    if (left > 0) lanes.flip(at, left, picked);
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
