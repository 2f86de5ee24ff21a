#pragma once
// The JSON header of a safetensors file, as text. Used by safetensors.cpp only.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/tensors/safetensors.hpp"

namespace gla_bench {

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<SafetensorsEntry> entries;  ///< in the order of their data
};

/// Parses and checks everything that a header can get wrong, against the bytes of data that follow
/// it.
/// @throws InputError that starts with `path`
SafetensorsHeader parse_safetensors_header(const std::string& path, std::string_view text,
                                           std::uint64_t data_bytes);

/// The header's text for tensors whose dtype, shape and offsets are set: metadata first, then the
/// tensors in the order given. @throws InputError for text that is not UTF-8
std::string safetensors_header_text(const std::string& path,
                                    const std::vector<SafetensorsEntry>& entries,
                                    const std::map<std::string, std::string>& metadata);

/// Bytes of a tensor of this dtype and shape. @throws InputError that starts with `where` for an
/// unknown dtype, and where the product overflows or is no whole number of bytes
std::uint64_t safetensors_bytes(const std::string& where, const std::string& dtype,
                                const std::vector<std::int64_t>& shape);

/// "F32" for float32, and so on.
std::string_view safetensors_dtype(DType dtype);

/// "[2, 3]", for messages: a long one ends in "...".
std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace gla_bench
