#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "core/error.hpp"
#include "harness/support/output_file.hpp"
#include "harness/tensors/safetensors.hpp"
#include "harness/tensors/safetensors_header.hpp"
#include "harness/tensors/staging.hpp"

namespace gla_bench {
namespace {

using Ordered = std::vector<const SafetensorsTensor*>;

// Wider elements first: with data at a multiple of 8, every tensor then lies at a multiple of its
// own element's size without holes, which the format forbids.
Ordered data_order(std::span<const SafetensorsTensor> tensors) {
  Ordered ordered;
  for (const SafetensorsTensor& tensor : tensors) ordered.push_back(&tensor);
  std::sort(ordered.begin(), ordered.end(),
            [](const SafetensorsTensor* a, const SafetensorsTensor* b) {
              return std::tuple(-static_cast<int>(size_of(a->dtype)), a->name) <
                     std::tuple(-static_cast<int>(size_of(b->dtype)), b->name);
            });
  return ordered;
}

std::vector<SafetensorsEntry> lay_out(const std::string& path, const Ordered& tensors) {
  std::vector<SafetensorsEntry> entries;
  std::uint64_t offset = 0;
  for (const SafetensorsTensor* tensor : tensors) {
    const std::string where = path + ": tensor '" + tensor->name + "'";
    if (tensor->name == "__metadata__") throw InputError(where + ": the name is reserved");
    for (const SafetensorsEntry& entry : entries)
      if (entry.name == tensor->name) throw InputError(where + " is given twice");
    for (const std::int64_t extent : tensor->shape)
      if (extent < 0) throw InputError(where + ": negative extent in " + shape_text(tensor->shape));
    SafetensorsEntry entry{tensor->name, std::string(safetensors_dtype(tensor->dtype)),
                           tensor->shape, offset, offset};
    entry.end += safetensors_bytes(where, entry.dtype, entry.shape);
    if (tensor->values.size() != (entry.end - entry.begin) / size_of(tensor->dtype))
      throw InputError(where + ": " + std::to_string(tensor->values.size()) +
                       " values do not fill " + describe(entry));
    offset = entry.end;
    entries.push_back(std::move(entry));
  }
  return entries;
}

void write_values(std::ofstream& file, const SafetensorsTensor& tensor) {
  constexpr std::size_t piece = std::size_t{1} << 20;  // elements encoded at a time
  const std::span<const float> values = tensor.values;
  std::vector<std::byte> bytes;
  for (std::size_t done = 0; done < values.size(); done += piece) {
    const std::span<const float> part = values.subspan(done, std::min(piece, values.size() - done));
    bytes.resize(part.size() * size_of(tensor.dtype));
    encode(tensor.dtype, part, bytes);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
}

// Removes the temporary file unless the rename took it away.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& target)
      : path_(target + ".tmp" + std::to_string(::getpid())) {}
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

void write_safetensors(const std::string& path, std::span<const SafetensorsTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
  const Ordered ordered = data_order(tensors);
  std::string header = safetensors_header_text(path, lay_out(path, ordered), metadata);
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = header.size();

  make_folder_of(path);
  const TemporaryFile temporary(path);
  std::ofstream file(temporary.path(), std::ios::binary | std::ios::trunc);
  if (!file) throw OutputError(path + ": cannot be written: " + std::strerror(errno));
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
  for (const SafetensorsTensor* tensor : ordered) write_values(file, *tensor);
  file.close();
  if (!file) throw OutputError(path + ": writing failed; is the disk full?");
  std::error_code error;
  std::filesystem::rename(temporary.path(), path, error);
  if (error) throw OutputError(path + ": cannot be replaced: " + error.message());
}

}  // namespace gla_bench
