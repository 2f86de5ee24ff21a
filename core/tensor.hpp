#pragma once
// An operator's tensors: their descriptions, and their values on the host.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/problem.hpp"

namespace gla_bench {

/// One input or output. Extents are in logical order, [B,T,H,D] where the tensor has token axes,
/// for every layout of the problem. Staging applies the layout (staging.hpp).
struct TensorSpec {
  enum class Role { input, output };
  std::string name;
  Role role = Role::input;
  DType dtype = DType::float32;
  std::vector<std::int64_t> extents;
  bool tokens = false;       ///< has axes [B,T,H,...]: permuted by layout, judged per chunk of T
  bool value_first = false;  ///< a state [..,K,V] that is stored as [..,V,K]
  /// An output that shares its memory with this input: the input is updated in place.
  std::string in_place_of = {};
  /// How many factors of its products a candidate with 16-bit products may round on the way to this
  /// output, besides the output itself. The chunk forms of a recurrence need three (decayed query,
  /// decayed key, state). 0: whatever the products, the output is as exact as float32.
  int rounded_factors = 3;
  /// Elements from one token to the next, for a tensor that is a slice of wider rows, such as q in
  /// the output of one projection to q, k and v. 0: tokens lie one behind the other. Only for
  /// tensors with token axes in seq_first.
  std::int64_t token_pitch = 0;
  std::int64_t token_offset = 0;  ///< elements of such a row before the tensor's own
  /// How many of the rounded factors are operands times a decay, such as the keys of a chunk.
  int decayed_factors = 0;
  /// Whether all of an output's tokens have the same decay, so that what rounding makes of it is
  /// the same for all of them.
  bool decays_alike = false;
  /// About how many products the longest sum adds up on the way to this output: tokens or keys.
  std::int64_t longest_sum = 0;
  /// The RMS of what one element is added up from, where the operator says so
  /// (Operator::sum_sizes). The element itself may be near zero by chance; its error is that of
  /// what was added.
  double sum_size = 0;
  /// Whether the element of a token adds to that of the next or of the one before, as the gradient
  /// of a token's decay does: an error stays in all that follow.
  bool running_sum = false;
  /// How many elements one rounding of a factor may move in the same proportion: the values of a
  /// state's row, where gates leave one token of it, all have the error of that token's key.
  std::int64_t alike = 1;

  std::int64_t elements() const;
  /// What errors count against at least: `sum_size`, and for few elements more, as the RMS of n
  /// drawn sums may be larger or smaller by 1 / sqrt(2 n). Nearly three of these deviations are in.
  double size_of_sums() const;
  /// Of the elements alone.
  std::int64_t bytes() const;
  /// Of the memory that holds the tensor, with what lies between its tokens.
  std::int64_t memory_bytes() const;
  /// From the beginning of that memory to the first element.
  std::int64_t first_byte() const;
};

/// Input or output values in logical order, each exactly representable in its tensor's dtype.
using HostTensors = std::map<std::string, std::vector<float>>;

/// Float64 values in logical order.
using ReferenceTensors = std::map<std::string, std::vector<double>>;

}  // namespace gla_bench
