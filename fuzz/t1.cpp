// T1 search spaces; of one that is taken every tile can be asked whether its conditions hold, and
// as a config's tiles it reads the same.

#include "harness/config/t1.hpp"

#include <nlohmann/json.hpp>

#include "fuzz/target.hpp"

namespace {

using namespace gla_bench;

const KnownAxes known{{{"chunk", {16, 32, 64, 128}}, {"block_v", {0, 1, 64}}},
                      {{"chunk", {32}}, {"block_v", {64}}}};

std::string text_of(const Narrowing& narrowing) {
  Json json = Json::object();
  for (const auto& [axis, values] : narrowing.axes) json[axis] = values;
  for (const Condition& condition : narrowing.where) json["where"].push_back(condition.text());
  return json.dump();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Narrowing narrowing;
  const auto read = [&] {
    const Json document = parse_json(fuzz::text_of(data, size), "input");
    narrowing = read_t1(JsonNode(document, "input"), known);
  };
  if (!fuzz::takes("input", read)) return 0;
  const std::string written = text_of(narrowing);
  const Json document = parse_json(written, "again");
  const Narrowing again = read_narrowing(JsonNode(document, "again"), known, "");
  fuzz::expect_same(written, text_of(again), "written and read again it differs");
  if (narrowing.where.size() > 20) return 0;
  for (const int chunk : narrowing.axes.at("chunk"))
    for (const int block : narrowing.axes.at("block_v"))
      for (const Condition& condition : narrowing.where)
        condition.holds({{"chunk", chunk}, {"block_v", block}});
  return 0;
}
