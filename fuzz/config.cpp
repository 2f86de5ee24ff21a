// Configs: read by the program's own operators and the variants of variants.cpp. One that is taken
// is written with its defaults, and that reads and writes the same; its problems are listed, and
// what each needs is added up.

#include "harness/config/config.hpp"

#include <nlohmann/json.hpp>

#include "fuzz/target.hpp"
#include "harness/config/sweep.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gla_bench;
  static const Catalog catalog = program_catalog();
  Config config;
  const auto read = [&] {
    const Json document = parse_json(fuzz::text_of(data, size), "input");
    config = read_config(JsonNode(document, "input"), catalog, "folder");
  };
  if (!fuzz::takes("input", read)) return 0;
  // Of very many problems the reading alone is enough: they are all of a kind.
  for (const Sweep& sweep : config.sweeps)
    if (sweep.shapes.size() > 500 || (sweep.random && sweep.random->problems > 500)) return 0;
  const Json written = config_to_json(config);
  const Json document = parse_json(written.dump(), "again");
  const Json again = config_to_json(read_config(JsonNode(document, "again"), catalog, ""));
  fuzz::expect_same(written.dump(), again.dump(), "written and read again it differs");
  // Files of tensors are another target's.
  std::erase_if(config.sweeps, [](const Sweep& sweep) { return sweep.tensors.has_value(); });
  for (const Point& point : points(config)) {
    const Operator& op = *catalog.find_operator(point.problem.op);
    memory_need(op, point.problem);
    op.work(point.problem);
  }
  return 0;
}
