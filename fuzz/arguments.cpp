// What users write on the command line in small languages of its own: rows (`FILE#ROW` or what a
// record's "command" has), filters (--where) and tiles. The first letter says which.

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "fuzz/target.hpp"
#include "harness/records/selection.hpp"
#include "harness/report/text/rows.hpp"
#include "harness/tensors/tensor_file.hpp"

namespace gla_bench {
namespace {

void select(const std::string& text) {
  if (text.find('#') != std::string::npos) return;  // it would open a file
  const std::string first = selection_text(read_selection(text));
  fuzz::expect_same(first, selection_text(read_selection(first)), "read again it differs");
}

void filter(const std::string& text) {
  Results results;
  results.records.emplace_back();
  RecordFilter(text).of({results});
}

}  // namespace
}  // namespace gla_bench

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gla_bench;
  if (size == 0) return 0;
  const std::string text(fuzz::text_of(data + 1, size - 1));
  const auto read = [&] {
    switch (*data) {
      case 's':
        return select(text);
      case 'w':
        return filter(text);
      default:
        parse_tile(text);
    }
  };
  fuzz::takes("", read);
  return 0;
}
