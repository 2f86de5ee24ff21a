#pragma once
// The safetensors format: 8 bytes (little-endian length n), n bytes of JSON that map each tensor's
// name to dtype, shape and data_offsets (and "__metadata__" to strings), then the data without
// holes. Nothing in a file is trusted: every size is checked before it is used.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/problem.hpp"

namespace gla_bench {

/// A tensor's line in the header. Rank 0 (a scalar) and zero extents are legal.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;                ///< as it stands in the file: "F32", "BF16", "I64", ...
  std::vector<std::int64_t> shape;  ///< in storage order
  std::uint64_t begin = 0;          ///< bytes from the start of the data
  std::uint64_t end = 0;

  std::int64_t elements() const;
};

/// The dtype of F32, BF16 and F16; nothing for those that this program does not compute in.
std::optional<DType> dtype_of(const SafetensorsEntry& entry);

/// "BF16 [2, 8]", for messages and listings.
std::string describe(const SafetensorsEntry& entry);

/// An opened and validated file. Holds the header only; data are read on request.
class SafetensorsFile {
 public:
  /// @throws InputError for an unreadable or malformed file, naming the file, the tensor, what
  /// stood there and what was expected
  explicit SafetensorsFile(std::string path);

  const std::string& path() const { return path_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// In the order of their data.
  std::span<const SafetensorsEntry> entries() const& { return entries_; }
  std::span<const SafetensorsEntry> entries() && = delete;  // would outlive the file
  /// Nothing for an unknown name.
  const SafetensorsEntry* find(std::string_view name) const;
  /// Values in storage order. @throws InputError for a dtype other than F32, BF16 and F16, and for
  /// a file that shrank since it was opened
  std::vector<float> read(const SafetensorsEntry& entry) const;

 private:
  std::string path_;
  std::map<std::string, std::string> metadata_;
  std::vector<SafetensorsEntry> entries_;
  std::uint64_t data_start_ = 0;
};

/// A tensor to write: values in storage order, rounded to the dtype on the way.
struct SafetensorsTensor {
  std::string name;
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

/// Writes a file under a temporary name beside `path`, then renames it: `path` is never
/// half-written, unless it is a device or a pipe. The same arguments give the same bytes; data
/// start at a multiple of 8 bytes and each tensor at a multiple of its element's size.
/// @throws InputError for a duplicate or reserved name, values that do not fill the shape, names
/// that are not UTF-8, and a path that cannot be written
void write_safetensors(const std::string& path, std::span<const SafetensorsTensor> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace gla_bench
