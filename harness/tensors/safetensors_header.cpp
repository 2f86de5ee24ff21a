#include "harness/tensors/safetensors_header.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "core/error.hpp"
#include "harness/support/json_watch.hpp"
#include "harness/support/printable.hpp"

namespace gla_bench {
namespace {

using HeaderJson = nlohmann::json;

constexpr std::string_view metadata_key = "__metadata__";

struct ElementBits {
  std::string_view dtype;
  unsigned bits;
};

constexpr std::array<ElementBits, 20> element_bits{{
    {"BOOL", 8},    {"U8", 8},      {"I8", 8},   {"U16", 16},    {"I16", 16},
    {"U32", 32},    {"I32", 32},    {"U64", 64}, {"I64", 64},    {"F16", 16},
    {"BF16", 16},   {"F32", 32},    {"F64", 64}, {"C64", 64},    {"F8_E4M3", 8},
    {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6},
}};

std::string in_quotes(std::string_view text) {
  std::string clean("'");
  return clean.append(printable_ascii(text, 300)).append("'");
}

unsigned bits_of(const std::string& where, const std::string& dtype) {
  std::string known;
  for (const ElementBits& element : element_bits) {
    if (element.dtype == dtype) return element.bits;
    known.append(known.empty() ? "" : ", ").append(element.dtype);
  }
  throw InputError(where + ": unknown dtype " + in_quotes(dtype) + "; expected one of " + known);
}

// What stood there, short enough for a message and printable whatever the file held.
std::string excerpt(const HeaderJson& value) {
  std::string text = value.dump(-1, ' ', true, HeaderJson::error_handler_t::replace);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return text;
}

const HeaderJson& member(const std::string& where, const HeaderJson& tensor, const char* key) {
  const auto found = tensor.find(key);
  if (found == tensor.end())
    throw InputError(where + ": no '" + key + "'; expected dtype, shape and data_offsets");
  return *found;
}

std::vector<std::int64_t> parse_shape(const std::string& where, const HeaderJson& shape) {
  if (!shape.is_array())
    throw InputError(where + ": shape is " + excerpt(shape) + "; expected a list of extents");
  std::vector<std::int64_t> extents;
  for (const HeaderJson& extent : shape) {
    constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > largest)
      throw InputError(where + ": extent " + excerpt(extent) + " in shape " + excerpt(shape) +
                       "; expected an integer from 0 to 2^63-1");
    extents.push_back(extent.get<std::int64_t>());
  }
  return extents;
}

void parse_offsets(const std::string& where, const HeaderJson& offsets, SafetensorsEntry& entry) {
  const bool pair = offsets.is_array() && offsets.size() == 2 && offsets[0].is_number_unsigned() &&
                    offsets[1].is_number_unsigned();
  if (!pair)
    throw InputError(where + ": data_offsets is " + excerpt(offsets) +
                     "; expected [begin, end] in bytes");
  entry.begin = offsets[0].get<std::uint64_t>();
  entry.end = offsets[1].get<std::uint64_t>();
}

std::string offsets_text(const SafetensorsEntry& entry) {
  std::string text("[");
  text.append(std::to_string(entry.begin)).append(", ").append(std::to_string(entry.end));
  return text.append("]");
}

void check_offsets(const std::string& where, const SafetensorsEntry& entry,
                   std::uint64_t data_bytes) {
  if (entry.begin > entry.end)
    throw InputError(where + ": data_offsets " + offsets_text(entry) +
                     " are reversed; expected begin <= end");
  if (entry.end > data_bytes)
    throw InputError(where + ": data_offsets " + offsets_text(entry) + " end past the file's " +
                     std::to_string(data_bytes) + " bytes of data");
  const std::uint64_t expected = safetensors_bytes(where, entry.dtype, entry.shape);
  if (entry.end - entry.begin != expected)
    throw InputError(where + ": data_offsets " + offsets_text(entry) + " hold " +
                     std::to_string(entry.end - entry.begin) + " bytes; expected " +
                     std::to_string(expected) + " for " + describe(entry));
}

SafetensorsEntry parse_entry(const std::string& path, const std::string& name,
                             const HeaderJson& tensor, std::uint64_t data_bytes) {
  const std::string where = path + ": tensor " + in_quotes(name);
  if (!tensor.is_object())
    throw InputError(where + " is " + excerpt(tensor) +
                     "; expected an object of dtype, shape and data_offsets");
  for (const auto& [key, value] : tensor.items())
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      throw InputError(where + ": unknown key " + in_quotes(key) +
                       "; expected dtype, shape and data_offsets");
  SafetensorsEntry entry;
  entry.name = name;
  const HeaderJson& dtype = member(where, tensor, "dtype");
  if (!dtype.is_string())
    throw InputError(where + ": dtype is " + excerpt(dtype) +
                     "; expected a string such as \"F32\"");
  entry.dtype = dtype.get<std::string>();
  entry.shape = parse_shape(where, member(where, tensor, "shape"));
  bits_of(where, entry.dtype);
  parse_offsets(where, member(where, tensor, "data_offsets"), entry);
  check_offsets(where, entry, data_bytes);
  return entry;
}

std::map<std::string, std::string> parse_metadata(const std::string& path,
                                                  const HeaderJson& metadata) {
  if (!metadata.is_object())
    throw InputError(path + ": __metadata__ is " + excerpt(metadata) +
                     "; expected an object of strings");
  std::map<std::string, std::string> values;
  for (const auto& [key, value] : metadata.items()) {
    if (!value.is_string())
      throw InputError(path + ": __metadata__ " + in_quotes(key) + " is " + excerpt(value) +
                       "; expected a string");
    values[key] = value.get<std::string>();
  }
  return values;
}

// The tensors must cover the data exactly: no byte twice, none left over.
void check_cover(const std::string& path, const std::vector<SafetensorsEntry>& entries,
                 std::uint64_t data_bytes) {
  std::uint64_t covered = 0;
  std::string before = "the start of the data";
  for (const SafetensorsEntry& entry : entries) {
    const std::string tensor = "tensor " + in_quotes(entry.name);
    const std::string where = path + ": " + tensor + ": data_offsets " + offsets_text(entry);
    if (entry.begin < covered)
      throw InputError(where + " overlap " + before + ", which ends at " + std::to_string(covered));
    if (entry.begin > covered)
      throw InputError(where + " leave a hole behind " + before + ", which ends at " +
                       std::to_string(covered));
    covered = entry.end;
    before = tensor;
  }
  if (covered != data_bytes)
    throw InputError(path + ": " + std::to_string(data_bytes - covered) +
                     " trailing bytes behind " + before + "; expected the data to end at " +
                     std::to_string(covered));
}

}  // namespace

std::string_view safetensors_dtype(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return "F32";
    case DType::bfloat16:
      return "BF16";
    case DType::float16:
      return "F16";
    case DType::int32:
      return "I32";
  }
  return "?";
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t extent : shape) {
    if (text.size() > 1) text += ", ";
    if (text.size() > 200) return text + "...]";
    text += std::to_string(extent);
  }
  return text + "]";
}

std::uint64_t safetensors_bytes(const std::string& where, const std::string& dtype,
                                const std::vector<std::int64_t>& shape) {
  // Zero extents count as one here, so that an absurd shape is refused whatever stands beside it.
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t bits = bits_of(where, dtype);
  bool empty = false;
  for (const std::int64_t extent : shape) {
    const auto factor = static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 1));
    if (bits > largest / factor)
      throw InputError(where + ": shape " + shape_text(shape) + " of " + dtype +
                       " overflows; expected fewer than 2^63 bits");
    bits *= factor;
    empty = empty || extent == 0;
  }
  if (empty) return 0;
  if (bits % 8 != 0)
    throw InputError(where + ": shape " + shape_text(shape) + " of " + dtype + " has " +
                     std::to_string(bits) + " bits; expected whole bytes");
  return bits / 8;
}

SafetensorsHeader parse_safetensors_header(const std::string& path, std::string_view text,
                                           std::uint64_t data_bytes) {
  if (text.empty() || text.front() != '{')
    throw InputError(path + ": the header starts with " +
                     (text.empty() ? "nothing" : in_quotes(text.substr(0, 1))) +
                     "; expected a JSON object");
  // The header, a tensor, its shape, and one more to name what stood there; deeper nesting would
  // exhaust the stack of whoever prints it.
  constexpr std::size_t any = std::numeric_limits<std::size_t>::max();
  watch_json(text, path + ": header", {4, any, any});
  const HeaderJson json = HeaderJson::parse(text.begin(), text.end());
  SafetensorsHeader header;
  for (const auto& [name, value] : json.items()) {
    if (name == metadata_key)
      header.metadata = parse_metadata(path, value);
    else
      header.entries.push_back(parse_entry(path, name, value, data_bytes));
  }
  std::sort(header.entries.begin(), header.entries.end(),
            [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
              return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
            });
  check_cover(path, header.entries, data_bytes);
  return header;
}

std::string safetensors_header_text(const std::string& path,
                                    const std::vector<SafetensorsEntry>& entries,
                                    const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[std::string(metadata_key)] = metadata;
  for (const SafetensorsEntry& entry : entries) {
    nlohmann::ordered_json& tensor = header[entry.name];
    tensor["dtype"] = entry.dtype;
    tensor["shape"] = entry.shape;
    tensor["data_offsets"] = {entry.begin, entry.end};
  }
  try {
    return header.dump();
  } catch (const nlohmann::ordered_json::exception&) {
    throw InputError(path + ": a tensor's name or the metadata is not UTF-8");
  }
}

}  // namespace gla_bench
