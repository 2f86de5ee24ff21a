#pragma once
// Other inputs of the same problem without a second upload: the sign of every other element is
// flipped where it lies, by a pattern. A candidate that returns results of an earlier call is wrong
// for them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/operator.hpp"
#include "harness/backends/backend.hpp"

namespace gla_bench {

/// The pattern whose results are verified. Those of other patterns are not known.
constexpr std::uint64_t verified_pattern = 1;

/// The inputs whose elements' signs a pattern flips (Operator::signed_inputs).
std::vector<TensorSpec> signed_inputs(const Operator& op, const Problem& problem);

/// The words of random bits by which a pattern treats a tensor: bit i % 64 of word i / 64 decides
/// about the element that is stored at place i.
struct SignStream {
  SignStream(std::uint64_t pattern, std::string_view tensor);
  std::uint64_t word(std::uint64_t index) const;
  std::uint64_t key = 0;
};

/// Flips the signs of those stored finite values that the stream picks, about half of them. A
/// second call restores the original bytes. Infinities keep their sign, so that masked elements
/// stay masked.
/// @throws std::logic_error for int32
void flip_signs(DType dtype, SignStream stream, std::span<std::byte> stored);

/// The inputs as a workset has them between two calls of Workset::flip_signs(pattern).
HostTensors flipped(const Operator& op, const Problem& problem, const HostTensors& inputs,
                    std::uint64_t pattern);

/// Flips the signs of a workset's inputs for as long as it lives.
class FlippedSigns {
 public:
  FlippedSigns(Workset& workset, std::uint64_t pattern);
  /// Restores the inputs. A backend that fails here fails again in the next call.
  ~FlippedSigns();
  FlippedSigns(const FlippedSigns&) = delete;
  FlippedSigns& operator=(const FlippedSigns&) = delete;

  /// False where the problem has no such inputs, or the backend cannot do this.
  bool any() const { return any_; }

 private:
  Workset& workset_;
  std::uint64_t pattern_;
  bool any_;
};

}  // namespace gla_bench
