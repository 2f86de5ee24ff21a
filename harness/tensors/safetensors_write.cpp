#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>

#include "core/error.hpp"
#include "harness/support/atomic_file.hpp"
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

void write_values(ReplacedFile& file, const SafetensorsTensor& tensor) {
  constexpr std::size_t piece = std::size_t{1} << 20;  // elements encoded at a time
  const std::span<const float> values = tensor.values;
  std::vector<std::byte> bytes;
  for (std::size_t done = 0; done < values.size(); done += piece) {
    const std::span<const float> part = values.subspan(done, std::min(piece, values.size() - done));
    bytes.resize(part.size() * size_of(tensor.dtype));
    encode(tensor.dtype, part, bytes);
    file.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
}

}  // namespace

void write_safetensors(const std::string& path, std::span<const SafetensorsTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
  const Ordered ordered = data_order(tensors);
  std::string header = safetensors_header_text(path, lay_out(path, ordered), metadata);
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = header.size();

  make_folder_of(path);
  // Several processes may write the same tensors; each has a name of its own until it is done.
  ReplacedFile file(path, temporary_name(path) + std::to_string(::getpid()));
  file.write({reinterpret_cast<const char*>(&length), sizeof length});
  file.write(header);
  for (const SafetensorsTensor* tensor : ordered) write_values(file, *tensor);
  if (const int error = file.keep())
    throw OutputError(path + ": cannot be written: " + std::strerror(error));
}

}  // namespace gla_bench
