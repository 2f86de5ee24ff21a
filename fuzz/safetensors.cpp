// Safetensors files: a first byte that chooses operator, direction and layout, then the header's
// text. The data behind it are a hole as large as the offsets in the text say, so that a small
// input stands for a file of any size. The header is read alone, and from the file as a problem's
// inputs.

#include "harness/tensors/safetensors.hpp"

#include <algorithm>
#include <charconv>

#include "fuzz/memory_file.hpp"
#include "fuzz/target.hpp"
#include "harness/tensors/safetensors_header.hpp"
#include "harness/tensors/tensor_file.hpp"

namespace gla_bench {
namespace {

constexpr std::uint64_t largest_read = 1 << 16;
constexpr std::uint64_t largest_file = std::uint64_t{1} << 62;

/// The largest number that follows a comma: the end of the last tensor, if nothing else is larger.
std::uint64_t data_bytes(std::string_view header) {
  std::uint64_t largest = 0;
  for (std::size_t at = header.find(','); at != std::string_view::npos;
       at = header.find(',', at + 1)) {
    const std::string_view rest = header.substr(at + 1, 24);
    const std::size_t digits = std::min(rest.find_first_not_of(' '), rest.size());
    std::uint64_t number = 0;
    std::from_chars(rest.data() + digits, rest.data() + rest.size(), number);
    if (number <= largest_file) largest = std::max(largest, number);
  }
  return largest;
}

/// The file's text: the header's length, and the header.
std::string with_length(std::string_view header) {
  const std::uint64_t length = header.size();
  std::string text(reinterpret_cast<const char*>(&length), sizeof length);
  return text.append(header);
}

/// The header as it would be written is read as the same.
void read_again(const SafetensorsHeader& header, std::uint64_t bytes) {
  const std::string text = safetensors_header_text("again", header.entries, header.metadata);
  const SafetensorsHeader again = parse_safetensors_header("again", text, bytes);
  fuzz::expect_same(text, safetensors_header_text("again", again.entries, again.metadata),
                    "written and read again it differs");
}

void read_tensors(const SafetensorsFile& file) {
  for (const SafetensorsEntry& entry : file.entries())
    if (entry.end - entry.begin <= largest_read)
      fuzz::takes(file.path(), [&] { file.read(entry); });
}

void read_problem(const Operator& op, std::uint8_t kind, const std::string& path, bool small) {
  Problem wanted;
  wanted.op = op.name;
  wanted.tensors = path;
  wanted.direction = kind % 2 == 0 ? op.directions.front() : op.directions.back();
  wanted.layout = kind / 2 % 2 == 0 ? Layout::seq_first : Layout::head_first;
  Problem problem;
  if (!fuzz::takes(path, [&] { problem = problem_from_file(op, wanted); })) return;
  op.work(problem);
  if (small) fuzz::takes(path, [&] { read_inputs(op, problem); });
}

}  // namespace
}  // namespace gla_bench

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gla_bench;
  if (size < 1) return 0;
  static fuzz::MemoryFile file;
  const std::string_view text = fuzz::text_of(data + 1, size - 1);
  const std::uint64_t bytes = data_bytes(text);
  SafetensorsHeader header;
  if (!fuzz::takes("input", [&] { header = parse_safetensors_header("input", text, bytes); }))
    return 0;
  read_again(header, bytes);
  const std::string whole = with_length(text);
  file.write(whole, whole.size() + bytes);
  read_tensors(SafetensorsFile(file.path()));
  const auto all = operators();
  read_problem(all[data[0] / 4 % all.size()], data[0] % 4, file.path(), bytes <= largest_read);
  return 0;
}
