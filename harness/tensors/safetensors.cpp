#include "harness/tensors/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <filesystem>
#include <fstream>

#include "core/error.hpp"
#include "harness/support/printable.hpp"
#include "harness/tensors/safetensors_header.hpp"
#include "harness/tensors/staging.hpp"

namespace gla_bench {
namespace {

static_assert(std::endian::native == std::endian::little, "the header's length is little-endian");

constexpr std::uint64_t length_bytes = 8;
constexpr std::uint64_t longest_header = 100'000'000;

std::uint64_t size_of_file(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw InputError(path + ": no such file");
  if (!std::filesystem::is_regular_file(status))
    throw InputError(path + ": not a regular file; expected a .safetensors file");
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (error) throw InputError(path + ": " + error.message());
  return size;
}

std::ifstream open_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(path + ": cannot be opened for reading");
  return file;
}

void read_exactly(std::ifstream& file, const std::string& path, char* to, std::uint64_t bytes) {
  file.read(to, static_cast<std::streamsize>(bytes));
  if (static_cast<std::uint64_t>(file.gcount()) != bytes)
    throw InputError(path + ": the file ends " +
                     std::to_string(bytes - static_cast<std::uint64_t>(file.gcount())) +
                     " bytes early; it was cut short while being read");
}

std::uint64_t check_header_length(const std::string& path, std::uint64_t length,
                                  std::uint64_t file_bytes) {
  if (length > longest_header)
    throw InputError(path + ": header length " + std::to_string(length) + "; expected at most " +
                     std::to_string(longest_header) + " (is this a safetensors file?)");
  if (length > file_bytes - length_bytes)
    throw InputError(path + ": header length " + std::to_string(length) +
                     " goes past the end; the " + "file has " +
                     std::to_string(file_bytes - length_bytes) + " bytes behind it");
  return length;
}

}  // namespace

std::int64_t SafetensorsEntry::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

std::optional<DType> dtype_of(const SafetensorsEntry& entry) {
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16, DType::int32})
    if (safetensors_dtype(dtype) == entry.dtype) return dtype;
  return std::nullopt;
}

std::string describe(const SafetensorsEntry& entry) {
  return entry.dtype + " " + shape_text(entry.shape);
}

SafetensorsFile::SafetensorsFile(std::string path) : path_(std::move(path)) {
  const std::uint64_t file_bytes = size_of_file(path_);
  if (file_bytes < length_bytes)
    throw InputError(path_ + ": " + std::to_string(file_bytes) +
                     " bytes; expected at least the 8 of the header's length");
  std::ifstream file = open_file(path_);
  std::uint64_t length = 0;
  read_exactly(file, path_, reinterpret_cast<char*>(&length), length_bytes);
  std::string text(check_header_length(path_, length, file_bytes), '\0');
  read_exactly(file, path_, text.data(), text.size());
  data_start_ = length_bytes + length;
  SafetensorsHeader header = parse_safetensors_header(path_, text, file_bytes - data_start_);
  metadata_ = std::move(header.metadata);
  entries_ = std::move(header.entries);
}

const SafetensorsEntry* SafetensorsFile::find(std::string_view name) const {
  for (const SafetensorsEntry& entry : entries_)
    if (entry.name == name) return &entry;
  return nullptr;
}

std::vector<float> SafetensorsFile::read(const SafetensorsEntry& entry) const {
  const std::optional<DType> dtype = dtype_of(entry);
  if (!dtype)
    throw InputError(path_ + ": tensor '" + printable(entry.name, 100) + "' is " + describe(entry) +
                     "; dtype " + entry.dtype +
                     " is not supported, expected F32, BF16, F16 or I32");
  std::vector<float> values(static_cast<std::size_t>(entry.elements()));
  std::ifstream file = open_file(path_);
  file.seekg(static_cast<std::streamoff>(data_start_ + entry.begin));
  constexpr std::size_t piece = std::size_t{1} << 20;  // elements decoded at a time
  std::vector<std::byte> bytes(std::min(piece, values.size()) * size_of(*dtype));
  for (std::size_t done = 0; done < values.size(); done += piece) {
    const std::size_t count = std::min(piece, values.size() - done);
    const std::span<std::byte> part = std::span(bytes).first(count * size_of(*dtype));
    read_exactly(file, path_, reinterpret_cast<char*>(part.data()), part.size());
    decode(*dtype, part, std::span(values).subspan(done, count));
  }
  return values;
}

}  // namespace gla_bench
