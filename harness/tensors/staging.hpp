#pragma once
// Converts between values in logical order (HostTensors) and bytes in a stored dtype and layout.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/operator.hpp"

namespace gla_bench {

/// Writes each value, rounded to the dtype (ties to even), little-endian.
/// `bytes` has exactly values.size() * size_of(dtype).
void encode(DType dtype, std::span<const float> values, std::span<std::byte> bytes);

/// The inverse of encode(), exact.
void decode(DType dtype, std::span<const std::byte> bytes, std::span<float> values);

/// Does encode() and the reordering to the layout in one parallel pass, from `values` in logical
/// order (spec.elements() of them) to `stored` (spec.memory_bytes() bytes). Bytes between the
/// tokens of a tensor with a token pitch become 0xff, which is NaN in every dtype.
/// @throws std::logic_error when the sizes do not fit the tensor
void pack(const TensorSpec& spec, Layout layout, std::span<const float> values,
          std::span<std::byte> stored);

/// The inverse of pack(), exact.
void unpack(const TensorSpec& spec, Layout layout, std::span<const std::byte> stored,
            std::span<float> values);

/// Where the elements of a tensor lie in its memory, as rows of contiguous elements: [batch, seq,
/// heads, length] with token axes, otherwise in whatever division fits.
struct StoredRows {
  std::int64_t batch = 1, seq = 1, heads = 1, length = 1;
  bool swapped = false;     ///< stored as [batch, heads, seq, length]
  std::int64_t pitch = 0;   ///< elements from one stored row to the next; 0: the row's length
  std::int64_t offset = 0;  ///< elements before the first row

  std::int64_t count() const { return batch * seq * heads; }
  /// Element of the memory at which logical row `index` begins.
  std::int64_t begin(std::int64_t index) const {
    return offset + stored(index) * (pitch > 0 ? pitch : length);
  }
  /// Element of the memory that holds logical element `index`.
  std::int64_t element(std::int64_t index) const { return begin(index / length) + index % length; }

 private:
  // Place among the stored rows of logical row `index`.
  std::int64_t stored(std::int64_t index) const {
    if (!swapped) return index;
    const std::int64_t head = index % heads;
    const std::int64_t token = index / heads;
    return (token / seq * heads + head) * seq + token % seq;
  }
};

/// @throws std::logic_error where the spec contradicts itself
StoredRows stored_rows(const TensorSpec& spec, Layout layout);

/// The name of the tensor that owns the memory: the spec's own name, or that of the input that it
/// updates in place.
const std::string& memory_name(const TensorSpec& spec);

/// Checks that every output in place stands for an input of the same extents, dtype and order, and
/// that no two stand for the same input. @throws std::logic_error naming the tensors where an
/// operator says otherwise
void check_in_place(std::span<const TensorSpec> specs);

/// Extents in storage order. Axes 1 and 2 are exchanged for a tensor with token axes in head_first.
/// The last two axes are exchanged for a state that is stored value first.
std::vector<std::int64_t> storage_extents(const TensorSpec& spec, Layout layout);

/// Values in storage order from values in logical order, without gaps between tokens.
std::vector<float> to_storage_order(const TensorSpec& spec, Layout layout,
                                    std::span<const float> logical);

/// The inverse of to_storage_order().
std::vector<float> to_logical_order(const TensorSpec& spec, Layout layout,
                                    std::span<const float> stored);

}  // namespace gla_bench
