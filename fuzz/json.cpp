// Any JSON document: read, written and read again it is the same.

#include "harness/support/json.hpp"

#include <nlohmann/json.hpp>

#include "fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gla_bench;
  Json document;
  const auto read = [&] { document = parse_json(fuzz::text_of(data, size), "input"); };
  if (!fuzz::takes("input", read)) return 0;
  const std::string text = document.dump();
  const Json again = parse_json(text, "again");
  fuzz::expect_same(text, again.dump(), "written and read again it differs");
  if (first_difference(document, again)) std::abort();
  return 0;
}
