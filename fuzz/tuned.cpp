// Tuned tables; what is taken is the same when written and read again, and chooses without harm.

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "fuzz/target.hpp"
#include "harness/tuned_table/choose.hpp"
#include "harness/tuned_table/table_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gla_bench;
  TunedTable table;
  const auto read = [&] {
    const Json document = parse_json(fuzz::text_of(data, size), "input");
    table = read_table(JsonNode(document, "input"));
  };
  if (!fuzz::takes("input", read)) return 0;
  const Json written = table_to_json(table);
  const TunedTable again = read_table(JsonNode(written, "written"));
  if (table_to_json(again) != written) std::abort();
  for (const TunedEntry& entry : table.entries)
    for (const TunedProblem& row : entry.problems)
      for (const Near& near : nearest_entries(table, row.problem))
        if (!(near.distance >= 0)) std::abort();
  return 0;
}
